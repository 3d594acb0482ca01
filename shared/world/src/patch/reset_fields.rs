//! Which fields a door of the API leaves as they are: `status` when writing an object, `spec` when writing its status.
//!
//! Nobody comes to manage a field by sending it through a door that ignores it.
use super::fields::FieldSet;
use super::schema_of::Schema;

/// Kinds whose status is written through a subresource of its own.
const KINDS_WITH_STATUS: [(&str, &str); 14] = [
    ("v1", "Namespace"),
    ("v1", "Node"),
    ("v1", "PersistentVolume"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Pod"),
    ("v1", "Service"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "Job"),
    ("policy/v1", "PodDisruptionBudget"),
    ("storage.k8s.io/v1", "VolumeAttachment"),
];

/// What writes through a subresource, or through none, leave as it is. Whether a custom resource has a status
/// subresource is up to its definition, and given by `custom_status`.
pub fn ignored_fields(schema: &Schema, subresource: &str, custom_status: bool) -> FieldSet {
    let kind = (schema.api_version.as_str(), schema.kind.as_str());
    let has_status = if schema.core { KINDS_WITH_STATUS.contains(&kind) } else { custom_status };
    match (subresource, kind) {
        ("", _) if has_status => FieldSet::of_paths(&[&["status"]]),
        ("finalize", _) => FieldSet::of_paths(&[&["status"]]),
        ("status", ("v1", "Pod")) => {
            FieldSet::of_paths(&[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]])
        }
        ("status", ("apps/v1", "Deployment")) => FieldSet::of_paths(&[&["spec"], &["metadata", "labels"]]),
        ("status", ("storage.k8s.io/v1", "VolumeAttachment")) => FieldSet::of_paths(&[&["metadata"], &["spec"]]),
        ("status", _) if schema.core => FieldSet::of_paths(&[&["spec"]]),
        ("status", _) => FieldSet::of_paths(&[&["metadata"], &["spec"]]),
        _ => FieldSet::default(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};

    use super::{Schema, ignored_fields};

    /// API version, kind, subresource, and what is ignored.
    fn check(cases: Vec<(&str, &str, &str, Value)>) {
        for (api_version, kind, subresource, expected) in cases {
            let schema = Schema::of_core(api_version, kind)
                .unwrap_or_else(|| Schema::of_custom_resource(api_version, kind, None));
            let found = ignored_fields(&schema, subresource, true).to_fields_v1();
            assert_eq!(found, expected, "{kind} {subresource}");
        }
    }

    #[test]
    fn every_door_ignores_what_it_cannot_change() {
        check(vec![
            ("apps/v1", "Deployment", "", json!({"f:status": {}})),
            ("apps/v1", "Deployment", "status", json!({"f:spec": {}, "f:metadata": {"f:labels": {}}})),
            ("apps/v1", "Deployment", "scale", json!({})),
            ("v1", "Node", "status", json!({"f:spec": {}})),
            ("v1", "ConfigMap", "", json!({})),
            ("pilotlight.dev/v1", "Claim", "", json!({"f:status": {}})),
            ("pilotlight.dev/v1", "Claim", "status", json!({"f:metadata": {}, "f:spec": {}})),
        ]);
    }
}
