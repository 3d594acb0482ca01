//! The rows of what makes pods, and of what guards them.

use super::{age, containers, labels, selector};
use crate::resources::age::human_duration;
use crate::resources::look::{at, has, items, number, text};
use jiff::Timestamp;
use serde_json::{Value, json};

pub fn deployment(object: &Value, now: Timestamp) -> Vec<Value> {
    let [names, images] = containers(at(object, &["spec", "template", "spec"]));
    vec![
        json!(text(object, &["metadata", "name"])),
        json!(format!("{}/{}", count(object, "status", "readyReplicas"), count(object, "spec", "replicas"))),
        json!(count(object, "status", "updatedReplicas")),
        json!(count(object, "status", "availableReplicas")),
        json!(age(object, now)),
        names,
        images,
        json!(selector(at(object, &["spec", "selector"]))),
    ]
}

pub fn replica_set(object: &Value, now: Timestamp) -> Vec<Value> {
    let [names, images] = containers(at(object, &["spec", "template", "spec"]));
    vec![
        json!(text(object, &["metadata", "name"])),
        json!(count(object, "spec", "replicas")),
        json!(count(object, "status", "replicas")),
        json!(count(object, "status", "readyReplicas")),
        json!(age(object, now)),
        names,
        images,
        json!(selector(at(object, &["spec", "selector"]))),
    ]
}

pub fn stateful_set(object: &Value, now: Timestamp) -> Vec<Value> {
    let [names, images] = containers(at(object, &["spec", "template", "spec"]));
    vec![
        json!(text(object, &["metadata", "name"])),
        json!(format!("{}/{}", count(object, "status", "readyReplicas"), count(object, "spec", "replicas"))),
        json!(age(object, now)),
        names,
        images,
    ]
}

pub fn daemon_set(object: &Value, now: Timestamp) -> Vec<Value> {
    let [names, images] = containers(at(object, &["spec", "template", "spec"]));
    let mut row = vec![json!(text(object, &["metadata", "name"]))];
    let fields = [
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    ];
    row.extend(fields.map(|field| json!(count(object, "status", field))));
    row.extend([
        json!(labels(at(object, &["spec", "template", "spec", "nodeSelector"]))),
        json!(age(object, now)),
        names,
        images,
        json!(selector(at(object, &["spec", "selector"]))),
    ]);
    row
}

pub fn job(object: &Value, now: Timestamp) -> Vec<Value> {
    let succeeded = count(object, "status", "succeeded");
    let parallelism = count(object, "spec", "parallelism");
    let completions = match number(object, &["spec", "completions"]) {
        Some(wanted) => format!("{succeeded}/{wanted}"),
        None if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        None => format!("{succeeded}/1"),
    };
    let moment = |field: &str| text(object, &["status", field]).parse::<Timestamp>().ok();
    let duration = moment("startTime").map_or_else(String::new, |start| {
        let end = moment("completionTime").unwrap_or(now);
        human_duration(end.as_second() - start.as_second())
    });
    let [names, images] = containers(at(object, &["spec", "template", "spec"]));
    vec![
        json!(text(object, &["metadata", "name"])),
        json!(job_status(object)),
        json!(completions),
        json!(duration),
        json!(age(object, now)),
        names,
        images,
        json!(selector(at(object, &["spec", "selector"]))),
    ]
}

fn job_status(object: &Value) -> &'static str {
    let holds = |kind: &str| {
        let conditions = items(object, &["status", "conditions"]);
        conditions.iter().any(|one| text(one, &["type"]) == kind && text(one, &["status"]) == "True")
    };
    if holds("Complete") {
        "Complete"
    } else if holds("Failed") {
        "Failed"
    } else if has(object, &["metadata", "deletionTimestamp"]) {
        "Terminating"
    } else if holds("Suspended") {
        "Suspended"
    } else if holds("FailureTarget") {
        "FailureTarget"
    } else if holds("SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    }
}

pub fn controller_revision(object: &Value, now: Timestamp) -> Vec<Value> {
    let controller =
        items(object, &["metadata", "ownerReferences"]).iter().find(|one| at(one, &["controller"]) == true);
    let controller = controller.map_or_else(
        || "<none>".to_owned(),
        |owner| {
            let kind = text(owner, &["kind"]).to_lowercase();
            match text(owner, &["apiVersion"]).split_once('/') {
                Some((group, _)) => format!("{kind}.{group}/{}", text(owner, &["name"])),
                None => format!("{kind}/{}", text(owner, &["name"])),
            }
        },
    );
    let revision = number(object, &["revision"]).unwrap_or_default();
    vec![json!(text(object, &["metadata", "name"])), json!(controller), json!(revision), json!(age(object, now))]
}

pub fn disruption_budget(object: &Value, now: Timestamp) -> Vec<Value> {
    let limit = |field: &str| match at(object, &["spec", field]) {
        Value::Null => json!("N/A"),
        Value::String(share) => json!(share),
        number => json!(number.to_string()),
    };
    vec![
        json!(text(object, &["metadata", "name"])),
        limit("minAvailable"),
        limit("maxUnavailable"),
        json!(count(object, "status", "disruptionsAllowed")),
        json!(age(object, now)),
    ]
}

fn count(object: &Value, part: &str, field: &str) -> i64 {
    number(object, &[part, field]).unwrap_or_default()
}
