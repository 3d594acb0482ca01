//! Rules for a pod's spec, alone or inside a template.

use super::affinity::{validate_affinity, validate_label_selector};
use super::metadata::validate_labels;
use super::probes::{validate_ports, validate_probes, validate_variables};
use crate::resources::errors::FieldError;
use crate::resources::look::{at, entries, has, items, number, text};
use crate::resources::names::{check_label, check_qualified_name, check_subdomain};
use crate::resources::quantity::Quantity;
use serde_json::Value;

/// A pod itself, with what its status may not say.
pub fn validate_pod(pod: &Value) -> Vec<FieldError> {
    let mut errors = validate_pod_spec(at(pod, &["spec"]), "spec");
    if has(pod, &["spec", "nodeName"]) && !text(pod, &["status", "nominatedNodeName"]).is_empty() {
        let detail = "may not be set on pods that are already bound to a node";
        errors.push(FieldError::forbidden("status.nominatedNodeName", detail));
    }
    errors
}

pub fn validate_pod_spec(spec: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let volumes = validate_volumes(spec, path, &mut errors);
    let containers = items(spec, &["containers"]);
    if containers.is_empty() {
        errors.push(FieldError::required(&format!("{path}.containers"), ""));
    }
    let mut names: Vec<&str> = Vec::new();
    for list in ["containers", "initContainers"] {
        for (index, container) in items(spec, &[list]).iter().enumerate() {
            let field = format!("{path}.{list}[{index}]");
            validate_container(container, &field, &volumes, &mut names, &mut errors);
        }
    }
    one_of(spec, path, "restartPolicy", &["Always", "OnFailure", "Never"], &mut errors);
    one_of(spec, path, "dnsPolicy", &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], &mut errors);
    if let Some(deadline) = number(spec, &["activeDeadlineSeconds"])
        && !(1..=i64::from(i32::MAX)).contains(&deadline)
    {
        let field = format!("{path}.activeDeadlineSeconds");
        errors.push(FieldError::invalid(&field, deadline, "must be between 1 and 2147483647, inclusive"));
    }
    errors.extend(validate_labels(at(spec, &["nodeSelector"]), &format!("{path}.nodeSelector")));
    for name in ["serviceAccountName", "nodeName", "priorityClassName"] {
        let given = text(spec, &[name]);
        if !given.is_empty() {
            let wrong = check_subdomain(given);
            errors.extend(wrong.iter().map(|wrong| FieldError::invalid(&format!("{path}.{name}"), given, wrong)));
        }
    }
    validate_affinity(spec, path, &mut errors);
    validate_tolerations(spec, path, &mut errors);
    validate_spread(spec, path, &mut errors);
    validate_gates(spec, path, &mut errors);
    for field in ["runAsUser", "runAsGroup", "fsGroup"] {
        if let Some(id) = number(spec, &["securityContext", field]).filter(|id| *id < 0) {
            let field = format!("{path}.securityContext.{field}");
            errors.push(FieldError::invalid(&field, id, "must be between 0 and 2147483647, inclusive"));
        }
    }
    if has(spec, &["nodeName"]) && !items(spec, &["schedulingGates"]).is_empty() {
        let detail = "cannot be set until all schedulingGates have been cleared";
        errors.push(FieldError::forbidden(&format!("{path}.nodeName"), detail));
    }
    errors
}

fn validate_volumes<'a>(spec: &'a Value, path: &str, errors: &mut Vec<FieldError>) -> Vec<&'a str> {
    let mut names = Vec::new();
    for (index, volume) in items(spec, &["volumes"]).iter().enumerate() {
        let field = format!("{path}.volumes[{index}].name");
        match text(volume, &["name"]) {
            "" => errors.push(FieldError::required(&field, "")),
            name if names.contains(&name) => errors.push(FieldError::duplicate(&field, name)),
            name => {
                errors.extend(check_label(name).iter().map(|wrong| FieldError::invalid(&field, name, wrong)));
                names.push(name);
            }
        }
        let sources: Vec<&str> =
            entries(volume, &[]).into_iter().map(|(name, _)| name).filter(|name| *name != "name").collect();
        for extra in sources.iter().skip(1) {
            let field = format!("{path}.volumes[{index}].{extra}");
            errors.push(FieldError::forbidden(&field, "may not specify more than 1 volume type"));
        }
    }
    names
}

fn validate_container<'a>(
    container: &'a Value,
    path: &str,
    volumes: &[&str],
    names: &mut Vec<&'a str>,
    errors: &mut Vec<FieldError>,
) {
    let name_field = format!("{path}.name");
    match text(container, &["name"]) {
        "" => errors.push(FieldError::required(&name_field, "")),
        name if names.contains(&name) => errors.push(FieldError::duplicate(&name_field, name)),
        name => {
            errors.extend(check_label(name).iter().map(|wrong| FieldError::invalid(&name_field, name, wrong)));
            names.push(name);
        }
    }
    let image = text(container, &["image"]);
    if image.is_empty() {
        errors.push(FieldError::required(&format!("{path}.image"), ""));
    } else if image.trim() != image {
        let detail = "must not have leading or trailing whitespace";
        errors.push(FieldError::invalid(&format!("{path}.image"), image, detail));
    }
    one_of(container, path, "imagePullPolicy", &["Always", "IfNotPresent", "Never"], errors);
    one_of(container, path, "terminationMessagePolicy", &["FallbackToLogsOnError", "File"], errors);
    validate_ports(container, path, errors);
    validate_variables(container, path, errors);
    for (index, mount) in items(container, &["volumeMounts"]).iter().enumerate() {
        let mount_path = format!("{path}.volumeMounts[{index}]");
        let name = text(mount, &["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(&format!("{mount_path}.name"), ""));
        }
        if !volumes.contains(&name) {
            errors.push(FieldError::not_found(&format!("{mount_path}.name"), name));
        }
        if text(mount, &["mountPath"]).is_empty() {
            errors.push(FieldError::required(&format!("{mount_path}.mountPath"), ""));
        }
    }
    validate_resources(at(container, &["resources"]), &format!("{path}.resources"), errors);
    validate_probes(container, path, errors);
}

fn validate_resources(resources: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let amount = |value: &Value| value.as_str().and_then(Quantity::parse);
    for part in ["limits", "requests"] {
        for (name, value) in entries(resources, &[part]) {
            let field = format!("{path}.{part}[{name}]");
            let Some(quantity) = amount(value) else { continue };
            if quantity.sign() < 0 {
                errors.push(FieldError::invalid(&field, value.clone(), "must be greater than or equal to 0"));
            }
            if is_extended(name) && !quantity.is_whole() {
                errors.push(FieldError::invalid(&field, value.clone(), "must be an integer"));
            }
            errors.extend(check_qualified_name(name).iter().map(|wrong| FieldError::invalid(&field, name, wrong)));
        }
    }
    for (name, value) in entries(resources, &["requests"]) {
        let (Some(request), limit) = (amount(value), amount(at(resources, &["limits", name]))) else { continue };
        let field = format!("{path}.requests");
        match limit {
            Some(limit) if is_extended(name) && request != limit => {
                let detail = format!("must be equal to {name} limit of {}", limit.canonical());
                errors.push(FieldError::invalid(&field, value.clone(), &detail));
            }
            Some(limit) if request > limit => {
                let detail = format!("must be less than or equal to {name} limit of {}", limit.canonical());
                errors.push(FieldError::invalid(&field, value.clone(), &detail));
            }
            None if is_extended(name) => errors.push(FieldError::required(
                &format!("{path}.limits"),
                "Limit must be set for non overcommitable resources",
            )),
            _ => {}
        }
    }
}

/// Devices such as `nvidia.com/gpu`: counted in whole pieces and never promised twice.
fn is_extended(resource: &str) -> bool {
    resource.contains('/') && !resource.contains("kubernetes.io/")
}

fn validate_tolerations(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (index, toleration) in items(spec, &["tolerations"]).iter().enumerate() {
        let field = format!("{path}.tolerations[{index}]");
        let (key, operator) = (text(toleration, &["key"]), text(toleration, &["operator"]));
        if !key.is_empty() {
            let wrong = check_qualified_name(key);
            errors.extend(wrong.iter().map(|wrong| FieldError::invalid(&format!("{field}.key"), key, wrong)));
        } else if operator != "Exists" {
            let detail = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.push(FieldError::invalid(&format!("{field}.operator"), operator, detail));
        }
        match operator {
            "" | "Equal" => {}
            "Exists" if text(toleration, &["value"]).is_empty() => {}
            "Exists" => {
                let detail = "value must be empty when `operator` is 'Exists'";
                errors.push(FieldError::invalid(&format!("{field}.operator"), text(toleration, &["value"]), detail));
            }
            other => {
                errors.push(FieldError::not_supported(&format!("{field}.operator"), other, &["Equal", "Exists"]));
            }
        }
        if !text(toleration, &["effect"]).is_empty() {
            one_of(toleration, &field, "effect", &["NoSchedule", "PreferNoSchedule", "NoExecute"], errors);
        }
        if has(toleration, &["tolerationSeconds"]) && text(toleration, &["effect"]) != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.push(FieldError::invalid(&format!("{field}.effect"), text(toleration, &["effect"]), detail));
        }
    }
}

fn validate_gates(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let gates = items(spec, &["schedulingGates"]);
    for (index, gate) in gates.iter().enumerate() {
        let (name, field) = (text(gate, &["name"]), format!("{path}.schedulingGates[{index}]"));
        errors.extend(check_qualified_name(name).iter().map(|wrong| FieldError::invalid(&field, name, wrong)));
        if gates[..index].iter().any(|other| text(other, &["name"]) == name) {
            errors.push(FieldError::duplicate(&field, name));
        }
    }
}

fn validate_spread(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (index, spread) in items(spec, &["topologySpreadConstraints"]).iter().enumerate() {
        let field = format!("{path}.topologySpreadConstraints[{index}]");
        let skew = number(spread, &["maxSkew"]).unwrap_or_default();
        if skew <= 0 {
            errors.push(FieldError::invalid(&format!("{field}.maxSkew"), skew, "must be greater than zero"));
        }
        if text(spread, &["topologyKey"]).is_empty() {
            errors.push(FieldError::required(&format!("{field}.topologyKey"), "can not be empty"));
        }
        one_of(spread, &field, "whenUnsatisfiable", &["DoNotSchedule", "ScheduleAnyway"], errors);
        let pair = |one: &Value| (text(one, &["topologyKey"]).to_owned(), text(one, &["whenUnsatisfiable"]).to_owned());
        let later = &items(spec, &["topologySpreadConstraints"])[index + 1..];
        if later.iter().any(|other| pair(other) == pair(spread)) {
            let (key, when) = pair(spread);
            let field = format!("{field}.{{topologyKey, whenUnsatisfiable}}");
            errors.push(FieldError::duplicate(&field, format!("{{{key}, {when}}}")));
        }
        if let Some(domains) = number(spread, &["minDomains"]).filter(|domains| *domains <= 0) {
            errors.push(FieldError::invalid(&format!("{field}.minDomains"), domains, "must be greater than zero"));
        }
        validate_label_selector(at(spread, &["labelSelector"]), &format!("{field}.labelSelector"), errors);
    }
}

pub fn valid_port(port: i64, field: &str) -> Option<FieldError> {
    let outside = !(1..=65535).contains(&port);
    outside.then(|| FieldError::invalid(field, port, "must be between 1 and 65535, inclusive"))
}

/// A field that must be one of a few words; absent is for the defaults to fill.
pub fn one_of(object: &Value, path: &str, name: &str, allowed: &[&str], errors: &mut Vec<FieldError>) {
    let given = text(object, &[name]);
    let field = format!("{path}.{name}");
    if given.is_empty() {
        errors.push(FieldError::required(&field, ""));
    } else if !allowed.contains(&given) {
        errors.push(FieldError::not_supported(&field, given, allowed));
    }
}
