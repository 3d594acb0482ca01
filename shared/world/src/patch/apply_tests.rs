//! Tests of `apply` that the golden cases do not have: versions, and the whole answer to a conflict.
#![allow(clippy::unwrap_used)]
use serde_json::{Value, json};

use super::{FieldSet, Manager, Schema, apply, track_update};

const NOW: &str = "2026-01-02T03:04:05Z";

fn config_map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data})
}

fn manager<'a>(name: &'a str, ignored: &'a FieldSet) -> Manager<'a> {
    Manager { name, subresource: "", ignored }
}

#[test]
fn a_conflict_is_answered_with_its_causes() {
    let (schema, none) = (Schema::of_core("v1", "ConfigMap").unwrap(), FieldSet::default());
    let live = apply(None, &config_map(json!({"k": "v"})), &manager("a", &none), false, &schema, NOW).unwrap();
    let error = apply(Some(&live), &config_map(json!({"k": "w"})), &manager("b", &none), false, &schema, NOW);
    let error = error.err().unwrap();
    assert_eq!((error.code, error.reason), (409, "Conflict"));
    assert_eq!(error.message, "Apply failed with 1 conflict: conflict with \"a\": .data.k");
    let cause = json!({"reason": "FieldManagerConflict", "message": "conflict with \"a\"", "field": ".data.k"});
    assert_eq!(error.details, json!({"causes": [cause]}));
}

#[test]
fn a_manager_without_a_name_is_unknown() {
    let (schema, none) = (Schema::of_core("v1", "ConfigMap").unwrap(), FieldSet::default());
    let created = track_update(None, config_map(json!({"k": "v"})), &manager("", &none), &schema, NOW);
    let expected = json!([{"manager": "unknown", "operation": "Update", "apiVersion": "v1", "time": NOW,
        "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {".": {}, "f:k": {}}}}]);
    assert_eq!(created["metadata"]["managedFields"], expected);
}

#[test]
fn an_applier_that_moves_to_another_version_keeps_one_entry() {
    let (mut schema, none) = (Schema::of_custom_resource("x.dev/v1", "Thing", None), FieldSet::default());
    let thing = |version: &str, spec: Value| json!({"apiVersion": version, "kind": "Thing", "spec": spec});
    let first = apply(None, &thing("x.dev/v1", json!({"a": 1, "b": 2})), &manager("m", &none), false, &schema, NOW);
    schema.api_version = "x.dev/v2".to_owned();
    let config = thing("x.dev/v2", json!({"a": 1}));
    let second = apply(Some(&first.unwrap()), &config, &manager("m", &none), false, &schema, NOW).unwrap();
    assert_eq!(second["spec"], json!({"a": 1}));
    let entries = second["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["apiVersion"], "x.dev/v2");
}

#[test]
fn entries_of_a_version_that_is_gone_are_forgotten() {
    let (mut schema, none) = (Schema::of_custom_resource("x.dev/v1", "Thing", None), FieldSet::default());
    let thing = |version: &str, a: i32| json!({"apiVersion": version, "kind": "Thing", "spec": {"a": a}});
    let first = track_update(None, thing("x.dev/v1", 1), &manager("old", &none), &schema, NOW);
    schema.api_version = "x.dev/v2".to_owned();
    schema.known_versions = vec!["x.dev/v2".to_owned()];
    let second = apply(Some(&first), &thing("x.dev/v2", 2), &manager("m", &none), false, &schema, NOW).unwrap();
    let entries = second["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries.iter().map(|entry| entry["manager"].clone()).collect::<Vec<_>>(), ["m"]);
}
