//! Rules for volumes, claims, storage classes, and what a driver says of a node.

use super::affinity::validate_node_selector;
use super::fixed;
use super::pod::one_of;
use crate::resources::errors::{FieldError, quote};
use crate::resources::look::{at, entries, has, items, number, text};
use crate::resources::names::{check_qualified_name, check_subdomain};
use crate::resources::quantity::Quantity;
use serde_json::Value;

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/// What a volume's spec says beside where it comes from.
const SETTINGS: [&str; 9] = [
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "volumeMode",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
];

pub fn validate(kind: &str, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match kind {
        "PersistentVolumeClaim" => claim(object, &mut errors),
        "PersistentVolume" => volume(object, &mut errors),
        "StorageClass" => class(object, &mut errors),
        "CSINode" => drivers(object, &mut errors),
        "VolumeAttachment" => attachment(object, &mut errors),
        _ => {}
    }
    errors
}

fn modes(spec: &Value, path: &str, detail: &str, errors: &mut Vec<FieldError>) {
    let modes: Vec<&str> = items(spec, &["accessModes"]).iter().filter_map(Value::as_str).collect();
    let field = format!("{path}.accessModes");
    if modes.is_empty() {
        errors.push(FieldError::required(&field, detail));
    }
    let unknown = modes.iter().filter(|mode| !ACCESS_MODES.contains(mode));
    errors.extend(unknown.map(|mode| FieldError::not_supported(&field, *mode, &ACCESS_MODES)));
    if modes.contains(&"ReadWriteOncePod") && modes.len() > 1 {
        let detail = "may not use ReadWriteOncePod with other access modes";
        errors.push(FieldError::forbidden(&field, detail));
    }
}

fn claim(object: &Value, errors: &mut Vec<FieldError>) {
    let spec = at(object, &["spec"]);
    modes(spec, "spec", "at least 1 access mode is required", errors);
    match at(spec, &["resources", "requests", "storage"]).as_str() {
        None => errors.push(FieldError::required("spec.resources[storage]", "")),
        Some(size) => positive("spec.resources[storage]", size, errors),
    }
    class_name(spec, errors);
    if has(spec, &["volumeMode"]) {
        one_of(spec, "spec", "volumeMode", &["Block", "Filesystem"], errors);
    }
}

fn positive(field: &str, size: &str, errors: &mut Vec<FieldError>) {
    if Quantity::parse(size).is_some_and(|size| size.sign() <= 0) {
        errors.push(FieldError::invalid(field, size, "must be greater than zero"));
    }
}

fn class_name(spec: &Value, errors: &mut Vec<FieldError>) {
    let name = text(spec, &["storageClassName"]);
    if !name.is_empty() {
        let wrong = check_subdomain(name);
        errors.extend(wrong.iter().map(|wrong| FieldError::invalid("spec.storageClassName", name, wrong)));
    }
}

fn volume(object: &Value, errors: &mut Vec<FieldError>) {
    let spec = at(object, &["spec"]);
    modes(spec, "spec", "", errors);
    let capacity = entries(spec, &["capacity"]);
    if capacity.is_empty() {
        errors.push(FieldError::required("spec.capacity", ""));
    }
    if !has(spec, &["capacity", "storage"]) || capacity.len() > 1 {
        let error = FieldError::not_supported("spec.capacity", at(spec, &["capacity"]).clone(), &["storage"]);
        errors.push(error);
    }
    for (name, size) in capacity {
        positive(&format!("spec.capacity[{name}]"), size.as_str().unwrap_or_default(), errors);
    }
    if has(spec, &["nodeAffinity"]) {
        match at(spec, &["nodeAffinity", "required"]) {
            Value::Null => {
                let detail = "must specify required node constraints";
                errors.push(FieldError::required("spec.nodeAffinity.required", detail));
            }
            required => validate_node_selector(required, "spec.nodeAffinity.required", errors),
        }
    }
    let sources: Vec<&str> =
        entries(spec, &[]).into_iter().map(|(name, _)| name).filter(|name| !SETTINGS.contains(name)).collect();
    if sources.is_empty() {
        errors.push(FieldError::required("spec", "must specify a volume type"));
    }
    for extra in sources.iter().skip(1) {
        errors.push(FieldError::forbidden(&format!("spec.{extra}"), "may not specify more than 1 volume type"));
    }
    let path = text(spec, &["hostPath", "path"]);
    if path.split('/').any(|part| part == "..") {
        errors.push(FieldError::invalid("spec.hostPath.path", path, "must not contain '..'"));
    }
    class_name(spec, errors);
}

fn class(object: &Value, errors: &mut Vec<FieldError>) {
    let provisioner = text(object, &["provisioner"]);
    if provisioner.is_empty() {
        errors.push(FieldError::required("provisioner", ""));
    } else {
        let wrong = check_qualified_name(&provisioner.to_lowercase());
        errors.extend(wrong.iter().map(|wrong| FieldError::invalid("provisioner", provisioner, wrong)));
    }
    let mut known = |field: &str, allowed: &[&str]| {
        let given = text(object, &[field]);
        if !allowed.contains(&given) {
            errors.push(FieldError::not_supported(field, given, allowed));
        }
    };
    known("reclaimPolicy", &["Delete", "Retain"]);
    known("volumeBindingMode", &["Immediate", "WaitForFirstConsumer"]);
}

fn drivers(object: &Value, errors: &mut Vec<FieldError>) {
    let mut names: Vec<&str> = Vec::new();
    for (index, driver) in items(object, &["spec", "drivers"]).iter().enumerate() {
        let path = format!("spec.drivers[{index}]");
        let name = text(driver, &["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(&format!("{path}.name"), ""));
        } else {
            let wrong = check_subdomain(&name.to_lowercase());
            errors.extend(wrong.iter().map(|wrong| FieldError::invalid(&format!("{path}.name"), name, wrong)));
        }
        if text(driver, &["nodeID"]).is_empty() {
            errors.push(FieldError::required(&format!("{path}.nodeID"), ""));
        }
        if let Some(count) = number(driver, &["allocatable", "count"]).filter(|count| *count < 0) {
            let field = format!("{path}.allocatable.count");
            errors.push(FieldError::invalid(&field, count, "must be greater than or equal to 0"));
        }
        let keys: Vec<&str> = items(driver, &["topologyKeys"]).iter().filter_map(Value::as_str).collect();
        for (place, key) in keys.iter().enumerate() {
            if keys[..place].contains(key) {
                errors.push(FieldError::duplicate(&path, *key));
            }
        }
        if names.contains(&name) {
            errors.push(FieldError::duplicate(&format!("{path}.name"), name));
        }
        names.push(name);
    }
}

fn attachment(object: &Value, errors: &mut Vec<FieldError>) {
    let spec = at(object, &["spec"]);
    if text(spec, &["attacher"]).is_empty() {
        errors.push(FieldError::required("spec.attacher", ""));
    }
    for field in ["attacher", "nodeName"] {
        let given = text(spec, &[field]);
        if field == "nodeName" || !given.is_empty() {
            let wrong = check_subdomain(&given.to_lowercase());
            errors.extend(wrong.iter().map(|wrong| FieldError::invalid(&format!("spec.{field}"), given, wrong)));
        }
    }
    let source = at(spec, &["source"]);
    if !has(source, &["persistentVolumeName"]) && !has(source, &["inlineVolumeSpec"]) {
        let detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
        errors.push(FieldError::required("spec.source", detail));
    }
}

pub fn validate_change(kind: &str, object: &Value, old: &Value) -> Vec<FieldError> {
    let changed = |path: &[&str]| at(object, path) != at(old, path);
    let mut errors = Vec::new();
    match kind {
        "PersistentVolumeClaim" => claim_change(object, old, &mut errors),
        "StorageClass" => {
            for field in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
                errors.extend(fixed(field, at(object, &[field]), at(old, &[field])));
            }
        }
        "PersistentVolume" => {
            let sources = |volume: &Value| -> Vec<(String, Value)> {
                let spec = entries(volume, &["spec"]).into_iter();
                let sources = spec.filter(|(name, _)| !SETTINGS.contains(name));
                sources.map(|(name, source)| (name.to_owned(), source.clone())).collect()
            };
            if sources(object) != sources(old) {
                let detail = "spec.persistentvolumesource is immutable after creation";
                errors.push(FieldError::forbidden("spec.persistentvolumesource", detail));
            }
        }
        "VolumeAttachment" if changed(&["spec"]) => {
            let of = |field: &str| quote(text(object, &["spec", field]));
            let volume = at(object, &["spec", "source", "persistentVolumeName"]);
            let shown = format!(
                "{{\"Attacher\":{},\"Source\":{{\"PersistentVolumeName\":{volume},\"InlineVolumeSpec\":null}},\"NodeName\":{}}}",
                of("attacher"),
                of("nodeName")
            );
            let error = FieldError::invalid("spec", at(object, &["spec"]).clone(), "field is immutable");
            errors.push(error.shown_as(shown));
        }
        "CSINode" => {
            for driver in items(old, &["spec", "drivers"]) {
                let same = |one: &&Value| text(one, &["name"]) == text(driver, &["name"]);
                let now = items(object, &["spec", "drivers"]).iter().find(same);
                if let Some(now) = now.filter(|now| at(now, &["nodeID"]) != at(driver, &["nodeID"])) {
                    let shown = format!(
                        "{{\"Name\":{},\"NodeID\":{},\"TopologyKeys\":{},\"Allocatable\":null}}",
                        quote(text(now, &["name"])),
                        quote(text(now, &["nodeID"])),
                        at(now, &["topologyKeys"])
                    );
                    let error = FieldError::invalid("spec.drivers", now.clone(), "field is immutable");
                    errors.push(error.shown_as(shown));
                }
            }
        }
        _ => {}
    }
    errors
}

fn claim_change(object: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    let frozen = |object: &Value| {
        let mut spec = at(object, &["spec"]).clone();
        if let Some(map) = spec.as_object_mut() {
            map.retain(|name, _| !matches!(name.as_str(), "resources" | "volumeAttributesClassName"));
            // Binding fills the volume's name once.
            if !has(old, &["spec", "volumeName"]) {
                map.remove("volumeName");
            }
        }
        spec
    };
    if frozen(object) != frozen(old) {
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for \
                      bound claims";
        errors.push(FieldError::forbidden("spec", detail));
    }
    let size = |claim: &Value| Quantity::parse(text(claim, &["spec", "resources", "requests", "storage"]));
    if let (Some(new), Some(before)) = (size(object), size(old))
        && new < before
    {
        let detail = "field can not be less than status.capacity";
        errors.push(FieldError::forbidden("spec.resources.requests.storage", detail));
    }
}
