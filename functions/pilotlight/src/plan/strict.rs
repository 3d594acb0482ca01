//! Strict reading: a field that Kubernetes does not know is a slip of the pen, and is named.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// A JSON Schema of a kind, with the parts it refers to.
pub struct Schema {
    root: Value,
}

impl Schema {
    /// Of a type of k8s-openapi.
    pub fn of<T: schemars::JsonSchema>() -> Self {
        Schema { root: schemars::SchemaGenerator::default().into_root_schema_for::<T>().to_value() }
    }

    /// Of a custom resource: its definition says nothing about `metadata`, so that comes from elsewhere.
    pub fn of_resource(definition: Value) -> Self {
        let metadata = Schema::of::<k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta>();
        let mut root = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
        root["$defs"] = metadata.root["$defs"].clone();
        root["properties"]["metadata"] = metadata.root.clone();
        for known in ["apiVersion", "kind"] {
            root["properties"][known] = serde_json::json!({ "type": "string" });
        }
        Schema { root }
    }

    /// The first thing that cannot be, with its path: a field that is not in the schema, or an amount that is none.
    pub fn wrong(&self, value: &Value) -> Option<String> {
        self.look(&self.root, value, "")
    }

    fn look(&self, schema: &Value, value: &Value, path: &str) -> Option<String> {
        let schema = self.resolved(schema);
        if is_quantity(schema) && !value.is_null() {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            return text.parse::<model::Quantity>().err().map(|error| format!("{path}: {error}"));
        }
        match value {
            Value::Object(fields) => {
                if schema["x-kubernetes-preserve-unknown-fields"] == true {
                    return None;
                }
                let properties = schema["properties"].as_object();
                let others = schema.get("additionalProperties");
                // Neither one nor the other: anything goes, as in a patch.
                if properties.is_none() && others.is_none() {
                    return None;
                }
                fields.iter().find_map(|(key, value)| {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    match (properties.and_then(|known| known.get(key)), others) {
                        (Some(known), _) => self.look(known, value, &path),
                        (None, Some(others)) if *others != Value::Bool(false) => self.look(others, value, &path),
                        (None, _) => Some(format!("unknown field {path:?}")),
                    }
                })
            }
            Value::Array(items) => {
                let each = items.iter().enumerate();
                let mut found =
                    each.map(|(index, item)| self.look(&schema["items"], item, &format!("{path}[{index}]")));
                found.find_map(|one| one)
            }
            _ => None,
        }
    }

    /// Follows references; an `allOf` or `anyOf` around one of them is as good as itself.
    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let around = ["allOf", "anyOf"].iter().find_map(|name| schema[*name].as_array());
        let inner = around.and_then(|parts| parts.iter().find(|part| part.get("$ref").is_some()));
        let schema = inner.unwrap_or(schema);
        match schema["$ref"].as_str().and_then(|path| path.strip_prefix('#')) {
            Some(pointer) => self.root.pointer(pointer).unwrap_or(schema),
            None => schema,
        }
    }
}

/// The only texts that may be numbers too, beside `IntOrString`, which says nothing of units.
fn is_quantity(schema: &Value) -> bool {
    let says = |field: &str, word: &str| schema[field].as_str().is_some_and(|text| text.contains(word));
    schema["x-kubernetes-int-or-string"] == true && (says("description", "Quantity is") || says("pattern", "[KMGTPE]i"))
}

/// The error names the field.
pub fn typed<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| match error.path().to_string().as_str() {
        "." | "" => plain(&error.inner().to_string()),
        path => format!("{path}: {}", plain(&error.inner().to_string())),
    })
}

/// Without the names that types have in this program: nobody who writes a file knows them.
fn plain(why: &str) -> String {
    let Some((before, name)) = why.split_once("expected struct ") else { return why.to_owned() };
    let after = name.find(|letter: char| !letter.is_alphanumeric()).and_then(|end| name.get(end..)).unwrap_or_default();
    format!("{before}expected an object{after}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    #[test]
    fn no_error_names_a_type_of_this_program() {
        let wrong = typed::<cluster::crd::NodePool>(json!({ "metadata": {}, "spec": "nothing" })).err();
        assert_eq!(wrong.as_deref(), Some("spec: invalid type: string \"nothing\", expected an object"));
    }

    #[test]
    fn what_cannot_be_is_found_wherever_it_is() {
        let schema = Schema::of::<Pod>();
        let check = |pod: Value, expected: Option<&str>| {
            let found = schema.wrong(&pod);
            assert_eq!(found.is_some(), expected.is_some(), "{pod}: {found:?}");
            assert!(found.unwrap_or_default().contains(expected.unwrap_or_default()), "{pod}");
        };
        let asks = |amount: Value| {
            let container = json!({ "name": "c", "resources": { "requests": { "any/name": amount } }, "ports": [{ "containerPort": 1 }] });
            json!({ "kind": "Pod", "metadata": { "labels": { "any": "x" } }, "spec": { "containers": [container] } })
        };
        check(asks(json!(1)), None);
        check(asks(json!("1.5Gi")), None);
        check(asks(json!("lots")), Some("spec.containers[0].resources.requests.any/name: "));
        check(json!({ "spec": { "nodSelector": {} } }), Some("unknown field \"spec.nodSelector\""));
        check(json!({ "spec": { "containers": [{}, { "resource": {} }] } }), Some("spec.containers[1].resource"));
        check(json!({ "metadata": { "label": {} } }), Some("metadata.label"));
        check(json!({ "metadata": { "managedFields": [{ "fieldsV1": { "f:any": {} } }] } }), None);
        let affinity = json!({ "nodeAffinity": { "required": [] } });
        check(json!({ "spec": { "securityContext": null, "affinity": affinity } }), Some("nodeAffinity.required"));
        let probe = json!({ "livenessProbe": { "httpGet": { "port": "http" } } });
        check(json!({ "spec": { "containers": [probe] } }), None);
    }
}
