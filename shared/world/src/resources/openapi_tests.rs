//! Documents are whole (no reference leads nowhere) and say what kubectl looks for.

use super::*;

fn registry_with_a_toy() -> Registry {
    let mut registry = Registry::new();
    registry.install(&json!({"metadata": {"name": "toys.example.com"}, "spec": {"group": "example.com",
        "scope": "Namespaced", "names": {"plural": "toys", "kind": "Toy"}, "versions": [{"name": "v1", "served": true,
        "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object",
        "description": "What it is."}}}}}]}}));
    registry
}

#[test]
fn every_document_of_the_index_is_there_and_whole() {
    let registry = registry_with_a_toy();
    let index = index(&registry);
    let paths = index["paths"].as_object().cloned().unwrap_or_default();
    assert!(paths.contains_key("api/v1") && paths.contains_key("apis/example.com/v1"));
    for path in paths.keys() {
        let document = document(&registry, path).unwrap_or_default();
        let mut references = Vec::new();
        collect_references(&document, &mut references);
        assert!(!references.is_empty(), "{path}");
        for reference in references {
            assert!(document["components"]["schemas"].get(&reference).is_some(), "{path} {reference}");
        }
    }
}

#[test]
fn every_built_in_kind_has_its_schema_and_names_its_kind() {
    for resource in Registry::new().resources() {
        let name = schema_name(&resource.group, &resource.version, &resource.kind);
        let schema = SCHEMAS.get(&name).cloned().unwrap_or_default();
        assert_eq!(schema["x-kubernetes-group-version-kind"][0]["kind"], resource.kind.as_str(), "{name}");
    }
}

#[test]
fn a_patch_operation_takes_field_validation_and_names_its_kind() {
    let document = document(&registry_with_a_toy(), "apis/example.com/v1").unwrap_or_default();
    let patch = &document["paths"]["/apis/example.com/v1/namespaces/{namespace}/toys/{name}"]["patch"];
    assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], "Toy");
    let parameters = patch["parameters"].as_array().cloned().unwrap_or_default();
    assert!(parameters.iter().any(|one| one["name"] == "fieldValidation"));
    assert_eq!(
        document["components"]["schemas"]["com.example.v1.Toy"]["properties"]["spec"]["description"],
        "What it is."
    );
}

#[test]
fn a_field_that_merges_says_how() {
    let spec = &SCHEMAS["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
    assert_eq!(spec["x-kubernetes-patch-merge-key"], "name");
    assert_eq!(spec["x-kubernetes-list-type"], "map");
}
