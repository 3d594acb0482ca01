//! Structural defaults: what the schema gives to fields the object left out, from the outside in.

use crate::resources::look::at;
use serde_json::Value;

/// Fills defaults in place. A null where the schema allows none counts as left out, if there is a default for it.
pub fn apply_defaults(schema: &Value, value: &mut Value) {
    match value {
        Value::Array(list) => {
            let item_schema = at(schema, &["items"]);
            for item in list {
                if item.is_null()
                    && at(item_schema, &["nullable"]) != true
                    && let Some(default) = item_schema.get("default")
                {
                    *item = default.clone();
                }
                apply_defaults(item_schema, item);
            }
        }
        Value::Object(map) => {
            if let Some(properties) = at(schema, &["properties"]).as_object() {
                for (name, known) in properties {
                    let left_out = match map.get(name) {
                        None => true,
                        Some(given) => given.is_null() && at(known, &["nullable"]) != true,
                    };
                    match known.get("default") {
                        Some(default) if left_out => _ = map.insert(name.clone(), default.clone()),
                        // Null where none is allowed is as good as nothing.
                        None if left_out => _ = map.remove(name),
                        _ => {}
                    }
                    if let Some(inner) = map.get_mut(name) {
                        apply_defaults(known, inner);
                    }
                }
            }
            let additional = at(schema, &["additionalProperties"]);
            if additional.is_object() {
                let known = at(schema, &["properties"]);
                for (name, inner) in map.iter_mut() {
                    if known.get(name).is_none() {
                        if inner.is_null()
                            && at(additional, &["nullable"]) != true
                            && let Some(default) = additional.get("default")
                        {
                            *inner = default.clone();
                        }
                        apply_defaults(additional, inner);
                    }
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn defaults_fill_what_is_absent_and_never_what_is_given() {
        let schema = json!({"properties": {"spec": {"default": {}, "properties": {
            "replicas": {"default": 1}, "mode": {"default": "slow", "nullable": true},
            "list": {"items": {"properties": {"port": {"default": 80}}}},
            "absent": {"properties": {"x": {"default": 1}}}}}}});
        let cases = [
            (json!({}), json!({"spec": {"replicas": 1, "mode": "slow"}})),
            (json!({"spec": {"replicas": 3, "mode": null}}), json!({"spec": {"replicas": 3, "mode": null}})),
            (
                json!({"spec": {"replicas": null, "list": [{}, {"port": 1}]}}),
                json!({"spec": {"replicas": 1, "mode": "slow", "list": [{"port": 80}, {"port": 1}]}}),
            ),
        ];
        for (mut given, expected) in cases {
            apply_defaults(&schema, &mut given);
            assert_eq!(given, expected);
        }
    }
}
