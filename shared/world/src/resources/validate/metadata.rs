//! Rules for `metadata`, the same for every kind.

use crate::resources::errors::{FieldError, quote};
use crate::resources::kinds::Resource;
use crate::resources::look::{at, entries, has, items, text};
use crate::resources::names::{check_label, check_label_key, check_label_value, check_name, check_qualified_name};
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
    errors.extend(validate_finalizers(metadata));
    errors
}

pub fn validate_labels(labels: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in entries(labels, &[]) {
        errors.extend(check_label_key(key).iter().map(|wrong| FieldError::invalid(field, key, wrong)));
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
    const FIELD: &str = "metadata.ownerReferences";
    let mut errors = Vec::new();
    let mut controller: Option<String> = None;
    let owners = items(metadata, &["ownerReferences"]);
    for owner in owners {
        let api_version = text(owner, &["apiVersion"]);
        let unversioned = api_version.is_empty() || api_version.matches('/').count() > 1 || api_version.ends_with('/');
        let required = [
            ("apiVersion", unversioned, "version must not be empty"),
            ("kind", text(owner, &["kind"]).is_empty(), "must not be empty"),
            ("name", text(owner, &["name"]).is_empty(), "must not be empty"),
            ("uid", text(owner, &["uid"]).is_empty(), "must not be empty"),
        ];
        for (name, wrong, detail) in required {
            if wrong {
                errors.push(FieldError::invalid(&format!("{FIELD}.{name}"), text(owner, &[name]), detail));
            }
        }
        if (api_version, text(owner, &["kind"])) == ("v1", "Event") {
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(FieldError::invalid(FIELD, owner.clone(), detail).shown_as(printed_owner(owner)));
        }
        if at(owner, &["controller"]) == true {
            let this = format!("{}/{}", text(owner, &["kind"]), text(owner, &["name"]));
            match &controller {
                None => controller = Some(this),
                Some(first) => {
                    let detail = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} \
                         and {this}"
                    );
                    let shown = owners.iter().map(printed_owner).collect::<Vec<_>>().join(",");
                    let error = FieldError::invalid(FIELD, Value::Array(owners.to_vec()), &detail);
                    errors.push(error.shown_as(format!("[{shown}]")));
                }
            }
        }
    }
    errors
}

/// In the order in which Go has the fields.
fn printed_owner(owner: &Value) -> String {
    let of = |name: &str| quote(text(owner, &[name]));
    let mut shown = format!(
        "{{\"apiVersion\":{},\"kind\":{},\"name\":{},\"uid\":{}",
        of("apiVersion"),
        of("kind"),
        of("name"),
        of("uid")
    );
    for name in ["controller", "blockOwnerDeletion"] {
        if has(owner, &[name]) {
            shown.push_str(&format!(",\"{name}\":{}", at(owner, &[name])));
        }
    }
    shown.push('}');
    shown
}

/// The names first, each by itself; then, once more by index, those without a domain that the server does not know.
fn validate_finalizers(metadata: &Value) -> Vec<FieldError> {
    const FIELD: &str = "metadata.finalizers";
    let finalizers: Vec<&str> = items(metadata, &["finalizers"]).iter().filter_map(Value::as_str).collect();
    let mut errors = Vec::new();
    for finalizer in &finalizers {
        let wrong = check_qualified_name(finalizer);
        errors.extend(wrong.iter().map(|wrong| FieldError::invalid(FIELD, *finalizer, wrong)));
    }
    if ["orphan", "foregroundDeletion"].iter().all(|one| finalizers.contains(one)) {
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(FIELD, at(metadata, &["finalizers"]).clone(), detail));
    }
    for (index, finalizer) in finalizers.iter().enumerate() {
        if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(finalizer) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::invalid(&format!("{FIELD}[{index}]"), *finalizer, detail));
        }
    }
    errors
}

/// What may not change, and what is checked at every change.
pub fn validate_metadata_update(object: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if has(old, &["metadata", "deletionTimestamp"]) {
        let before = items(old, &["metadata", "finalizers"]);
        let mut added: Vec<String> = items(object, &["metadata", "finalizers"])
            .iter()
            .filter(|one| !before.contains(one))
            .filter_map(|one| one.as_str().map(crate::resources::errors::quote))
            .collect();
        added.sort();
        if !added.is_empty() {
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            errors.push(FieldError::forbidden("metadata.finalizers", &detail));
        }
    }
    for name in ["name", "namespace", "uid"] {
        let (new, before) = (at(object, &["metadata", name]), at(old, &["metadata", name]));
        if new != before && !new.is_null() {
            errors.push(FieldError::invalid(&format!("metadata.{name}"), new.clone(), "field is immutable"));
        }
    }
    let metadata = at(object, &["metadata"]);
    errors.extend(validate_labels(at(metadata, &["labels"]), "metadata.labels"));
    errors.extend(validate_annotations(metadata));
    errors.extend(validate_owners(metadata));
    errors
}
