//! Pods that a claim was made for: its room is kept for them until they are bound.

use jiff::{SignedDuration, Timestamp};
use model::{
    Claim, ConditionKind, names,
    place::{NodeStage, PodThere, PodToPlace, Scene},
};
use std::collections::BTreeMap;

use super::started_anew;

/// How long the scheduler may take to bind pods to a node that is ready for them. After that they find their place anew.
const UNTIL_BOUND: SignedDuration = SignedDuration::from_secs(60);

/// The UIDs that stand on a claim.
fn pods_of(claim: &Claim) -> impl Iterator<Item = &str> {
    claim.annotations.get(names::PODS).into_iter().flat_map(|list| list.split(',')).filter(|uid| !uid.is_empty())
}

/// Whether what stands on the claim still holds: it is coming, or came a moment ago.
fn holds(claim: &Claim, now: Timestamp) -> bool {
    let ready_since = claim.condition(ConditionKind::Initialized).filter(|_| claim.is(ConditionKind::Initialized));
    let waits = ready_since.is_none_or(|ready| now.duration_since(ready.since) < UNTIL_BOUND);
    claim.deleted_at.is_none() && waits
}

/// By the UID of a pod, the claim that was made for it and is still coming.
pub fn nominations(claims: &[Claim], now: Timestamp) -> BTreeMap<&str, &Claim> {
    let mut by_pod = BTreeMap::new();
    for claim in claims.iter().filter(|claim| holds(claim, now)) {
        for uid in pods_of(claim) {
            by_pod.entry(uid).or_insert(claim);
        }
    }
    by_pod
}

/// Puts pods onto the claims that were made for them, as if they were bound, and returns them. Once there is a Node its room is
/// real, and others may have come first: those pods are placed with the rest, there if it still holds.
pub(crate) fn settle<'a>(scene: &mut Scene, claims: &'a [Claim], now: Timestamp) -> Vec<(PodToPlace, &'a Claim)> {
    started_anew::shed(scene, claims);
    let by_pod = nominations(claims, now);
    let nodes: BTreeMap<&str, usize> =
        claims.iter().filter_map(|claim| Some((claim.key.claim.as_str(), node_of(scene, claim)?))).collect();
    let is_there = |node: usize| scene.nodes.get(node).is_some_and(|node| node.stage != NodeStage::InFlight);
    let (mut settled, mut waiting) = (vec![], vec![]);
    for mut pod in core::mem::take(&mut scene.pods) {
        let nominated =
            by_pod.get(pod.uid.as_str()).map(|claim| (*claim, nodes.get(claim.key.claim.as_str()).copied()));
        match nominated {
            Some((_, Some(node))) if is_there(node) => {
                pod.planned = Some(node);
                waiting.push(pod);
            }
            Some((claim, node)) => {
                // Where nobody can tell yet what will come of the claim, it is coming for this pod all the same.
                scene.bound.extend(node.map(|node| as_bound(&pod, node)));
                settled.push((pod, claim));
            }
            None => waiting.push(pod),
        }
    }
    scene.pods = waiting;
    settled
}

/// A pod that waits, as one that is there.
pub(crate) fn as_bound(pod: &PodToPlace, node: usize) -> PodThere {
    PodThere {
        namespace: pod.namespace.clone(),
        name: pod.name.clone(),
        node,
        labels: pod.labels.clone(),
        requests: pod.requests.clone(),
        anti_affinity: pod.anti_affinity.clone(),
        host_ports: pod.host_ports.clone(),
        volumes: pod.volumes.iter().filter_map(|volume| volume.handle.clone()).collect(),
        terminating: false,
        daemon: None,
    }
}

/// Where the claim stands in the scene: under its Node's name, or under its own while it has none.
fn node_of(scene: &Scene, claim: &Claim) -> Option<usize> {
    let called = |name: &str| scene.nodes.iter().position(|node| node.name.as_str() == name && !node.deleting);
    claim.status.node.as_deref().and_then(called).or_else(|| called(claim.key.name.as_str()))
}
