//! Parts of schemas that several resources share, and the last touch that makes a derived schema one that Kubernetes takes.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{CustomResourceDefinition, JSON};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

/// A label key: an optional domain, then a name.
pub(super) const LABEL_KEY: &str =
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$";
pub(super) const LABEL_VALUE: &str = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$";
pub(super) const DURATION: &str = "^([0-9]+(s|m|h))+$";
pub(super) const DURATION_OR_NEVER: &str = "^(([0-9]+(s|m|h))+|Never)$";
pub(super) const UUID: &str = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";
pub(super) const DNS_NAME: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// Taints as Karpenter checks them: a key, and one of three effects.
pub(super) fn taints(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "description": "Pods that do not tolerate the taint are kept away from the node.",
            "type": "object",
            "properties": {
                "key": { "description": "The key of the taint.", "type": "string", "minLength": 1, "maxLength": 316,
                    "pattern": LABEL_KEY },
                "value": { "description": "The value of the taint.", "type": "string", "maxLength": 63,
                    "pattern": LABEL_VALUE },
                "effect": { "description": "What happens to pods that do not tolerate the taint.", "type": "string",
                    "enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"] },
                "timeAdded": { "description": "When the taint was added. Set by the cluster.", "type": "string",
                    "format": "date-time" }
            },
            "required": ["key", "effect"]
        }
    })
}

/// Conditions that one writer owns as a whole, as Karpenter's are.
pub(super) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "description": "One aspect of the state of the object.",
            "type": "object",
            "properties": {
                "type": { "description": "Which aspect.", "type": "string", "maxLength": 316, "pattern":
                    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$" },
                "status": { "description": "Whether it holds.", "type": "string", "enum": ["True", "False", "Unknown"] },
                "reason": { "description": "Why, in one word that programs can compare.", "type": "string", "minLength": 1,
                    "maxLength": 1024, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" },
                "message": { "description": "Why, for people.", "type": "string", "maxLength": 32768 },
                "lastTransitionTime": { "description": "When the status last changed.", "type": "string",
                    "format": "date-time" },
                "observedGeneration": { "description": "The generation of the object that this was found for.",
                    "type": "integer", "format": "int64", "minimum": 0 }
            },
            "required": ["type", "status", "reason", "message", "lastTransitionTime"]
        }
    })
}

/// Conditions of our own kinds: several writers may each own one of them.
pub(super) fn own_conditions(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = conditions(generator);
    schema.insert("x-kubernetes-list-type".to_owned(), json!("map"));
    schema.insert("x-kubernetes-list-map-keys".to_owned(), json!(["type"]));
    schema
}

/// Makes the schemas of a derived definition exact. A derive knows Rust, not Kubernetes:
///
/// - `null` is not a value here. An absent field is absent, and a client that sends null is told so, as Karpenter does.
/// - `format` may name only what Kubernetes knows, which has no unsigned numbers.
/// - A quantity is a number or a text of a known form; the long grammar that came with it is not for `kubectl explain`.
pub(super) fn finished(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut definition.spec.versions {
        let schema = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut());
        let Some(schema) = schema else { continue };
        let Ok(mut value) = serde_json::to_value(&*schema) else { continue };
        finish(&mut value);
        if let Ok(exact) = serde_json::from_value(value) {
            *schema = exact;
        }
    }
    definition
}

/// Lets the API server add an empty `spec` where there is none.
pub(super) fn with_default_spec(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut definition.spec.versions {
        let schema = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut());
        let properties = schema.and_then(|schema| schema.properties.as_mut());
        if let Some(spec) = properties.and_then(|properties| properties.get_mut("spec")) {
            spec.default = Some(JSON(json!({})));
        }
    }
    definition
}

fn finish(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            // Where the map is one of properties, a property of such a name has an object for its value, and stays.
            map.retain(|key, value| key != "nullable" || !value.is_boolean());
            map.retain(|key, value| key != "format" || !value.as_str().is_some_and(|it| it.starts_with("uint")));
            if let Some(Value::Array(values)) = map.get_mut("enum") {
                values.retain(|value| !value.is_null());
            }
            if map.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
                finish_quantity(map);
            }
            map.values_mut().for_each(finish);
        }
        Value::Array(list) => list.iter_mut().for_each(finish),
        _ => {}
    }
}

fn finish_quantity(map: &mut Map<String, Value>) {
    let own =
        map.get("description").and_then(Value::as_str).filter(|text| !text.starts_with("Quantity is a fixed-point"));
    let description = own.unwrap_or("An amount, as in 500m, 4, 16Gi or 200G.").to_owned();
    map.insert("description".to_owned(), json!(description));
    map.insert("pattern".to_owned(), json!(QUANTITY));
    map.insert("anyOf".to_owned(), json!([{ "type": "integer" }, { "type": "string" }]));
}
