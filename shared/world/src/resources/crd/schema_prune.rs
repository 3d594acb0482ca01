//! Pruning: fields a structural schema does not know are dropped, and named for `fieldValidation=Strict|Warn`.

use crate::resources::look::at;
use serde_json::{Map, Value};

/// Drops unknown fields in place and returns their paths, in order.
pub fn prune(schema: &Value, object: &mut Value) -> Vec<String> {
    let mut dropped = Vec::new();
    prune_at(schema, object, "", true, &mut dropped);
    dropped.sort();
    dropped
}

/// The paths `prune` would drop.
pub fn unknown_fields(schema: &Value, object: &Value) -> Vec<String> {
    prune(schema, &mut object.clone())
}

fn prune_at(schema: &Value, value: &mut Value, path: &str, is_resource: bool, dropped: &mut Vec<String>) {
    let is_resource = is_resource || at(schema, &["x-kubernetes-embedded-resource"]) == true;
    match value {
        Value::Array(list) => {
            let item_schema = at(schema, &["items"]);
            for (index, item) in list.iter_mut().enumerate() {
                prune_at(item_schema, item, &format!("{path}[{index}]"), false, dropped);
            }
        }
        Value::Object(map) => prune_object(schema, map, path, is_resource, dropped),
        _ => {}
    }
}

fn prune_object(
    schema: &Value,
    map: &mut Map<String, Value>,
    path: &str,
    is_resource: bool,
    dropped: &mut Vec<String>,
) {
    let keeps_unknown = at(schema, &["x-kubernetes-preserve-unknown-fields"]) == true;
    let properties = at(schema, &["properties"]);
    let additional = at(schema, &["additionalProperties"]);
    map.retain(|name, inner| {
        let inner_path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        // Every resource has these three; metadata is decoded by its own type, not by the schema.
        if is_resource && matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
            return true;
        }
        if let Some(known) = properties.get(name) {
            prune_at(known, inner, &inner_path, false, dropped);
            return true;
        }
        if additional.is_object() {
            prune_at(additional, inner, &inner_path, false, dropped);
            return true;
        }
        if additional == true || keeps_unknown {
            return true;
        }
        dropped.push(inner_path);
        false
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_fields_go_and_kept_ones_stay() {
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "size": {"type": "integer"},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    "properties": {"known": {"type": "object", "properties": {}}}},
                "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {}}}},
                "list": {"type": "array", "items": {"type": "object", "properties": {"a": {}}}},
                "inner": {"type": "object", "x-kubernetes-embedded-resource": true}}}}});
        let mut object = json!({"apiVersion": "v1", "kind": "Toy", "metadata": {"name": "x"}, "other": 1, "spec": {
            "size": 1, "sizes": 2, "free": {"any": 1, "known": {"no": 1}}, "map": {"k": {"a": 1, "b": 2}},
            "list": [{"a": 1, "c": 1}], "inner": {"kind": "X", "metadata": {"z": 1}, "data": {}}}});
        let dropped = prune(&schema, &mut object);
        assert_eq!(
            dropped,
            ["other", "spec.free.known.no", "spec.inner.data", "spec.list[0].c", "spec.map.k.b", "spec.sizes"]
        );
        assert_eq!(
            object["spec"],
            json!({"size": 1, "free": {"any": 1, "known": {}}, "map": {"k": {"a": 1}}, "list": [{"a": 1}],
                "inner": {"kind": "X", "metadata": {"z": 1}}})
        );
    }
}
