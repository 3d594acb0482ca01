//! Rules for affinity and for label selectors inside objects.

use super::metadata::validate_labels;
use crate::resources::errors::FieldError;
use crate::resources::look::{at, has, items, number, text};
use crate::resources::names::{check_label, check_label_key, check_label_value, check_qualified_name};
use serde_json::Value;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

pub fn validate_affinity(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let affinity = at(spec, &["affinity"]);
    let path = format!("{path}.affinity");
    if has(affinity, &["nodeAffinity"]) {
        node_affinity(at(affinity, &["nodeAffinity"]), &format!("{path}.nodeAffinity"), errors);
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let (terms, path) = (at(affinity, &[kind]), format!("{path}.{kind}"));
        for (index, term) in items(terms, &[REQUIRED]).iter().enumerate() {
            pod_term(term, &format!("{path}.{REQUIRED}[{index}]"), errors);
        }
        for (index, weighted) in items(terms, &[PREFERRED]).iter().enumerate() {
            let field = format!("{path}.{PREFERRED}[{index}]");
            weight(weighted, &field, errors);
            pod_term(at(weighted, &["podAffinityTerm"]), &format!("{field}.podAffinityTerm"), errors);
        }
    }
}

fn node_affinity(affinity: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if has(affinity, &[REQUIRED]) {
        validate_node_selector(at(affinity, &[REQUIRED]), &format!("{path}.{REQUIRED}"), errors);
    }
    for (index, preferred) in items(affinity, &[PREFERRED]).iter().enumerate() {
        let field = format!("{path}.{PREFERRED}[{index}]");
        weight(preferred, &field, errors);
        node_term(at(preferred, &["preference"]), &format!("{field}.preference"), errors);
    }
}

fn weight(weighted: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let weight = number(weighted, &["weight"]).unwrap_or_default();
    if !(1..=100).contains(&weight) {
        errors.push(FieldError::invalid(&format!("{path}.weight"), weight, "must be in the range 1-100"));
    }
}

/// Also of volumes: where they can be reached.
pub fn validate_node_selector(selector: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let path = format!("{path}.nodeSelectorTerms");
    let terms = items(selector, &["nodeSelectorTerms"]);
    if terms.is_empty() {
        errors.push(FieldError::required(&path, "must have at least one node selector term"));
    }
    for (index, term) in terms.iter().enumerate() {
        node_term(term, &format!("{path}[{index}]"), errors);
    }
}

fn node_term(term: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (index, requirement) in items(term, &["matchExpressions"]).iter().enumerate() {
        let field = format!("{path}.matchExpressions[{index}]");
        let (key, operator) = (text(requirement, &["key"]), text(requirement, &["operator"]));
        let values = items(requirement, &["values"]);
        let values_field = format!("{field}.values");
        match operator {
            "In" | "NotIn" if values.is_empty() => {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::required(&values_field, detail));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(&values_field, detail));
            }
            "Gt" | "Lt" if values.len() != 1 => {
                let detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                errors.push(FieldError::required(&values_field, detail));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            other => {
                errors.push(FieldError::invalid(&format!("{field}.operator"), other, "not a valid selector operator"));
            }
        }
        let wrong = check_label_key(key);
        errors.extend(wrong.iter().map(|wrong| FieldError::invalid(&format!("{field}.key"), key, wrong)));
        for (index, value) in values.iter().filter_map(Value::as_str).enumerate() {
            let wrong = check_label_value(value);
            let field = format!("{values_field}[{index}]");
            errors.extend(wrong.iter().map(|wrong| FieldError::invalid(&field, value, wrong)));
        }
    }
    for (index, requirement) in items(term, &["matchFields"]).iter().enumerate() {
        let field = format!("{path}.matchFields[{index}]");
        let (key, operator) = (text(requirement, &["key"]), text(requirement, &["operator"]));
        let values = items(requirement, &["values"]);
        match operator {
            "In" | "NotIn" if values.len() != 1 => {
                let detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                errors.push(FieldError::required(&format!("{field}.values"), detail));
            }
            "In" | "NotIn" => {}
            other => {
                errors.push(FieldError::invalid(&format!("{field}.operator"), other, "not a valid selector operator"));
            }
        }
        if key != "metadata.name" {
            let detail = "not a valid field selector key";
            errors.push(FieldError::invalid(&format!("{field}.key"), key, detail));
        }
    }
}

fn pod_term(term: &Value, path: &str, errors: &mut Vec<FieldError>) {
    validate_label_selector(at(term, &["labelSelector"]), &format!("{path}.labelSelector"), errors);
    validate_label_selector(at(term, &["namespaceSelector"]), &format!("{path}.namespaceSelector"), errors);
    for name in items(term, &["namespaces"]).iter().filter_map(Value::as_str) {
        let field = format!("{path}.namespace");
        errors.extend(check_label(name).iter().map(|wrong| FieldError::invalid(&field, name, wrong)));
    }
    let (key, field) = (text(term, &["topologyKey"]), format!("{path}.topologyKey"));
    if key.is_empty() {
        errors.push(FieldError::required(&field, "can not be empty"));
    }
    errors.extend(check_qualified_name(key).iter().map(|wrong| FieldError::invalid(&field, key, wrong)));
}

/// `matchLabels` and `matchExpressions`, wherever they stand.
pub fn validate_label_selector(selector: &Value, path: &str, errors: &mut Vec<FieldError>) {
    errors.extend(validate_labels(at(selector, &["matchLabels"]), &format!("{path}.matchLabels")));
    for (index, requirement) in items(selector, &["matchExpressions"]).iter().enumerate() {
        let field = format!("{path}.matchExpressions[{index}]");
        let values = items(requirement, &["values"]);
        let values_field = format!("{field}.values");
        match text(requirement, &["operator"]) {
            "In" | "NotIn" if values.is_empty() => {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::required(&values_field, detail));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(&values_field, detail));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => {
                errors.push(FieldError::invalid(&format!("{field}.operator"), other, "not a valid selector operator"));
            }
        }
        let key = text(requirement, &["key"]);
        let wrong = check_label_key(key);
        errors.extend(wrong.iter().map(|wrong| FieldError::invalid(&format!("{field}.key"), key, wrong)));
    }
}
