//! Rules for `metadata`, the same for every kind.

use crate::resources::errors::FieldError;
use crate::resources::kinds::Resource;
use crate::resources::look::{at, entries, has, items, text};
use crate::resources::names::{check_label, check_label_value, check_name, check_qualified_name};
use serde_json::Value;

const ANNOTATION_BYTES: usize = 256 * 1024;
/// Finalizers the server itself knows; all others carry a domain.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

pub fn validate_metadata(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let metadata = at(object, &["metadata"]);
    let rule = resource.storage.name_rule;
    let generate = text(metadata, &["generateName"]);
    for wrong in if generate.is_empty() { Vec::new() } else { check_name(rule, generate, true) } {
        errors.push(FieldError::invalid("metadata.generateName", generate, &wrong));
    }
    match text(metadata, &["name"]) {
        "" => errors.push(FieldError::required("metadata.name", "name or generateName is required")),
        name => {
            let wrong = check_name(rule, name, false);
            errors.extend(wrong.iter().map(|wrong| FieldError::invalid("metadata.name", name, wrong)));
        }
    }
    match (resource.namespaced, text(metadata, &["namespace"])) {
        (true, "") => errors.push(FieldError::required("metadata.namespace", "")),
        (true, namespace) => {
            let wrong = check_label(namespace);
            errors.extend(wrong.iter().map(|wrong| FieldError::invalid("metadata.namespace", namespace, wrong)));
        }
        (false, "") => {}
        (false, _) => errors.push(FieldError::forbidden("metadata.namespace", "not allowed on this type")),
    }
    errors.extend(validate_labels(at(metadata, &["labels"]), "metadata.labels"));
    errors.extend(validate_annotations(metadata));
    errors.extend(validate_owners(metadata));
    for (index, finalizer) in items(metadata, &["finalizers"]).iter().filter_map(Value::as_str).enumerate() {
        let field = format!("metadata.finalizers[{index}]");
        let wrong = check_qualified_name(finalizer);
        errors.extend(wrong.iter().map(|wrong| FieldError::invalid(&field, finalizer, wrong)));
        if wrong.is_empty() && !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::invalid(&field, finalizer, detail));
        }
    }
    errors
}

pub fn validate_labels(labels: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in entries(labels, &[]) {
        errors.extend(check_qualified_name(key).iter().map(|wrong| FieldError::invalid(field, key, wrong)));
        let value = value.as_str().unwrap_or_default();
        errors.extend(check_label_value(value).iter().map(|wrong| FieldError::invalid(field, value, wrong)));
    }
    errors
}

fn validate_annotations(metadata: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut bytes = 0;
    for (key, value) in entries(metadata, &["annotations"]) {
        bytes += key.len() + value.as_str().unwrap_or_default().len();
        // Annotations were once free of case, and old ones still are.
        let wrong = check_qualified_name(&key.to_lowercase());
        errors.extend(wrong.iter().map(|wrong| FieldError::invalid("metadata.annotations", key, wrong)));
    }
    if bytes > ANNOTATION_BYTES {
        errors.push(FieldError::too_long("metadata.annotations", ANNOTATION_BYTES as u64));
    }
    errors
}

fn validate_owners(metadata: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut controller: Option<&str> = None;
    for (index, owner) in items(metadata, &["ownerReferences"]).iter().enumerate() {
        let field = |name: &str| format!("metadata.ownerReferences[{index}].{name}");
        let required = [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ];
        for (name, detail) in required {
            if text(owner, &[name]).is_empty() {
                errors.push(FieldError::invalid(&field(name), text(owner, &[name]), detail));
            }
        }
        if at(owner, &["controller"]) == true {
            if let Some(first) = controller {
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and \
                     {}",
                    text(owner, &["name"])
                );
                errors.push(FieldError::invalid("metadata.ownerReferences", owner.clone(), &detail));
            }
            controller = Some(text(owner, &["name"]));
        }
    }
    errors
}

pub fn validate_metadata_update(object: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let (new, before) = (at(object, &["metadata", name]), at(old, &["metadata", name]));
        if new != before && !new.is_null() {
            errors.push(FieldError::invalid(&format!("metadata.{name}"), new.clone(), "field is immutable"));
        }
    }
    if has(old, &["metadata", "deletionTimestamp"]) {
        let before = items(old, &["metadata", "finalizers"]);
        let added: Vec<String> = items(object, &["metadata", "finalizers"])
            .iter()
            .filter(|one| !before.contains(one))
            .filter_map(|one| one.as_str().map(crate::resources::errors::quote))
            .collect();
        if !added.is_empty() {
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            errors.push(FieldError::forbidden("metadata.finalizers", &detail));
        }
    }
    errors
}
