//! JSON Schemas of whole events, made from the types that read them.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Value, json};

/// The schema of a structured CloudEvent of this type, data included; `more` names attributes that it cannot lack.
pub fn of_event<Data: JsonSchema>(type_: &str, more: &[&str]) -> Value {
    let required = [&["specversion", "type", "id", "source"], more].concat();
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let data = generator.subschema_for::<Data>();
    let definitions = generator.take_definitions(true);
    let text = json!({ "type": "string", "minLength": 1 });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("https://pilotlight.dev/schema/{type_}.json"),
        "title": type_,
        "type": "object",
        "properties": {
            "specversion": { "const": "1.0" },
            "type": { "const": type_ },
            "id": text,
            "source": text,
            "subject": text,
            "time": { "type": "string", "format": "date-time" },
            "datacontenttype": text,
            "dataschema": text,
            "data": data,
            "data_base64": { "type": "string", "contentEncoding": "base64" },
        },
        "required": required,
        "oneOf": [{ "required": ["data"] }, { "required": ["data_base64"] }],
        // Extension attributes: lower-case letters and digits, simple values.
        "propertyNames": { "pattern": "^([a-z0-9]+|data_base64)$" },
        "additionalProperties": { "type": ["string", "boolean", "integer", "null"] },
        "$defs": definitions,
    })
}
