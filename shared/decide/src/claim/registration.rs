//! A machine has become a Node: the claim's labels, annotations and taints go onto it, and the claim owns it.

use core::time::Duration;
use model::{
    Action, ConditionKind, Effect, FinalizerChange, LaunchRecord, Next, Node, NodeChange, OwnerChange, Plan, Taint,
    Truth, names,
};

use super::{Ending, Situation, give_up, is_giving_up, later, words};

use ConditionKind::{Launched, Registered};

/// A node that joins wakes us by an event; this is for when that gets lost.
const LOOK_AGAIN: Duration = Duration::from_secs(15);

/// What stays on the claim: our own notes, and those of tools that apply it.
const NOT_COPIED: [&str; 3] =
    [names::LAUNCH, names::TERMINATION_TIMESTAMP, "kubectl.kubernetes.io/last-applied-configuration"];

pub fn plan(seen: &Situation) -> Vec<Action> {
    match seen.nodes.as_slice() {
        [] if is_overdue(seen) => vec![Action::DeleteClaim],
        [node] => {
            let change = registering(seen, node);
            let is_change = change != NodeChange::new(node.name.clone(), node.version.clone());
            is_change.then_some(Action::ChangeNode(change)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn is_overdue(seen: &Situation) -> bool {
    let Some(patience) = seen.policy.registration else { return false };
    let accepted = seen.claim.record().and_then(|record: &LaunchRecord| record.accepted_at);
    let begin = accepted.or_else(|| seen.claim.condition(Launched).map(|launched| launched.since));
    begin.is_some_and(|begin| seen.now.duration_since(begin) > patience)
}

/// Only what differs, so that a second time there is nothing to write.
fn registering(seen: &Situation, node: &Node) -> NodeChange {
    let claim = &seen.claim;
    let mut change = NodeChange::new(node.name.clone(), node.version.clone());
    let own =
        [(names::REGISTERED.to_owned(), "true".to_owned()), (names::CLAIM_UID.to_owned(), claim.key.claim.to_string())];
    for (key, value) in claim.labels.clone().into_iter().chain(own) {
        if node.labels.get(&key) != Some(&value) {
            change.labels.insert(key, Some(value));
        }
    }
    for (key, value) in claim.annotations.iter().filter(|(key, _)| !NOT_COPIED.contains(&key.as_str())) {
        if node.annotations.get(key) != Some(value) {
            change.annotations.insert(key.clone(), Some(value.clone()));
        }
    }
    // A machine of our own comes back under its old Node: what said that it was off goes.
    if node.annotations.contains_key(names::OFF_SINCE) {
        change.annotations.insert(names::OFF_SINCE.to_owned(), None);
    }
    if node.labels.contains_key(names::EXCLUDE_FROM_BALANCERS) {
        change.labels.insert(names::EXCLUDE_FROM_BALANCERS.to_owned(), None);
    }
    let taints = taints(seen, node);
    if taints != node.taints {
        change.taints = Some(taints);
    }
    if !node.finalizers.contains(names::FINALIZER) {
        change.finalizer = FinalizerChange::Add;
    }
    if !node.owners.contains(&claim.key.claim) {
        change.owner = OwnerChange::Add(claim.key.clone());
    }
    change
}

fn taints(seen: &Situation, node: &Node) -> Vec<Taint> {
    let passing = [names::UNREGISTERED_TAINT, names::DISRUPTED_TAINT, names::OUT_OF_SERVICE_TAINT];
    let mut taints: Vec<Taint> =
        node.taints.iter().filter(|taint| !passing.contains(&taint.key.as_str())).cloned().collect();
    if node.labels.get(names::DO_NOT_SYNC_TAINTS).is_some_and(|value| value == "true") {
        return taints;
    }
    // Whoever waits for a startup taint removes it once: what was written before is not put back.
    let key = &seen.claim.key;
    let written = node.labels.get(names::REGISTERED).is_some_and(|value| value == "true")
        && node.labels.get(names::CLAIM_UID).is_some_and(|uid| *uid == key.claim.to_string());
    let startup = seen.claim.startup_taints.iter().filter(|_| !written);
    for taint in seen.claim.taints.iter().chain(startup) {
        if !taints.iter().any(|present| present.is_same(taint)) {
            taints.push(taint.clone());
        }
    }
    taints
}

pub fn conclude(ending: &mut Ending, plan: &Plan) -> Next {
    let seen = ending.seen;
    if is_giving_up(plan) {
        let patience = seen.policy.registration.unwrap_or_default();
        let message = format!("the machine runs, but its node did not join within {}", words::time(patience));
        return give_up(ending, "RegistrationTimeout", message);
    }
    match seen.nodes.as_slice() {
        [] => {
            let message = "the machine runs; its node has not joined yet";
            ending.set(Registered, Truth::Unknown, "NodeNotFound", message);
            later(message, LOOK_AGAIN)
        }
        [node] => registered(ending, node),
        several => {
            let listed: Vec<&str> = several.iter().map(|node| node.name.as_str()).collect();
            let message = format!("several nodes say that they are this machine: {}", listed.join(", "));
            ending.warn(Registered, Truth::False, "MultipleNodesFound", &message);
            later(&message, Duration::from_secs(60))
        }
    }
}

fn registered(ending: &mut Ending, node: &Node) -> Next {
    let unmarked = !node.labels.contains_key(names::REGISTERED)
        && !node.taints.iter().any(|taint| taint.key == names::UNREGISTERED_TAINT && taint.effect == Effect::NoExecute);
    let status = &mut ending.conclusion.status;
    status.node = Some(node.name.to_string());
    if let Some(id) = &node.provider_id {
        status.provider_id = Some(id.clone());
    }
    if status.image.is_none() {
        status.image = node.os_image.clone();
    }
    let hint = if unmarked { "; it came without the taint that keeps pods away until now" } else { "" };
    ending.note(false, "Registered", format!("node {} has joined{hint}", node.name));
    ending.set(Registered, Truth::True, "Registered", &format!("node {} has joined", node.name));
    Next::AtOnce
}
