//! Rules for the kinds that are not pods and make none.

use super::pod::{one_of, valid_port};
use super::{fixed, not_negative};
use crate::resources::errors::FieldError;
use crate::resources::look::{at, entries, has, items, number, text};
use crate::resources::names::{check_config_key, check_label, check_qualified_name};
use serde_json::Value;

pub fn validate(kind: &str, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match kind {
        "Service" => service(object, &mut errors),
        "PersistentVolumeClaim" => {
            if items(object, &["spec", "accessModes"]).is_empty() {
                errors.push(FieldError::required("spec.accessModes", "at least 1 access mode is required"));
            }
            if !has(object, &["spec", "resources", "requests", "storage"]) {
                errors.push(FieldError::required("spec.resources[storage]", ""));
            }
        }
        "PersistentVolume" => persistent_volume(object, &mut errors),
        "StorageClass" => {
            required(object, "", "provisioner", &mut errors);
            one_of_root(object, "reclaimPolicy", &["Delete", "Retain"], &mut errors);
            one_of_root(object, "volumeBindingMode", &["Immediate", "WaitForFirstConsumer"], &mut errors);
        }
        "PodDisruptionBudget" => disruption_budget(object, &mut errors),
        "Node" => node(object, &mut errors),
        "Lease" => lease(object, &mut errors),
        "ConfigMap" | "Secret" => config(kind, object, &mut errors),
        "PriorityClass" => {
            let value = number(object, &["value"]).unwrap_or_default();
            if value > 1_000_000_000 && !text(object, &["metadata", "name"]).starts_with("system-") {
                let detail = "maximum allowed value of a user defined priority is 1000000000";
                errors.push(FieldError::forbidden("value", detail));
            }
        }
        "ControllerRevision" => {
            if !has(object, &["data"]) {
                errors.push(FieldError::required("data", "data is mandatory"));
            }
            errors.extend(not_negative("revision", at(object, &["revision"])));
        }
        "VolumeAttachment" => {
            required(object, "spec", "attacher", &mut errors);
            required(object, "spec", "nodeName", &mut errors);
        }
        "Event" => {
            let about = if has(object, &["involvedObject"]) { "involvedObject" } else { "regarding" };
            let (theirs, own) = (text(object, &[about, "namespace"]), text(object, &["metadata", "namespace"]));
            // An event about a thing without a namespace stands in `default`.
            if theirs != own && !(theirs.is_empty() && own == "default") {
                let field = format!("{about}.namespace");
                errors.push(FieldError::invalid(&field, theirs, "does not match event.namespace"));
            }
        }
        _ => {}
    }
    errors
}

pub fn validate_change(kind: &str, object: &Value, old: &Value) -> Vec<FieldError> {
    let changed = |path: &[&str]| at(object, path) != at(old, path);
    let mut errors = Vec::new();
    match kind {
        "Service" => {
            let (new, before) = (text(object, &["spec", "clusterIP"]), text(old, &["spec", "clusterIP"]));
            if !before.is_empty() && new != before && text(object, &["spec", "type"]) != "ExternalName" {
                let value = at(object, &["spec", "clusterIPs"]).clone();
                errors.push(FieldError::invalid("spec.clusterIPs[0]", value, "may not change once set"));
            }
        }
        "PersistentVolumeClaim" => claim_change(object, old, &mut errors),
        "StorageClass" => {
            for field in ["parameters", "provisioner", "reclaimPolicy"] {
                if changed(&[field]) {
                    errors.push(FieldError::forbidden(field, &format!("updates to {field} are forbidden.")));
                }
            }
            errors.extend(fixed(
                "volumeBindingMode",
                at(object, &["volumeBindingMode"]),
                at(old, &["volumeBindingMode"]),
            ));
        }
        "Node" if changed(&["spec", "providerID"]) && has(old, &["spec", "providerID"]) => {
            let detail = "node updates may not change providerID except from \"\" to valid";
            errors.push(FieldError::forbidden("spec.providerID", detail));
        }
        "ConfigMap" | "Secret" => {
            if kind == "Secret" {
                errors.extend(fixed("type", at(object, &["type"]), at(old, &["type"])));
            }
            if at(old, &["immutable"]) == true {
                for field in ["immutable", "data", "binaryData"] {
                    if changed(&[field]) {
                        errors.push(FieldError::forbidden(field, "field is immutable when `immutable` is set"));
                    }
                }
            }
        }
        "PriorityClass" => {
            if changed(&["value"]) {
                errors.push(FieldError::forbidden("value", "may not be changed in an update."));
            }
            errors.extend(fixed("preemptionPolicy", at(object, &["preemptionPolicy"]), at(old, &["preemptionPolicy"])));
        }
        "ControllerRevision" => errors.extend(fixed("data", at(object, &["data"]), at(old, &["data"]))),
        "VolumeAttachment" => errors.extend(fixed("spec", at(object, &["spec"]), at(old, &["spec"]))),
        _ => {}
    }
    errors
}

fn service(object: &Value, errors: &mut Vec<FieldError>) {
    let spec = at(object, &["spec"]);
    let kind = text(spec, &["type"]);
    one_of(spec, "spec", "type", &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"], errors);
    one_of(spec, "spec", "sessionAffinity", &["ClientIP", "None"], errors);
    let ports = items(spec, &["ports"]);
    if ports.is_empty() && kind != "ExternalName" && text(spec, &["clusterIP"]) != "None" {
        errors.push(FieldError::required("spec.ports", ""));
    }
    if kind == "ExternalName" {
        required(object, "spec", "externalName", errors);
    }
    for (index, port) in ports.iter().enumerate() {
        let path = format!("spec.ports[{index}]");
        match text(port, &["name"]) {
            "" if ports.len() > 1 => errors.push(FieldError::required(&format!("{path}.name"), "")),
            "" => {}
            name if ports[..index].iter().any(|other| text(other, &["name"]) == name) => {
                errors.push(FieldError::duplicate(&format!("{path}.name"), name));
            }
            name => {
                let wrong = check_label(name);
                errors.extend(wrong.iter().map(|wrong| FieldError::invalid(&format!("{path}.name"), name, wrong)));
            }
        }
        errors.extend(valid_port(number(port, &["port"]).unwrap_or_default(), &format!("{path}.port")));
        one_of(port, &path, "protocol", &["SCTP", "TCP", "UDP"], errors);
    }
}

fn persistent_volume(object: &Value, errors: &mut Vec<FieldError>) {
    let settings = [
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
    if items(object, &["spec", "accessModes"]).is_empty() {
        errors.push(FieldError::required("spec.accessModes", ""));
    }
    if entries(object, &["spec", "capacity"]).is_empty() {
        errors.push(FieldError::required("spec.capacity", ""));
    }
    let sources = entries(object, &["spec"]).into_iter().filter(|(name, _)| !settings.contains(name)).count();
    match sources {
        0 => errors.push(FieldError::required("spec", "must specify a volume type")),
        1 => {}
        _ => errors.push(FieldError::forbidden("spec", "may not specify more than 1 volume type")),
    }
}

fn disruption_budget(object: &Value, errors: &mut Vec<FieldError>) {
    let spec = at(object, &["spec"]);
    if has(spec, &["minAvailable"]) && has(spec, &["maxUnavailable"]) {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.push(FieldError::invalid("spec", spec.clone(), detail));
    }
    for field in ["minAvailable", "maxUnavailable"] {
        let path = format!("spec.{field}");
        match at(spec, &[field]) {
            Value::String(share) => {
                let percent = share.strip_suffix('%').and_then(|digits| digits.parse::<u32>().ok());
                match percent {
                    None => errors.push(FieldError::invalid(
                        &path,
                        share.as_str(),
                        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or \
                         '93%', regex used for validation is '[0-9]+%')",
                    )),
                    Some(percent) if percent > 100 => {
                        errors.push(FieldError::invalid(&path, share.as_str(), "must not be greater than 100%"));
                    }
                    Some(_) => {}
                }
            }
            number => errors.extend(not_negative(&path, number)),
        }
    }
}

fn node(object: &Value, errors: &mut Vec<FieldError>) {
    let taints = items(object, &["spec", "taints"]);
    for (index, taint) in taints.iter().enumerate() {
        let path = format!("spec.taints[{index}]");
        let key = text(taint, &["key"]);
        let wrong = check_qualified_name(key);
        errors.extend(wrong.iter().map(|wrong| FieldError::invalid(&format!("{path}.key"), key, wrong)));
        one_of(taint, &path, "effect", &["NoSchedule", "PreferNoSchedule", "NoExecute"], errors);
        if taints[..index].iter().any(|other| other["key"] == taint["key"] && other["effect"] == taint["effect"]) {
            let mut duplicate = FieldError::duplicate(&path, taint.clone());
            duplicate.detail = "taints must be unique by key and effect pair".to_owned();
            errors.push(duplicate);
        }
    }
}

fn lease(object: &Value, errors: &mut Vec<FieldError>) {
    if let Some(seconds) = number(object, &["spec", "leaseDurationSeconds"]).filter(|seconds| *seconds <= 0) {
        errors.push(FieldError::invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"));
    }
    errors.extend(not_negative("spec.leaseTransitions", at(object, &["spec", "leaseTransitions"])));
    if at(object, &["spec", "holderIdentity"]) == "" {
        errors.push(FieldError::invalid("spec.holderIdentity", "", "must not be empty"));
    }
}

fn config(kind: &str, object: &Value, errors: &mut Vec<FieldError>) {
    let mut bytes = 0;
    for part in ["data", "binaryData"] {
        for (key, value) in entries(object, &[part]) {
            let length = value.as_str().unwrap_or_default().len();
            // What is encoded counts as what it decodes to.
            bytes += if kind == "Secret" || part == "binaryData" { length / 4 * 3 } else { length };
            let field = format!("{part}[{key}]");
            errors.extend(check_config_key(key).iter().map(|wrong| FieldError::invalid(&field, key, wrong)));
            if part == "binaryData" && has(object, &["data", key]) {
                let detail = "duplicate of key present in data";
                errors.push(FieldError::invalid(&field, key, detail));
            }
        }
    }
    if bytes > 1024 * 1024 {
        let field = if kind == "Secret" { "data" } else { "" };
        errors.push(FieldError::too_long(field, 1024 * 1024));
    }
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
    let size = |claim: &Value| {
        crate::resources::quantity::Quantity::parse(text(claim, &["spec", "resources", "requests", "storage"]))
    };
    if let (Some(new), Some(before)) = (size(object), size(old))
        && new < before
    {
        let detail = "field can not be less than status.capacity";
        errors.push(FieldError::forbidden("spec.resources.requests.storage", detail));
    }
}

fn required(object: &Value, part: &str, name: &str, errors: &mut Vec<FieldError>) {
    let (path, field) =
        if part.is_empty() { (vec![name], name.to_owned()) } else { (vec![part, name], format!("{part}.{name}")) };
    if text(object, &path).is_empty() {
        errors.push(FieldError::required(&field, ""));
    }
}

fn one_of_root(object: &Value, name: &str, allowed: &[&str], errors: &mut Vec<FieldError>) {
    let given = text(object, &[name]);
    if !allowed.contains(&given) {
        errors.push(FieldError::not_supported(name, given, allowed));
    }
}
