//! The defaults of what makes pods.

use super::pod::default_pod_template;
use crate::resources::look::{at, default_text, default_to, each_item, entries, has, object_at, text};
use serde_json::{Value, json};

pub fn deployment(object: &mut Value) {
    let spec = object_at(object, "spec");
    default_to(spec, "replicas", 1);
    let strategy = object_at(spec, "strategy");
    default_text(strategy, "type", "RollingUpdate");
    if text(strategy, &["type"]) == "RollingUpdate" {
        let rolling = object_at(strategy, "rollingUpdate");
        default_to(rolling, "maxUnavailable", "25%");
        default_to(rolling, "maxSurge", "25%");
    }
    default_to(spec, "revisionHistoryLimit", 10);
    default_to(spec, "progressDeadlineSeconds", 600);
    template(spec);
}

pub fn stateful_set(object: &mut Value) {
    let spec = object_at(object, "spec");
    default_text(spec, "podManagementPolicy", "OrderedReady");
    let strategy = object_at(spec, "updateStrategy");
    default_text(strategy, "type", "RollingUpdate");
    if text(strategy, &["type"]) == "RollingUpdate" {
        default_to(object_at(strategy, "rollingUpdate"), "partition", 0);
    }
    let retention = object_at(spec, "persistentVolumeClaimRetentionPolicy");
    default_text(retention, "whenDeleted", "Retain");
    default_text(retention, "whenScaled", "Retain");
    default_to(spec, "replicas", 1);
    default_to(spec, "revisionHistoryLimit", 10);
    each_item(spec, "volumeClaimTemplates", &mut |claim| {
        default_text(claim, "apiVersion", "v1");
        default_text(claim, "kind", "PersistentVolumeClaim");
        default_to(object_at(claim, "spec"), "volumeMode", "Filesystem");
        claim["status"] = json!({"phase": "Pending"});
    });
    template(spec);
}

pub fn daemon_set(object: &mut Value) {
    let spec = object_at(object, "spec");
    let strategy = object_at(spec, "updateStrategy");
    default_text(strategy, "type", "RollingUpdate");
    if text(strategy, &["type"]) == "RollingUpdate" {
        let rolling = object_at(strategy, "rollingUpdate");
        default_to(rolling, "maxUnavailable", 1);
        default_to(rolling, "maxSurge", 0);
    }
    default_to(spec, "revisionHistoryLimit", 10);
    template(spec);
}

pub fn replica_set(object: &mut Value) {
    let spec = object_at(object, "spec");
    default_to(spec, "replicas", 1);
    template(spec);
}

pub fn job(object: &mut Value) {
    let spec = object_at(object, "spec");
    // A job with neither runs once; one with only a parallelism is a work queue and has no count.
    if !has(spec, &["completions"]) && !has(spec, &["parallelism"]) {
        default_to(spec, "completions", 1);
    }
    default_to(spec, "parallelism", 1);
    let backoff = if has(spec, &["backoffLimitPerIndex"]) { i32::MAX } else { 6 };
    default_to(spec, "backoffLimit", backoff);
    default_text(spec, "completionMode", "NonIndexed");
    default_to(spec, "suspend", false);
    default_to(spec, "manualSelector", false);
    let replacement = if has(spec, &["podFailurePolicy"]) { "Failed" } else { "TerminatingOrFailed" };
    default_to(spec, "podReplacementPolicy", replacement);
    template(spec);
    labels_from_template(object);
}

/// Once a new job has its uid: the selector and the template labels that make its pods its own.
pub fn generate_job_selector(object: &mut Value) {
    if at(object, &["spec", "manualSelector"]) == true {
        return;
    }
    // Labels that came from the template follow it.
    let follows = at(object, &["metadata", "labels"]) == at(object, &["spec", "template", "metadata", "labels"]);
    if follows && let Some(metadata) = object_at(object, "metadata").as_object_mut() {
        metadata.remove("labels");
    }
    let uid = at(object, &["metadata", "uid"]).clone();
    let name = at(object, &["metadata", "name"]).clone();
    let spec = object_at(object, "spec");
    let labels = object_at(object_at(object_at(spec, "template"), "metadata"), "labels");
    for (key, value) in [("controller-uid", &uid), ("job-name", &name)] {
        labels[key] = value.clone();
        labels[format!("batch.kubernetes.io/{key}")] = value.clone();
    }
    object_at(object_at(spec, "selector"), "matchLabels")["batch.kubernetes.io/controller-uid"] = uid;
    labels_from_template(object);
}

fn labels_from_template(object: &mut Value) {
    let labels = at(object, &["spec", "template", "metadata", "labels"]).clone();
    if entries(object, &["metadata", "labels"]).is_empty() && !entries(&labels, &[]).is_empty() {
        object_at(object, "metadata")["labels"] = labels;
    }
}

fn template(spec: &mut Value) {
    let template = object_at(spec, "template");
    object_at(template, "metadata");
    default_pod_template(template);
}
