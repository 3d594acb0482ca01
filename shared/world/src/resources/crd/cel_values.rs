//! From JSON to CEL values, guided by the schema: numbers, times and durations take the type the schema gives them, and
//! field names that CEL cannot spell are escaped as Kubernetes escapes them.

use super::formats::parse_duration;
use crate::resources::look::{at, text};
use cel::Value as CelValue;
use cel::objects::{Key, Map};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Names CEL keeps for itself; as fields they are written `__name__`.
const RESERVED: [&str; 19] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
];

pub fn to_cel(schema: &Value, value: &Value) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(flag) => CelValue::Bool(*flag),
        Value::Number(number) => match number.as_i64() {
            Some(whole) if text(schema, &["type"]) != "number" => CelValue::Int(whole),
            _ => CelValue::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(string) => text_to_cel(text(schema, &["format"]), string),
        Value::Array(list) => {
            let item_schema = at(schema, &["items"]);
            CelValue::List(Arc::new(list.iter().map(|item| to_cel(item_schema, item)).collect()))
        }
        Value::Object(fields) => {
            let properties = at(schema, &["properties"]);
            let additional = at(schema, &["additionalProperties"]);
            let mut map = HashMap::with_capacity(fields.len());
            for (name, inner) in fields {
                // Keys of a map are data and stay as they are; fields are names and are escaped.
                let (name, inner_schema) = match properties.get(name) {
                    Some(known) => (escape(name), known),
                    None => (name.clone(), additional),
                };
                map.insert(Key::String(Arc::new(name)), to_cel(inner_schema, inner));
            }
            CelValue::Map(Map { map: Arc::new(map) })
        }
    }
}

fn text_to_cel(format: &str, string: &str) -> CelValue {
    let typed = match format {
        "date-time" => chrono::DateTime::parse_from_rfc3339(string).ok().map(CelValue::Timestamp),
        "duration" => parse_duration(string).map(chrono::Duration::nanoseconds).map(CelValue::Duration),
        _ => None,
    };
    typed.unwrap_or_else(|| CelValue::String(Arc::new(string.to_owned())))
}

fn escape(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__").replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cel_cannot_spell_are_escaped() {
        let cases = [
            ("namespace", "__namespace__"),
            ("a-b", "a__dash__b"),
            ("x.y/z", "x__dot__y__slash__z"),
            ("a__b", "a__underscores__b"),
            ("plain", "plain"),
        ];
        for (name, escaped) in cases {
            assert_eq!(escape(name), escaped);
        }
    }
}
