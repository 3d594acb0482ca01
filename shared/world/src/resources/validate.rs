//! What the server refuses: on creation, and on update against the object before. The object is decoded and defaulted.

mod affinity;
mod controllers;
mod event;
mod metadata;
mod others;
mod pod;
mod pod_update;
mod probes;
mod storage;

pub use metadata::{validate_metadata, validate_metadata_update};

use crate::resources::errors::FieldError;
use crate::resources::kinds::Resource;
use serde_json::Value;

/// The errors of a new object. It has its name by now: generateName was turned into one.
pub fn validate_create(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let mut errors = validate_metadata(resource, object);
    errors.extend(validate_content(resource, object, None));
    errors
}

/// The errors of a changed object.
pub fn validate_update(resource: &Resource, object: &Value, old: &Value) -> Vec<FieldError> {
    // The server checks the metadata of a change twice, once for every kind and once for this one, and says it twice.
    let mut errors = validate_metadata_update(object, old);
    errors.extend(errors.clone());
    if errors.is_empty() {
        errors.extend(validate_metadata(resource, object));
    }
    errors.extend(validate_content(resource, object, Some(old)));
    if resource.custom.is_none() {
        errors.extend(match resource.kind.as_str() {
            "Event" => event::validate_event_change(&resource.group, object, old),
            kind => validate_change(kind, object, old),
        });
    }
    errors
}

fn validate_content(resource: &Resource, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    if let Some(custom) = &resource.custom {
        return custom.validate(object, old);
    }
    match resource.kind.as_str() {
        "Pod" => pod::validate_pod(object),
        "Event" => event::validate_event(&resource.group, object, old.is_none()),
        "Deployment" => controllers::deployment(object),
        "StatefulSet" => controllers::stateful_set(object),
        "DaemonSet" => controllers::daemon_set(object),
        "ReplicaSet" => controllers::replica_set(object),
        "Job" => controllers::job(object),
        "CustomResourceDefinition" => crate::resources::crd::validate_definition(object),
        kind @ ("PersistentVolume" | "PersistentVolumeClaim" | "StorageClass" | "CSINode" | "VolumeAttachment") => {
            storage::validate(kind, object)
        }
        kind => others::validate(kind, object),
    }
}

/// Fields that may not change, kind by kind.
fn validate_change(kind: &str, object: &Value, old: &Value) -> Vec<FieldError> {
    match kind {
        "Pod" => pod_update::validate_pod_update(object, old),
        "Deployment" | "ReplicaSet" | "DaemonSet" => controllers::selector_is_fixed(object, old),
        "StatefulSet" => controllers::stateful_set_update(object, old),
        "Job" => controllers::job_update(object, old),
        kind => others::validate_change(kind, object, old),
    }
}

/// `field is immutable`, where old and new differ.
fn fixed(field: &str, new: &Value, old: &Value) -> Option<FieldError> {
    (new != old).then(|| FieldError::invalid(field, new.clone(), "field is immutable"))
}

/// A count that may not be below zero.
fn not_negative(field: &str, value: &Value) -> Option<FieldError> {
    let negative = value.as_i64().filter(|number| *number < 0)?;
    Some(FieldError::invalid(field, negative, "must be greater than or equal to 0"))
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
