//! Writes a core object as the real server writes it back: through a typed structure.
//!
//! A structure has no place for unknown fields and for null, leaves out what is empty and optional, and always has
//! some fields, like `status: {}` or `resources: {}`. Who manages a field depends on it, because the server compares
//! objects in this form.
use serde_json::{Map, Value};

use super::schema_of::{Field, MapShape, Schema, ShapeId};

/// The object as the server would return it. Custom resources have no typed structure and stay as they are.
pub fn normalised(schema: &Schema, object: Value) -> Value {
    if schema.core { normalise(schema, schema.root(), object) } else { object }
}

/// What an object of this kind is before anything is known of it, as the server begins a create with.
pub fn blank(schema: &Schema) -> Value {
    let mut object = Map::new();
    object.insert("apiVersion".to_owned(), Value::from(schema.api_version.as_str()));
    object.insert("kind".to_owned(), Value::from(schema.kind.as_str()));
    normalised(schema, Value::Object(object))
}

fn normalise(schema: &Schema, shape: ShapeId, value: Value) -> Value {
    let shape = schema.shape(shape);
    match (value, &shape.map, &shape.list) {
        (Value::Object(object), Some(map), _) if !map.fields.is_empty() => normalise_fields(schema, map, object),
        (Value::Object(object), Some(map), _) => {
            let element = map.element.unwrap_or(usize::MAX);
            Value::Object(object.into_iter().map(|(key, value)| (key, normalise(schema, element, value))).collect())
        }
        (Value::Array(items), _, Some(list)) => {
            Value::Array(items.into_iter().map(|item| normalise(schema, list.element, item)).collect())
        }
        (value, _, _) => value,
    }
}

fn normalise_fields(schema: &Schema, map: &MapShape, object: Map<String, Value>) -> Value {
    let mut written = Map::new();
    for (key, value) in object {
        let Some(field) = map.fields.get(&key) else { continue };
        if value.is_null() {
            continue;
        }
        let value = normalise(schema, field.shape, value);
        if !(field.omit_empty && is_empty(&value)) {
            written.insert(key, value);
        }
    }
    for (key, field) in &map.fields {
        if let Field { always: Some(always), shape, .. } = field
            && !written.contains_key(key)
        {
            written.insert(key.clone(), normalise(schema, *shape, always.clone()));
        }
    }
    Value::Object(written)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(value) => value.as_f64() == Some(0.0),
        Value::String(value) => value.is_empty(),
        Value::Array(value) => value.is_empty(),
        Value::Object(value) => value.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};

    use super::{Schema, blank, normalised};

    fn check(cases: Vec<(&str, &str, Value, Value)>) {
        for (api_version, kind, object, expected) in cases {
            let schema = Schema::of_core(api_version, kind).unwrap();
            let once = normalised(&schema, object);
            assert_eq!(once, expected, "{kind}");
            assert_eq!(normalised(&schema, once.clone()), once, "{kind} twice");
        }
    }

    #[test]
    fn a_core_object_is_written_as_its_structure_is() {
        check(vec![
            ("v1", "ConfigMap", json!({"data": {"a": ""}, "extra": 1}), json!({"metadata": {}, "data": {"a": ""}})),
            ("v1", "ConfigMap", json!({"data": {}, "immutable": null}), json!({"metadata": {}})),
            (
                "v1",
                "Pod",
                json!({"spec": {"containers": [{"name": "a", "args": []}], "hostNetwork": false, "priority": 0}}),
                json!({"metadata": {}, "status": {},
                    "spec": {"containers": [{"name": "a", "resources": {}}], "priority": 0}}),
            ),
            (
                "v1",
                "Node",
                json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
                json!({"metadata": {}, "spec": {}, "status": {
                    "conditions": [{"type": "Ready", "status": "True",
                        "lastHeartbeatTime": null, "lastTransitionTime": null}],
                    "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
                    "nodeInfo": {"machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "", "osImage": "",
                        "containerRuntimeVersion": "", "kubeletVersion": "", "kubeProxyVersion": "",
                        "operatingSystem": "", "architecture": ""}}}),
            ),
        ]);
    }

    #[test]
    fn a_blank_object_has_the_fields_that_are_always_written() {
        let schema = Schema::of_core("apps/v1", "Deployment").unwrap();
        let template = json!({"metadata": {}, "spec": {"containers": null}});
        let spec = json!({"selector": null, "strategy": {}, "template": template});
        let expected =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {}, "spec": spec, "status": {}});
        assert_eq!(blank(&schema), expected);
    }
}
