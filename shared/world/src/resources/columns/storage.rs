//! The rows of volumes, claims and classes.

use super::age;
use crate::resources::look::{at, has, items, text};
use jiff::Timestamp;
use serde_json::{Value, json};

const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";
const OLD_DEFAULT_CLASS: &str = "storageclass.beta.kubernetes.io/is-default-class";
const OLD_CLASS_NAME: &str = "volume.beta.kubernetes.io/storage-class";

pub fn volume(object: &Value, now: Timestamp) -> Vec<Value> {
    let claim = match text(object, &["spec", "claimRef", "name"]) {
        "" => String::new(),
        name => format!("{}/{name}", text(object, &["spec", "claimRef", "namespace"])),
    };
    vec![
        json!(text(object, &["metadata", "name"])),
        json!(text(object, &["spec", "capacity", "storage"])),
        json!(access_modes(at(object, &["spec", "accessModes"]))),
        json!(text(object, &["spec", "persistentVolumeReclaimPolicy"])),
        json!(phase(object)),
        json!(claim),
        json!(class_name(object)),
        json!(or_unset(text(object, &["spec", "volumeAttributesClassName"]))),
        json!(text(object, &["status", "reason"])),
        json!(age(object, now)),
        json!(or_unset(text(object, &["spec", "volumeMode"]))),
    ]
}

pub fn claim(object: &Value, now: Timestamp) -> Vec<Value> {
    // Before a claim is bound, its status says nothing of a volume.
    let bound = !text(object, &["spec", "volumeName"]).is_empty();
    let modes = if bound { access_modes(at(object, &["status", "accessModes"])) } else { String::new() };
    let capacity = if bound { text(object, &["status", "capacity", "storage"]) } else { "" };
    vec![
        json!(text(object, &["metadata", "name"])),
        json!(phase(object)),
        json!(text(object, &["spec", "volumeName"])),
        json!(capacity),
        json!(modes),
        json!(class_name(object)),
        json!(or_unset(text(object, &["spec", "volumeAttributesClassName"]))),
        json!(age(object, now)),
        json!(or_unset(text(object, &["spec", "volumeMode"]))),
    ]
}

pub fn class(object: &Value, now: Timestamp) -> Vec<Value> {
    let annotated = |key: &str| at(object, &["metadata", "annotations", key]) == "true";
    let mut name = text(object, &["metadata", "name"]).to_owned();
    if annotated(DEFAULT_CLASS) || annotated(OLD_DEFAULT_CLASS) {
        name.push_str(" (default)");
    }
    let or = |field: &str, otherwise: &str| match text(object, &[field]) {
        "" => json!(otherwise),
        given => json!(given),
    };
    vec![
        json!(name),
        json!(text(object, &["provisioner"])),
        or("reclaimPolicy", "Delete"),
        or("volumeBindingMode", "Immediate"),
        json!(at(object, &["allowVolumeExpansion"]) == true),
        json!(age(object, now)),
    ]
}

pub fn attachment(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        json!(text(object, &["metadata", "name"])),
        json!(text(object, &["spec", "attacher"])),
        json!(text(object, &["spec", "source", "persistentVolumeName"])),
        json!(text(object, &["spec", "nodeName"])),
        json!(at(object, &["status", "attached"]) == true),
        json!(age(object, now)),
    ]
}

fn phase(object: &Value) -> &str {
    if has(object, &["metadata", "deletionTimestamp"]) { "Terminating" } else { text(object, &["status", "phase"]) }
}

fn class_name(object: &Value) -> &str {
    match text(object, &["metadata", "annotations", OLD_CLASS_NAME]) {
        "" => text(object, &["spec", "storageClassName"]),
        old => old,
    }
}

fn or_unset(value: &str) -> &str {
    if value.is_empty() { "<unset>" } else { value }
}

/// In the fixed order of the short names, each once.
fn access_modes(modes: &Value) -> String {
    let known =
        [("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")];
    let given = items(modes, &[]);
    let short: Vec<&str> =
        known.iter().filter(|(long, _)| given.iter().any(|one| one == long)).map(|(_, short)| *short).collect();
    short.join(",")
}
