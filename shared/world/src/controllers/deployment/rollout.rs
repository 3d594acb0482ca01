//! The rollout: how many pods the new and the old ReplicaSets have at each step.

use serde_json::{Value, json};
use std::sync::Arc;

use super::{Sets, say};
use crate::{
    api::store::Stored,
    controllers::{context::Context, fields, kinds::Kind},
};

fn wanted(deployment: &Value) -> i64 {
    deployment["spec"]["replicas"].as_i64().unwrap_or(1)
}

fn size(set: &Value) -> i64 {
    set["spec"]["replicas"].as_i64().unwrap_or(1)
}

fn available(set: &Value) -> i64 {
    set["status"]["availableReplicas"].as_i64().unwrap_or(0)
}

fn is_recreate(deployment: &Value) -> bool {
    deployment["spec"]["strategy"]["type"] == "Recreate"
}

/// How many pods there may be too many, and how many may be missing. Never both nothing, or it could not move.
pub(super) fn slack(deployment: &Value) -> (i64, i64) {
    let rolling = &deployment["spec"]["strategy"]["rollingUpdate"];
    let quarter = json!("25%");
    let of = |field: &str| if rolling[field].is_null() { &quarter } else { &rolling[field] };
    let surge = fields::number_or_share(of("maxSurge"), wanted(deployment), true).unwrap_or(0);
    let missing = fields::number_or_share(of("maxUnavailable"), wanted(deployment), false).unwrap_or(0);
    if surge == 0 && missing == 0 { (0, 1) } else { (surge, missing) }
}

pub(super) fn annotations(deployment: &Value) -> Value {
    let surge = if is_recreate(deployment) { 0 } else { slack(deployment).0 };
    json!({
        "deployment.kubernetes.io/desired-replicas": wanted(deployment).to_string(),
        "deployment.kubernetes.io/max-replicas": (wanted(deployment) + surge).to_string(),
    })
}

/// The size a new set starts with.
pub(super) fn first_size(deployment: &Value, sets: &Sets) -> i64 {
    let old: i64 = sets.old.iter().map(|set| size(&set.value)).sum();
    if is_recreate(deployment) {
        return if old == 0 && sets.old.iter().all(|set| set.value["status"]["replicas"].as_i64().unwrap_or(0) == 0) {
            wanted(deployment)
        } else {
            0
        };
    }
    let room = wanted(deployment) + slack(deployment).0 - old;
    wanted(deployment).min(room).max(0)
}

pub(super) fn roll(context: &mut Context, deployment: &Value, new: &Arc<Stored>, sets: &Sets) {
    if deployment["spec"]["paused"] == true {
        if sets.old.iter().all(|set| size(&set.value) == 0) {
            scale(context, deployment, &new.value, wanted(deployment));
        }
        return;
    }
    if is_recreate(deployment) {
        recreate(context, deployment, new, sets);
        return;
    }
    let old: i64 = sets.old.iter().map(|set| size(&set.value)).sum();
    let (surge, missing) = slack(deployment);
    let room = wanted(deployment) + surge - old - size(&new.value);
    let next = if size(&new.value) > wanted(deployment) {
        wanted(deployment)
    } else {
        wanted(deployment).min(size(&new.value) + room.max(0))
    };
    scale(context, deployment, &new.value, next);
    let all = old + size(&new.value);
    let least = wanted(deployment) - missing;
    let mut surplus = all - least - (size(&new.value) - available(&new.value));
    let mut sizes: Vec<(Arc<Stored>, i64)> = sets.old.iter().map(|set| (set.clone(), size(&set.value))).collect();
    // Pods that do not work go first: they are no loss.
    for (set, left) in &mut sizes {
        let broken = (*left - available(&set.value)).clamp(0, surplus.max(0));
        *left -= broken;
        surplus -= broken;
    }
    let there: i64 = sets.old.iter().chain([new]).map(|set| available(&set.value)).sum();
    let mut spare = (there - least).min(surplus).max(0);
    for (_, left) in &mut sizes {
        let fewer = (*left).min(spare);
        *left -= fewer;
        spare -= fewer;
    }
    for (set, left) in sizes {
        scale(context, deployment, &set.value, left);
    }
}

fn recreate(context: &mut Context, deployment: &Value, new: &Arc<Stored>, sets: &Sets) {
    for set in &sets.old {
        scale(context, deployment, &set.value, 0);
    }
    let pods_left = sets.old.iter().any(|set| {
        context.view.controlled(Kind::Pod, fields::uid(&set.value)).iter().any(|(_, pod)| !fields::is_over(&pod.value))
    });
    if !pods_left {
        scale(context, deployment, &new.value, wanted(deployment));
    }
}

pub(super) fn scale(context: &mut Context, deployment: &Value, set: &Value, to: i64) {
    let at = (fields::namespace(set).to_owned(), fields::name(set).to_owned());
    let from = size(set);
    let marks = annotations(deployment);
    context.update(Kind::ReplicaSet, &at, |set| {
        set["spec"]["replicas"] = to.into();
        for (key, value) in marks.as_object().into_iter().flatten() {
            set["metadata"]["annotations"][key] = value.clone();
        }
    });
    if from != to {
        let direction = if to > from { "up" } else { "down" };
        say(context, deployment, &format!("Scaled {direction} replica set {} from {from} to {to}", at.1));
    }
}
