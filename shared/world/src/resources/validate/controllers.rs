//! Rules for what makes pods: selectors that match their templates and never change.

use super::metadata::validate_labels;
use super::pod::validate_pod_spec;
use super::{fixed, not_negative};
use crate::resources::errors::{FieldError, quote};
use crate::resources::look::{at, entries, has, items, number, text};
use serde_json::Value;

pub fn deployment(object: &Value) -> Vec<FieldError> {
    let mut errors = common(object, "deployment");
    let spec = at(object, &["spec"]);
    match text(spec, &["strategy", "type"]) {
        "Recreate" if has(spec, &["strategy", "rollingUpdate"]) => errors.push(FieldError::forbidden(
            "spec.strategy.rollingUpdate",
            "may not be specified when strategy `type` is 'Recreate'",
        )),
        "Recreate" => {}
        "RollingUpdate" => {
            let zero = |name: &str| {
                let amount = at(spec, &["strategy", "rollingUpdate", name]);
                amount.as_i64() == Some(0) || amount == "0%"
            };
            if zero("maxUnavailable") && zero("maxSurge") {
                errors.push(FieldError::invalid(
                    "spec.strategy.rollingUpdate.maxUnavailable",
                    at(spec, &["strategy", "rollingUpdate", "maxUnavailable"]).clone(),
                    "may not be 0 when `maxSurge` is 0",
                ));
            }
        }
        other => {
            let error = FieldError::not_supported("spec.strategy", other, &["Recreate", "RollingUpdate"]);
            errors.push(error.shown_as(format!("{{\"Type\":{},\"RollingUpdate\":null}}", quote(other))));
        }
    }
    for field in ["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"] {
        errors.extend(not_negative(&format!("spec.{field}"), at(spec, &[field])));
    }
    if let Some(deadline) = number(spec, &["progressDeadlineSeconds"])
        && deadline <= number(spec, &["minReadySeconds"]).unwrap_or_default()
    {
        errors.push(FieldError::invalid(
            "spec.progressDeadlineSeconds",
            deadline,
            "must be greater than minReadySeconds",
        ));
    }
    errors
}

pub fn stateful_set(object: &Value) -> Vec<FieldError> {
    let mut errors = common(object, "statefulset");
    let policy = text(object, &["spec", "podManagementPolicy"]);
    if !matches!(policy, "OrderedReady" | "Parallel") {
        let detail = "must be 'OrderedReady' or 'Parallel'";
        errors.push(FieldError::invalid("spec.podManagementPolicy", policy, detail));
    }
    let strategy = text(object, &["spec", "updateStrategy", "type"]);
    if !matches!(strategy, "RollingUpdate" | "OnDelete") {
        let error = FieldError::invalid("spec.updateStrategy", strategy, "must be 'RollingUpdate' or 'OnDelete'");
        errors.push(error.shown_as(format!("{{\"Type\":{},\"RollingUpdate\":null}}", quote(strategy))));
    }
    errors
}

pub fn daemon_set(object: &Value) -> Vec<FieldError> {
    let mut errors = common(object, "daemonset");
    if number(object, &["spec", "template", "spec", "activeDeadlineSeconds"]).is_some() {
        let field = "spec.template.spec.activeDeadlineSeconds";
        errors.push(FieldError::forbidden(field, "activeDeadlineSeconds in DaemonSet is not Supported"));
    }
    let strategy = text(object, &["spec", "updateStrategy", "type"]);
    if !matches!(strategy, "RollingUpdate" | "OnDelete") {
        let error = FieldError::not_supported("spec.updateStrategy", strategy, &["RollingUpdate", "OnDelete"]);
        errors.push(error.shown_as(format!("{{\"Type\":{},\"RollingUpdate\":null}}", quote(strategy))));
    }
    errors
}

pub fn replica_set(object: &Value) -> Vec<FieldError> {
    common(object, "deployment")
}

pub fn job(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = at(object, &["spec"]);
    for field in ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"] {
        errors.extend(not_negative(&format!("spec.{field}"), at(spec, &[field])));
    }
    match at(spec, &["selector"]) {
        Value::Null => errors.push(FieldError::required("spec.selector", "")),
        selector if !matches(selector, at(spec, &["template", "metadata", "labels"])) => errors.push(mismatch(spec)),
        _ => {}
    }
    errors.extend(validate_pod_spec(at(spec, &["template", "spec"]), "spec.template.spec"));
    match text(spec, &["template", "spec", "restartPolicy"]) {
        "OnFailure" | "Never" => {}
        // Always is what the server filled in.
        "Always" => {
            let detail = "valid values: \"OnFailure\", \"Never\"";
            errors.push(FieldError::required("spec.template.spec.restartPolicy", detail));
        }
        other => {
            errors.push(FieldError::not_supported("spec.template.spec.restartPolicy", other, &["OnFailure", "Never"]))
        }
    }
    let mode = text(spec, &["completionMode"]);
    if !["", "Indexed", "NonIndexed"].contains(&mode) {
        errors.push(FieldError::not_supported("spec.completionMode", mode, &["NonIndexed", "Indexed"]));
    }
    if mode == "Indexed" && !has(spec, &["completions"]) {
        errors.push(FieldError::required("spec.completions", "when completion mode is Indexed"));
    }
    errors
}

pub fn selector_is_fixed(object: &Value, old: &Value) -> Vec<FieldError> {
    fixed("spec.selector", at(object, &["spec", "selector"]), at(old, &["spec", "selector"])).into_iter().collect()
}

pub fn stateful_set_update(object: &Value, old: &Value) -> Vec<FieldError> {
    let free = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    ];
    let frozen = |object: &Value| {
        let mut spec = at(object, &["spec"]).clone();
        if let Some(map) = spec.as_object_mut() {
            map.retain(|name, _| !free.contains(&name.as_str()));
        }
        spec
    };
    if frozen(object) == frozen(old) {
        return Vec::new();
    }
    vec![FieldError::forbidden(
        "spec",
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
         'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    )]
}

pub fn job_update(object: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["completions", "selector", "template", "completionMode", "podFailurePolicy", "backoffLimitPerIndex"] {
        // A suspended job that never started may still be given other nodes; an indexed one may be resized.
        let suspended = at(old, &["spec", "suspend"]) == true && !has(old, &["status", "startTime"]);
        let indexed = text(old, &["spec", "completionMode"]) == "Indexed";
        if (field == "template" && suspended) || (field == "completions" && indexed) {
            continue;
        }
        errors.extend(fixed(&format!("spec.{field}"), at(object, &["spec", field]), at(old, &["spec", field])));
    }
    errors
}

fn common(object: &Value, noun: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = at(object, &["spec"]);
    errors.extend(not_negative("spec.replicas", at(spec, &["replicas"])));
    let labels = at(spec, &["template", "metadata", "labels"]);
    match at(spec, &["selector"]) {
        Value::Null => {
            errors.push(FieldError::required("spec.selector", ""));
            errors.push(mismatch(spec));
        }
        selector
            if entries(selector, &["matchLabels"]).is_empty() && items(selector, &["matchExpressions"]).is_empty() =>
        {
            let detail = format!("empty selector is invalid for {noun}");
            errors.push(FieldError::invalid("spec.selector", selector.clone(), &detail));
        }
        selector => {
            errors.extend(validate_labels(at(selector, &["matchLabels"]), "spec.selector.matchLabels"));
            if !matches(selector, labels) {
                errors.push(mismatch(spec));
            }
        }
    }
    errors.extend(validate_labels(labels, "spec.template.labels"));
    errors.extend(validate_pod_spec(at(spec, &["template", "spec"]), "spec.template.spec"));
    let restart = text(spec, &["template", "spec", "restartPolicy"]);
    if restart != "Always" && matches!(restart, "OnFailure" | "Never") {
        errors.push(FieldError::not_supported("spec.template.spec.restartPolicy", restart, &["Always"]));
    }
    errors
}

fn mismatch(spec: &Value) -> FieldError {
    let labels = at(spec, &["template", "metadata", "labels"]).clone();
    FieldError::invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
}

/// Whether a label selector selects these labels.
pub fn matches(selector: &Value, labels: &Value) -> bool {
    let value_of = |key: &str| labels.get(key).and_then(Value::as_str);
    let all_labels = entries(selector, &["matchLabels"]).iter().all(|(key, value)| value_of(key) == value.as_str());
    all_labels
        && items(selector, &["matchExpressions"]).iter().all(|requirement| {
            let value = value_of(text(requirement, &["key"]));
            let listed = items(requirement, &["values"]).iter().any(|one| one.as_str() == value && value.is_some());
            match text(requirement, &["operator"]) {
                "In" => listed,
                "NotIn" => !listed,
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                _ => false,
            }
        })
}
