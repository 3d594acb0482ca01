//! A node may go: it is a pool's and up, nothing forbids to disturb it, and the reason that is given is so.

use jiff::SignedDuration;

use super::facts::{NodeFacts, Situation, gpus, is_ignored};
use super::{Ways, health, when};
use crate::answer::{Answer, ClaimAnswer};
use crate::{Rule, Violation};

/// Of Nodes and claims: what keeps others from repairing them.
const DO_NOT_REPAIR: &str = "karpenter.sh/do-not-repair";

pub fn check(
    situation: &Situation<'_>,
    nodes: &[NodeFacts<'_>],
    answer: &Answer,
    ways: Ways,
    found: &mut Vec<Violation>,
) {
    for command in &answer.disruptions {
        for node in command.nodes.iter().filter_map(|name| nodes.iter().find(|node| node.name == name)) {
            let mut why = forbidden(situation, node, &command.reason, ways);
            let place = format!("node/{}", node.name);
            if let Some(pod) = answer.pods.iter().find(|pod| pod.on.as_deref() == Some(place.as_str())) {
                why = why.or_else(|| Some(format!("{} is about to come to it", pod.full_name())));
            }
            let made = |claim: &&ClaimAnswer| Some(claim.node_pool.as_str()) == node.pool_label;
            if is_fixed(node) && command.replacements.iter().filter(made).count() != command.nodes.len() {
                why = why.or_else(|| Some("its pool of fixed size gets no other node for it".to_owned()));
            }
            if let Some(why) = why {
                let message = format!("node {} goes for {}, but {why}", node.name, command.reason);
                found.push(Violation::of(Rule::Candidate, message));
            }
        }
    }
}

/// Why a node may not go for a reason.
pub fn forbidden(situation: &Situation<'_>, node: &NodeFacts<'_>, reason: &str, ways: Ways) -> Option<String> {
    let pool = match node.pool {
        Some(pool) => pool,
        None => return Some("no pool that is there made it".to_owned()),
    };
    let held = || node.pods.iter().find_map(|pod| situation.held(pod));
    let always = [
        (node.leaving, "it is being deleted"),
        (!node.initialized, "it is not up yet"),
        (node.is_disrupted(), "a command is at work on it"),
        (ways == Ways::Ours && node.is_control_plane(), "it is of the control plane"),
        (reason != "Unhealthy" && node.must_not_be_disrupted(), "it must not be disrupted"),
        (reason == "Unhealthy" && node.is_noted(DO_NOT_REPAIR), "it must not be repaired"),
        (reason != "Unhealthy" && node.is_rack() && node.is_cordoned(), "somebody works on it"),
        (pool.spec.replicas.is_some() && matches!(reason, "Empty" | "Underutilized"), "its pool has a fixed size"),
    ];
    if let Some((_, why)) = always.into_iter().find(|(is, _)| *is) {
        return Some(why.to_owned());
    }
    match reason {
        "Unhealthy" if health::is_about_to_go(node) => None,
        "Unhealthy" if !health::is_sick(node) => Some("it is well, or not sick for long enough".to_owned()),
        "Unhealthy" => {
            health::fails_with_others(node, &situation.nodes()).then(|| "too many others are sick".to_owned())
        }
        "Expired" if !node.expired() => Some("it is not too old".to_owned()),
        // Karpenter takes what has expired whatever is on it.
        "Expired" if ways == Ways::Karpenters => None,
        "Drifted" if node.drifted(situation.catalog).is_none() && !node.has_hash() => {
            Some("it is what its pool would make".to_owned())
        }
        "Expired" | "Drifted" => held().filter(|_| !node.termination_grace()),
        "Empty" => {
            let worker = node.moving().find(|pod| ways == Ways::Ours && gpus(pod) > 0.0 && !is_ignored(pod));
            let needed = || node.busy().or(worker).map(|pod| format!("{} needs it", pod.name));
            restless(node).or_else(held).or_else(needed)
        }
        "Underutilized" => restless(node).or_else(held).or_else(|| not_to_be_moved(situation, node, ways)),
        other => Some(format!("nobody knows {other} as a reason")),
    }
}

fn not_to_be_moved(situation: &Situation<'_>, node: &NodeFacts<'_>, ways: Ways) -> Option<String> {
    let policy = node.pool?.spec.disruption.consolidation_policy.as_str();
    if !matches!(policy, "WhenEmptyOrUnderutilized" | "Balanced") {
        return Some(format!("the policy of its pool is {policy}"));
    }
    if !node.has_pods() {
        return Some("nobody uses it: it is Empty".to_owned());
    }
    if situation.paid(node).is_none() {
        return Some("nobody knows what it costs".to_owned());
    }
    let worker = node.moving().find(|pod| gpus(pod) > 0.0);
    let may_move = ways == Ways::Karpenters || node.pool_note("pilotlight.dev/consolidate-gpu") == Some("true");
    worker.filter(|_| !may_move).map(|pod| format!("{} works on its GPUs", pod.name))
}

/// Its pool has so many nodes, whatever runs on them.
fn is_fixed(node: &NodeFacts<'_>) -> bool {
    node.pool.is_some_and(|pool| pool.spec.replicas.is_some())
}

/// Why its pool still waits.
pub fn restless(node: &NodeFacts<'_>) -> Option<String> {
    let pool = node.pool?;
    let text = &pool.spec.disruption.consolidate_after;
    let Some(wait) = when::duration(text) else {
        return Some(format!("its pool says consolidateAfter: {text}"));
    };
    let passed = |since| node.now.duration_since(since);
    if passed(node.last_event()) < wait {
        return Some(format!("a pod came or went {:#} ago", passed(node.last_event())));
    }
    if !node.is_rack() {
        return None;
    }
    let time = |key: &str, usual: i64| {
        node.pool_note(key).and_then(when::duration).unwrap_or(SignedDuration::from_mins(usual))
    };
    if passed(node.last_event()) < time("pilotlight.dev/idle-window", 5) {
        return Some("it has not been idle for long enough".to_owned());
    }
    let young = passed(node.up_since()) < time("pilotlight.dev/minimum-on-time", 15);
    let rests = node.switched_on().is_some_and(|at| passed(at) < time("pilotlight.dev/cool-down", 5));
    (young || rests).then(|| "it was switched on a short while ago".to_owned())
}

/// Whether it changed a short while ago. A pool that never takes nodes away to save money says nothing about that.
pub fn is_unsettled(node: &NodeFacts<'_>) -> bool {
    let waits = node.pool.is_some_and(|pool| when::duration(&pool.spec.disruption.consolidate_after).is_some());
    waits && restless(node).is_some()
}
