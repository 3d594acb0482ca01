//! Azure's description of an agent pool as a checker that is stricter than the description: it forgives no unknown member.

use jsonschema::Validator;
use serde_json::{Value, json};

const POOL: &str = "ManagedClusterAgentPoolProfileProperties";

pub struct AgentPools(Validator);

impl AgentPools {
    /// From ARM's JSON Schema or from OpenAPI: both keep a pool under the same name among `definitions`.
    pub fn described_by(document: &Value) -> Result<AgentPools, String> {
        let mut definitions = document["definitions"].as_object().cloned().unwrap_or_default();
        if !definitions.contains_key(POOL) {
            return Err(format!("there is no definition of {POOL}; is it the schema of Microsoft.ContainerService?"));
        }
        definitions.values_mut().for_each(close);
        let pool = json!({
            "type": "object",
            "properties": {"properties": {"$ref": format!("#/definitions/{POOL}")}},
            "required": ["properties"],
            "additionalProperties": false,
            "definitions": definitions,
        });
        jsonschema::draft4::new(&pool).map(AgentPools).map_err(|error| format!("the schema cannot be used: {error}"))
    }

    /// What is wrong with a body: where, and what.
    pub fn problems(&self, body: &Value) -> Vec<String> {
        let errors = self.0.iter_errors(body);
        errors.map(|error| format!("{}: {error}", error.instance_path())).collect()
    }
}

/// Objects get no members but those that are named, and references out of the file are cut: an expression is for templates, so
/// nothing may be one; what else is elsewhere is not checked.
fn close(schema: &mut Value) {
    if let Some(elsewhere) = schema["$ref"].as_str().filter(|reference| !reference.starts_with('#')) {
        *schema = if elsewhere.ends_with("/expression") { json!({"not": {}}) } else { json!({}) };
        return;
    }
    let Some(keywords) = schema.as_object_mut() else { return };
    if keywords.contains_key("properties") && !keywords.contains_key("allOf") {
        keywords.entry("additionalProperties").or_insert(json!(false));
    }
    for (keyword, value) in keywords {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(members)) => members.values_mut().for_each(close),
            ("oneOf" | "anyOf" | "allOf", Value::Array(all)) => all.iter_mut().for_each(close),
            ("items" | "additionalProperties" | "not", inner) => close(inner),
            _ => {}
        }
    }
}
