//! The columns a CRD asks for by JSON path, after the name that every table starts with.

use crate::resources::age::age_of;
use crate::resources::json_path::find;
use crate::resources::look::{number, text};
use crate::resources::openapi::described;
use jiff::Timestamp;
use serde_json::{Value, json};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

pub fn custom_definitions(columns: &[Value]) -> Value {
    let name = json!({"name": "Name", "type": "string", "format": "name", "description": described(META, "name"),
        "priority": 0});
    let mut definitions = vec![name];
    // A CRD without columns prints its age.
    if columns.is_empty() {
        definitions.push(json!({"name": "Age", "type": "date", "format": "",
            "description": described(META, "creationTimestamp"), "priority": 0}));
    }
    definitions.extend(columns.iter().map(|column| {
        let description = match text(column, &["description"]) {
            "" => format!("Custom resource definition column (in JSONPath format): {}", text(column, &["jsonPath"])),
            given => given.to_owned(),
        };
        json!({"name": text(column, &["name"]), "type": text(column, &["type"]), "format": text(column, &["format"]),
            "description": description, "priority": number(column, &["priority"]).unwrap_or_default()})
    }));
    Value::Array(definitions)
}

pub fn custom_cells(columns: &[Value], object: &Value, now: Timestamp) -> Vec<Value> {
    let mut cells = vec![json!(text(object, &["metadata", "name"]))];
    if columns.is_empty() {
        cells.push(json!(age_of(text(object, &["metadata", "creationTimestamp"]), now)));
    }
    cells.extend(columns.iter().map(|column| {
        let found = find(text(column, &["jsonPath"]), object);
        found.first().map_or(Value::Null, |value| cell(text(column, &["type"]), value, now))
    }));
    cells
}

/// A value that is not of the column's type leaves the cell empty.
fn cell(column_type: &str, value: &Value, now: Timestamp) -> Value {
    match (column_type, value) {
        (_, Value::Null) => Value::Null,
        ("string", Value::String(string)) => json!(string),
        ("string", other) => json!(other.to_string()),
        ("integer", Value::Number(number)) => json!(number.as_i64().or(number.as_f64().map(|float| float as i64))),
        ("number", Value::Number(number)) => json!(number),
        ("boolean", Value::Bool(flag)) => json!(flag),
        ("date", Value::String(time)) if time.parse::<Timestamp>().is_err() => json!("<invalid>"),
        ("date", Value::String(time)) => json!(age_of(time, now)),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_follow_the_type_of_their_column() {
        let columns = [
            json!({"name": "Type", "type": "string", "jsonPath": ".spec.type"}),
            json!({"name": "Size", "type": "integer", "jsonPath": ".spec.size"}),
            json!({"name": "Wrong", "type": "integer", "jsonPath": ".spec.type"}),
            json!({"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}),
            json!({"name": "None", "type": "string", "jsonPath": ".spec.none"}),
            json!({"name": "Since", "type": "date", "jsonPath": ".spec.since", "priority": 1}),
        ];
        let object = json!({"metadata": {"name": "x"}, "spec": {"type": "big", "size": 2,
            "since": "1970-01-01T00:00:00Z"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        let now = Timestamp::from_second(185).unwrap_or_default();
        assert_eq!(json!(custom_cells(&columns, &object, now)), json!(["x", "big", 2, null, "True", null, "3m5s"]));
        let definitions = custom_definitions(&columns);
        assert_eq!(definitions[6]["priority"], 1);
        assert_eq!(definitions[2]["description"], "Custom resource definition column (in JSONPath format): .spec.size");
        assert_eq!(custom_definitions(&[])[1]["name"], "Age");
    }
}
