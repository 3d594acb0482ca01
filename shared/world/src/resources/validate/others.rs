//! Rules for the kinds that are not pods and make none.

use super::affinity::validate_label_selector;
use super::pod::{one_of, valid_port};
use super::{fixed, not_negative, storage};
use crate::resources::errors::{FieldError, quote};
use crate::resources::look::{at, entries, has, items, number, text};
use crate::resources::names::{check_config_key, check_label, check_label_value, check_qualified_name};
use serde_json::Value;

pub fn validate(kind: &str, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match kind {
        "Service" => service(object, &mut errors),
        "PodDisruptionBudget" => disruption_budget(object, &mut errors),
        "Node" => node(object, &mut errors),
        "Lease" => lease(object, &mut errors),
        "ConfigMap" | "Secret" => config(kind, object, &mut errors),
        "PriorityClass" => {
            let (value, name) = (number(object, &["value"]).unwrap_or_default(), text(object, &["metadata", "name"]));
            if name.starts_with("system-") {
                if !["system-cluster-critical", "system-node-critical"].contains(&name) {
                    let detail = format!(
                        "priority class names with 'system-' prefix are reserved for system use only. error: {name} is \
                         not a known system priority class"
                    );
                    errors.push(FieldError::forbidden("metadata.name", &detail));
                }
            } else if value > 1_000_000_000 {
                let detail = "maximum allowed value of a user defined priority is 1000000000";
                errors.push(FieldError::forbidden("value", detail));
            }
            one_of_root(object, "preemptionPolicy", &["PreemptLowerPriority", "Never"], &mut errors);
        }
        "ControllerRevision" => {
            errors.extend(not_negative("revision", at(object, &["revision"])));
            if !has(object, &["data"]) {
                errors.push(FieldError::required("data", "data is mandatory"));
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
        "PersistentVolumeClaim" | "StorageClass" | "PersistentVolume" | "CSINode" | "VolumeAttachment" => {
            errors.extend(storage::validate_change(kind, object, old));
        }
        "Node" => node_change(object, old, &mut errors),
        "Namespace" => {
            let going = has(object, &["metadata", "deletionTimestamp"]);
            let phase = text(object, &["status", "phase"]);
            if !going && !["", "Active"].contains(&phase) {
                let detail = "may only be 'Active' if `deletionTimestamp` is empty";
                errors.push(FieldError::invalid("status.Phase", phase, detail));
            } else if going && phase != "Terminating" {
                let detail = "may only be 'Terminating' if `deletionTimestamp` is not empty";
                errors.push(FieldError::invalid("status.Phase", phase, detail));
            }
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
        if let Some(target) = number(port, &["targetPort"]) {
            errors.extend(valid_port(target, &format!("{path}.targetPort")));
        }
    }
}

fn disruption_budget(object: &Value, errors: &mut Vec<FieldError>) {
    let spec = at(object, &["spec"]);
    if has(spec, &["minAvailable"]) && has(spec, &["maxUnavailable"]) {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        let shown = format!(
            "{{\"MinAvailable\":{},\"Selector\":{},\"MaxUnavailable\":{},\"UnhealthyPodEvictionPolicy\":{}}}",
            at(spec, &["minAvailable"]),
            at(spec, &["selector"]),
            at(spec, &["maxUnavailable"]),
            at(spec, &["unhealthyPodEvictionPolicy"])
        );
        errors.push(FieldError::invalid("spec", spec.clone(), detail).shown_as(shown));
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
    validate_label_selector(at(spec, &["selector"]), "spec.selector", errors);
    if has(spec, &["unhealthyPodEvictionPolicy"]) {
        one_of(spec, "spec", "unhealthyPodEvictionPolicy", &["AlwaysAllow", "IfHealthyBudget"], errors);
    }
}

/// The real server looks at a changed node twice, and says it twice.
fn node_change(object: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    let changed = |field: &str| at(object, &["spec", field]) != at(old, &["spec", field]);
    for field in ["podCIDRs", "providerID"] {
        let (shown, there) = (if field == "podCIDRs" { "podCIDR" } else { field }, has(old, &["spec", field]));
        if changed(field) && there {
            let detail = format!("node updates may not change {shown} except from \"\" to valid");
            errors.push(FieldError::forbidden(&format!("spec.{field}"), &detail));
        }
    }
    let addresses = items(object, &["status", "addresses"]);
    for (index, address) in addresses.iter().enumerate() {
        if addresses[..index].contains(address) {
            let shown = format!(
                "{{\"Type\":{},\"Address\":{}}}",
                quote(text(address, &["type"])),
                quote(text(address, &["address"]))
            );
            let field = format!("status.addresses[{index}]");
            errors.push(FieldError::duplicate(&field, address.clone()).shown_as(shown));
        }
    }
    node(object, errors);
}

fn node(object: &Value, errors: &mut Vec<FieldError>) {
    let taints = items(object, &["spec", "taints"]);
    for (index, taint) in taints.iter().enumerate() {
        // Taints were an annotation once, and are still called so.
        let path = format!("metadata.taints[{index}]");
        let (key, value) = (text(taint, &["key"]), text(taint, &["value"]));
        let wrong = check_qualified_name(key);
        errors.extend(wrong.iter().map(|wrong| FieldError::invalid(&format!("{path}.key"), key, wrong)));
        let wrong = check_label_value(value);
        errors.extend(wrong.iter().map(|wrong| FieldError::invalid(&format!("{path}.value"), value, wrong)));
        one_of(taint, &path, "effect", &["NoSchedule", "PreferNoSchedule", "NoExecute"], errors);
        if taints[..index].iter().any(|other| other["key"] == taint["key"] && other["effect"] == taint["effect"]) {
            let shown = format!(
                "{{\"Key\":{},\"Value\":{},\"Effect\":{},\"TimeAdded\":null}}",
                quote(key),
                quote(value),
                quote(text(taint, &["effect"]))
            );
            let mut duplicate = FieldError::duplicate(&path, taint.clone()).shown_as(shown);
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
            if part == "data" && has(object, &["binaryData", key]) {
                let detail = "duplicate of key present in binaryData";
                errors.push(FieldError::invalid(&field, key, detail));
            }
        }
    }
    if kind == "Secret" {
        secret_parts(object, errors);
    }
    if bytes > 1024 * 1024 {
        let field = if kind == "Secret" { "data" } else { "" };
        errors.push(FieldError::too_long(field, 1024 * 1024));
    }
}

/// What a Secret of a known type has to hold.
fn secret_parts(object: &Value, errors: &mut Vec<FieldError>) {
    let there = |key: &str| has(object, &["data", key]);
    let mut require = |key: &str| errors.push(FieldError::required(&format!("data[{key}]"), ""));
    match text(object, &["type"]) {
        "kubernetes.io/tls" => ["tls.crt", "tls.key"].into_iter().filter(|key| !there(key)).for_each(require),
        "kubernetes.io/dockercfg" if !there(".dockercfg") => require(".dockercfg"),
        "kubernetes.io/dockerconfigjson" if !there(".dockerconfigjson") => require(".dockerconfigjson"),
        "kubernetes.io/basic-auth" if !there("username") && !there("password") => {
            ["username", "password"].into_iter().for_each(require);
        }
        "kubernetes.io/ssh-auth" if text(object, &["data", "ssh-privatekey"]).is_empty() => require("ssh-privatekey"),
        "kubernetes.io/service-account-token" => {
            const ACCOUNT: &str = "kubernetes.io/service-account.name";
            if text(object, &["metadata", "annotations", ACCOUNT]).is_empty() {
                errors.push(FieldError::required(&format!("metadata.annotations[{ACCOUNT}]"), ""));
            }
        }
        _ => {}
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
