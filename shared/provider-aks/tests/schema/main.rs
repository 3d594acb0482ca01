//! What we send, against Azure's own description of an agent pool.
//!
//! `ARM_AGENT_POOL_SCHEMA` names the file: `Microsoft.ContainerService.json` of azure-resource-manager-schemas, or
//! `managedClusters.json` of azure-rest-api-specs, of the API version that `client.rs` speaks. It is large and not ours, so it
//! is not in this repository; without it only the checker itself is tested.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod checker;

use checker::AgentPools;
use serde_json::{Value, json};
use std::{fs, path::Path};

/// The bodies of the golden creations, with their names.
fn bodies() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let read = |path: &Path| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
    let golden = files.map(|path| (path.display().to_string(), read(&path)));
    golden
        .filter(|(_, request)| request["method"] == "PUT")
        .map(|(name, mut request)| (name, request["body"].take()))
        .collect()
}

#[test]
fn every_golden_creation_is_one_that_azure_describes() {
    let Some(path) = std::env::var_os("ARM_AGENT_POOL_SCHEMA") else {
        println!("skipped: ARM_AGENT_POOL_SCHEMA names no schema of Azure");
        return;
    };
    let text = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let azures = AgentPools::described_by(&serde_json::from_slice(&text).unwrap()).unwrap();
    let bodies = bodies();
    let wrong: Vec<String> = bodies
        .iter()
        .flat_map(|(name, body)| azures.problems(body).into_iter().map(move |problem| format!("{name}: {problem}")))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(bodies.len() >= 6, "the golden files are gone: {}", bodies.len());
    println!("{} bodies are as {} describes", bodies.len(), path.display());
}

/// As Azure writes its own, with just enough in it for the default pool. Expressions belong to templates.
fn small() -> Value {
    let or_expression = |schema: Value| {
        let common = "https://schema.management.azure.com/schemas/common/definitions.json#/definitions/expression";
        json!({"oneOf": [schema, {"$ref": common}]})
    };
    json!({
        "id": "https://schema.management.azure.com/schemas/2025-05-01/Microsoft.ContainerService.json#",
        "$schema": "http://json-schema.org/draft-04/schema#",
        "definitions": {
            "ManagedClusterAgentPoolProfileProperties": {"type": "object", "properties": {
                "count": or_expression(json!({"type": "integer"})),
                "gpuProfile": or_expression(json!({"$ref": "#/definitions/GPUProfile"})),
                "nodeLabels": or_expression(json!({"type": "object", "additionalProperties": {"type": "string"}, "properties": {}})),
                "nodeTaints": or_expression(json!({"type": "array", "items": {"type": "string"}})),
                "osDiskSizeGB": or_expression(json!({"type": "integer", "minimum": 0, "maximum": 2048})),
                "osSKU": or_expression(json!({"type": "string", "enum": ["Ubuntu", "AzureLinux"]})),
                "osType": or_expression(json!({"type": "string", "enum": ["Linux", "Windows"]})),
                "type": or_expression(json!({"type": "string", "enum": ["VirtualMachineScaleSets"]})),
                "vmSize": {"type": "string"},
            }},
            "GPUProfile": {"type": "object", "properties": {"driver": {"type": "string", "enum": ["Install", "None"]}}},
        },
    })
}

#[test]
fn the_checker_takes_what_is_right_and_names_what_is_wrong() {
    let small = AgentPools::described_by(&small()).unwrap();
    let default = bodies().into_iter().find(|(name, _)| name.ends_with("create-default.json")).unwrap().1;
    assert_eq!(small.problems(&default), Vec::<String>::new());
    let wrong = [
        ("count", json!("1")),
        ("osDiskSizeGB", json!(4096)),
        ("osSKU", json!("Debian")),
        ("osType", json!("[parameters('os')]")),
        ("nodeLabels", json!({"a": 1})),
        ("nodeTaints", json!([{"key": "sku"}])),
        ("gpuProfile", json!({"driver": "Maybe"})),
        ("gpuProfile", json!({"drivers": "None"})),
        ("vmsize", json!("Standard_NC6")),
    ];
    for (member, value) in wrong {
        let mut body = default.clone();
        body["properties"][member] = value.clone();
        let problems = small.problems(&body);
        assert!(problems.iter().any(|problem| problem.contains(member)), "{member} = {value}: {problems:?}");
    }
    assert_ne!(small.problems(&json!({"properties": {}, "location": "eastus"})), Vec::<String>::new());
}

#[test]
fn a_file_that_describes_no_agent_pools_is_not_taken_for_one_that_does() {
    let problem = AgentPools::described_by(&json!({"definitions": {"Cluster": {}}})).err().unwrap();
    assert!(problem.contains("ManagedClusterAgentPoolProfileProperties"), "{problem}");
}
