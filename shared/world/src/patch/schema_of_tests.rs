//! Tests of `schema_of`: list types of the core kinds and of custom resources.
#![allow(clippy::unwrap_used)]
use serde_json::json;

use super::{ListType, Schema};

fn keyed(keys: &[&str]) -> ListType {
    ListType::Map(keys.iter().map(|key| (*key).to_owned()).collect())
}

/// The type of the list at a path; `[]` steps into the elements of a list.
fn list_type_at(schema: &Schema, path: &str) -> ListType {
    let mut shape = schema.root();
    for name in path.split('.') {
        let (name, inside) = name.strip_suffix("[]").map_or((name, false), |name| (name, true));
        shape = schema.shape(shape).map.as_ref().unwrap().shape_at(name).unwrap();
        if inside {
            shape = schema.shape(shape).list.as_ref().unwrap().element;
        }
    }
    schema.shape(shape).list.as_ref().unwrap().list_type.clone()
}

fn check(schema: &Schema, cases: Vec<(&str, ListType)>) {
    for (path, expected) in cases {
        assert_eq!(list_type_at(schema, path), expected, "{} {path}", schema.kind);
    }
}

#[test]
fn every_kind_of_the_world_has_a_schema() {
    let kinds = [
        ("v1", "Pod"),
        ("v1", "Node"),
        ("v1", "Namespace"),
        ("v1", "Event"),
        ("events.k8s.io/v1", "Event"),
        ("v1", "ConfigMap"),
        ("v1", "Secret"),
        ("v1", "Service"),
        ("v1", "ServiceAccount"),
        ("v1", "PersistentVolumeClaim"),
        ("v1", "PersistentVolume"),
        ("coordination.k8s.io/v1", "Lease"),
        ("apps/v1", "Deployment"),
        ("apps/v1", "StatefulSet"),
        ("apps/v1", "DaemonSet"),
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "ControllerRevision"),
        ("batch/v1", "Job"),
        ("policy/v1", "PodDisruptionBudget"),
        ("storage.k8s.io/v1", "StorageClass"),
        ("storage.k8s.io/v1", "CSINode"),
        ("storage.k8s.io/v1", "VolumeAttachment"),
        ("scheduling.k8s.io/v1", "PriorityClass"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ];
    for (api_version, kind) in kinds {
        let schema = Schema::of_core(api_version, kind).unwrap();
        check(&schema, vec![("metadata.finalizers", ListType::Set), ("metadata.ownerReferences", keyed(&["uid"]))]);
    }
    assert!(Schema::of_core("apps/v1beta1", "Deployment").is_none());
}

#[test]
fn the_lists_of_a_pod_have_the_types_of_the_api() {
    check(
        &Schema::of_core("v1", "Pod").unwrap(),
        vec![
            ("spec.containers", keyed(&["name"])),
            ("spec.containers[].ports", keyed(&["containerPort", "protocol"])),
            ("spec.containers[].env", keyed(&["name"])),
            ("spec.containers[].args", ListType::Atomic),
            ("spec.volumes", keyed(&["name"])),
            ("spec.tolerations", ListType::Atomic),
            ("spec.topologySpreadConstraints", keyed(&["topologyKey", "whenUnsatisfiable"])),
            ("status.conditions", keyed(&["type"])),
            ("status.containerStatuses", ListType::Atomic),
        ],
    );
}

#[test]
fn a_custom_resource_has_the_list_types_of_its_schema() {
    let openapi = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "plain": {"type": "array", "items": {"type": "string"}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"],
            "items": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}},
    }}}});
    check(
        &Schema::of_custom_resource("example.dev/v1", "Claim", Some(&openapi)),
        vec![
            ("spec.plain", ListType::Atomic),
            ("spec.set", ListType::Set),
            ("spec.map", keyed(&["a", "b"])),
            ("metadata.finalizers", ListType::Set),
        ],
    );
    let without = Schema::of_custom_resource("example.dev/v1", "Claim", None);
    check(&without, vec![("spec.plain", ListType::Atomic), ("metadata.finalizers", ListType::Atomic)]);
}
