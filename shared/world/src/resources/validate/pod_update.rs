//! What may change in a pod once it is: images, deadlines, more tolerations, fewer gates, and little else.

use crate::resources::errors::FieldError;
use crate::resources::look::{at, has, items, number, text};
use serde_json::{Value, json};

/// The real server appends a dump of both Go structs after the line break; that part cannot be had here.
const REFUSAL: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
    tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n";

pub fn validate_pod_update(pod: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (spec, before) = (at(pod, &["spec"]), at(old, &["spec"]));
    for list in ["containers", "initContainers"] {
        if items(spec, &[list]).len() != items(before, &[list]).len() {
            // The server stops here: nothing else can be compared.
            let detail =
                format!("pod updates may not add or remove {}", list.trim_start_matches("init").to_lowercase());
            return vec![FieldError::forbidden(&format!("spec.{list}"), &detail)];
        }
    }
    validate_deadline(spec, before, &mut errors);
    validate_gates(spec, before, &mut errors);
    validate_tolerations(spec, before, &mut errors);
    // What may change is taken over from the old spec; all that still differs may not.
    let mut rest = spec.clone();
    for list in ["containers", "initContainers"] {
        for (index, container) in items(before, &[list]).iter().enumerate() {
            if let Some(place) = rest.get_mut(list).and_then(|items| items.get_mut(index)) {
                copy_field(place, container, "image");
            }
        }
    }
    for field in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        copy_field(&mut rest, before, field);
    }
    if number(before, &["terminationGracePeriodSeconds"]).is_some_and(|seconds| seconds < 0)
        && number(spec, &["terminationGracePeriodSeconds"]) == Some(1)
    {
        copy_field(&mut rest, before, "terminationGracePeriodSeconds");
    }
    // A gated pod may still be aimed at fewer nodes.
    if !items(before, &["schedulingGates"]).is_empty() {
        copy_field(&mut rest, before, "nodeSelector");
        copy_field(&mut rest, before, "affinity");
    }
    if rest != *before {
        errors.push(FieldError::forbidden("spec", REFUSAL));
    }
    errors
}

fn validate_deadline(spec: &Value, before: &Value, errors: &mut Vec<FieldError>) {
    let field = "spec.activeDeadlineSeconds";
    match (number(spec, &["activeDeadlineSeconds"]), number(before, &["activeDeadlineSeconds"])) {
        (Some(new), Some(old)) if new > old => {
            errors.push(FieldError::invalid(field, new, "must be less than or equal to previous value"));
        }
        (None, Some(_)) => {
            errors.push(FieldError::invalid(field, json!(null), "must not update from a positive integer to nil value"))
        }
        _ => {}
    }
}

fn validate_gates(spec: &Value, before: &Value, errors: &mut Vec<FieldError>) {
    let old = items(before, &["schedulingGates"]);
    let gates = items(spec, &["schedulingGates"]).iter().enumerate();
    for (index, gate) in gates.filter(|(_, gate)| !old.contains(gate)) {
        let detail = format!("only deletion is allowed, but found new scheduling gate '{}'", text(gate, &["name"]));
        errors.push(FieldError::forbidden(&format!("spec.schedulingGates[{index}].name"), &detail));
    }
}

/// Each old toleration must still be there; only its seconds may differ.
fn validate_tolerations(spec: &Value, before: &Value, errors: &mut Vec<FieldError>) {
    let without_seconds = |toleration: &Value| {
        let mut plain = toleration.clone();
        if let Some(map) = plain.as_object_mut() {
            map.remove("tolerationSeconds");
        }
        plain
    };
    let new: Vec<Value> = items(spec, &["tolerations"]).iter().map(without_seconds).collect();
    if !items(before, &["tolerations"]).iter().all(|old| new.contains(&without_seconds(old))) {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        errors.push(FieldError::forbidden("spec.tolerations", detail));
    }
}

fn copy_field(to: &mut Value, from: &Value, name: &str) {
    if let Some(map) = to.as_object_mut() {
        if has(from, &[name]) {
            map.insert(name.to_owned(), from[name].clone());
        } else {
            map.remove(name);
        }
    }
}
