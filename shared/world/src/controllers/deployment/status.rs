//! The status of a Deployment, as `kubectl rollout status` reads it.

use serde_json::Value;
use std::{sync::Arc, time::Duration};

use super::{Sets, rollout::slack};
use crate::{
    api::store::{ObjectKey, Stored},
    controllers::{
        context::Context,
        fields::{self, Condition},
        kinds::Kind,
        timers::{Alarm, later},
    },
};

struct Numbers {
    wanted: i64,
    all: i64,
    asked: i64,
    updated: i64,
    ready: i64,
    available: i64,
}

pub(super) fn set(context: &mut Context, at: &ObjectKey, deployment: &Value, sets: &Sets, created: bool) {
    let every = || sets.old.iter().chain(sets.new.as_ref());
    let sum = |field: &str| every().map(|set| number(set, field)).sum();
    let numbers = Numbers {
        wanted: deployment["spec"]["replicas"].as_i64().unwrap_or(1),
        all: sum("replicas"),
        asked: every().map(|set| set.value["spec"]["replicas"].as_i64().unwrap_or(1)).sum(),
        updated: sets.new.as_ref().map_or(0, |new| number(new, "replicas")),
        ready: sum("readyReplicas"),
        available: sum("availableReplicas"),
    };
    let name = sets.new.as_ref().map(|new| fields::name(&new.value).to_owned()).unwrap_or_default();
    let (now, moment) = (context.stamp(), context.now());
    let missing = if deployment["spec"]["strategy"]["type"] == "Recreate" { 0 } else { slack(deployment).1 };
    let deadline = deployment["spec"]["progressDeadlineSeconds"].as_u64().unwrap_or(600);
    let mut ring_at = None;
    context.update(Kind::Deployment, at, |deployment| {
        let before = deployment["status"].clone();
        write_numbers(deployment, &numbers);
        let enough = numbers.available >= numbers.wanted - missing;
        let (status, reason, message) = if enough {
            ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
        } else {
            ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
        };
        set_condition(deployment, &Condition { kind: "Available", status, reason, message }, &now);
        if deployment["spec"]["paused"] == true || name.is_empty() {
            return;
        }
        let complete =
            numbers.updated == numbers.wanted && numbers.all == numbers.wanted && numbers.available == numbers.wanted;
        let progressed = ["updatedReplicas", "readyReplicas", "availableReplicas", "replicas"];
        let progressed = progressed.iter().any(|field| before[*field] != deployment["status"][*field]);
        let last = fields::condition(deployment, "Progressing").cloned();
        let since = last.as_ref().and_then(|last| fields::time(&last["lastUpdateTime"])).unwrap_or(moment);
        let due = later(since, Duration::from_secs(deadline));
        if complete {
            let message = format!("ReplicaSet {name:?} has successfully progressed.");
            set_condition(
                deployment,
                &Condition { kind: "Progressing", status: "True", reason: "NewReplicaSetAvailable", message: &message },
                &now,
            );
        } else if created {
            let message = format!("Created new replica set {name:?}");
            set_condition(
                deployment,
                &Condition { kind: "Progressing", status: "True", reason: "NewReplicaSetCreated", message: &message },
                &now,
            );
            ring_at = Some(later(moment, Duration::from_secs(deadline)));
        } else if progressed || last.is_none() {
            let message = format!("ReplicaSet {name:?} is progressing.");
            set_condition(
                deployment,
                &Condition { kind: "Progressing", status: "True", reason: "ReplicaSetUpdated", message: &message },
                &now,
            );
            ring_at = Some(later(moment, Duration::from_secs(deadline)));
        } else if due <= moment {
            let message = format!("ReplicaSet {name:?} has timed out progressing.");
            set_condition(
                deployment,
                &Condition {
                    kind: "Progressing",
                    status: "False",
                    reason: "ProgressDeadlineExceeded",
                    message: &message,
                },
                &now,
            );
        }
    });
    if let Some(ring_at) = ring_at {
        context
            .timers
            .set(later(ring_at, Duration::from_secs(1)), Alarm::Again { kind: Kind::Deployment, key: at.clone() });
    }
}

fn number(set: &Arc<Stored>, field: &str) -> i64 {
    set.value["status"][field].as_i64().unwrap_or(0)
}

fn write_numbers(deployment: &mut Value, numbers: &Numbers) {
    deployment["status"]["observedGeneration"] = fields::generation(deployment).into();
    let counted = [
        ("replicas", numbers.all),
        ("updatedReplicas", numbers.updated),
        ("readyReplicas", numbers.ready),
        ("availableReplicas", numbers.available),
        ("unavailableReplicas", (numbers.asked - numbers.available).max(0)),
    ];
    for (field, number) in counted {
        match deployment["status"].as_object_mut() {
            Some(status) if number == 0 => _ = status.remove(field),
            _ => deployment["status"][field] = number.into(),
        }
    }
}

/// A Deployment's conditions also carry when they last changed in any way.
fn set_condition(deployment: &mut Value, condition: &Condition<'_>, now: &str) {
    let same = fields::condition(deployment, condition.kind).is_some_and(|before| {
        before["status"] == condition.status
            && before["reason"] == condition.reason
            && before["message"] == condition.message
    });
    let lasting = condition.reason == "NewReplicaSetAvailable" || condition.kind == "Available";
    if !(same && lasting) {
        fields::set_condition(deployment, condition, now, &["lastUpdateTime"]);
    }
}
