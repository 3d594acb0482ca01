//! Pods that a claim was made for: its room is kept for them until they are bound.

use jiff::{SignedDuration, Timestamp};
use model::{
    Claim, ConditionKind, Quantity, Resources, Uid, names,
    place::{NodeStage, PodThere, PodToPlace, Scene},
};
use std::collections::{BTreeMap, BTreeSet};

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

/// The claim that was made for a pod and is still coming.
pub fn nominated_on<'a>(pod: &Uid, claims: &'a [Claim], now: Timestamp) -> Option<&'a Claim> {
    claims.iter().find(|claim| holds(claim, now) && pods_of(claim).any(|uid| uid == pod.as_str()))
}

/// All pods that some claim was made for and is still coming.
pub fn spoken_for(claims: &[Claim], now: Timestamp) -> BTreeSet<&str> {
    claims.iter().filter(|claim| holds(claim, now)).flat_map(pods_of).collect()
}

/// Puts pods onto the claims that were made for them, as if they were bound, and returns them. One for which there is no room
/// any more, because others came first, is left to find a place anew.
pub(super) fn settle<'a>(scene: &mut Scene, claims: &'a [Claim], now: Timestamp) -> Vec<(PodToPlace, &'a Claim)> {
    let mut by_pod: BTreeMap<&str, (&Claim, Option<usize>)> = BTreeMap::new();
    for claim in claims.iter().filter(|claim| holds(claim, now)) {
        let node = node_of(scene, claim);
        for uid in pods_of(claim) {
            by_pod.entry(uid).or_insert((claim, node));
        }
    }
    let mut free: BTreeMap<usize, Option<Resources>> = BTreeMap::new();
    let (mut settled, mut waiting) = (vec![], vec![]);
    for pod in core::mem::take(&mut scene.pods) {
        let mut has_room = |node: usize| {
            let room = free.entry(node).or_insert_with(|| free_on(scene, node));
            room.as_mut().is_none_or(|room| takes(room, &pod.requests))
        };
        match by_pod.get(pod.uid.as_str()) {
            Some((claim, Some(node))) if has_room(*node) => {
                scene.bound.push(as_bound(&pod, *node));
                settled.push((pod, *claim));
            }
            // Nobody can tell yet what will come of it; it is coming for this pod all the same.
            Some((claim, None)) => settled.push((pod, *claim)),
            Some(_) | None => waiting.push(pod),
        }
    }
    scene.pods = waiting;
    settled
}

/// A pod that waits, as one that is there.
pub(super) fn as_bound(pod: &PodToPlace, node: usize) -> PodThere {
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

/// What nobody has of a node. A claim without a Node holds what it was made for, whatever is known of its machine by now.
fn free_on(scene: &Scene, node: usize) -> Option<Resources> {
    let there = scene.nodes.get(node).filter(|there| there.stage != NodeStage::InFlight)?;
    let mut free = there.allocatable.clone();
    for (name, amount) in &there.promised {
        let own = free.entry(name.clone()).or_default();
        *own = (*own).max(*amount);
    }
    for pod in scene.bound.iter().filter(|pod| pod.node == node) {
        take(&mut free, &pod.requests);
    }
    Some(free)
}

/// Takes it if there is enough. A resource that the node does not name appears late: nobody can tell yet.
fn takes(free: &mut Resources, wanted: &Resources) -> bool {
    let fits = wanted.iter().all(|(name, amount)| free.get(name).is_none_or(|has| has >= amount));
    if fits {
        take(free, wanted);
    }
    fits
}

fn take(free: &mut Resources, wanted: &Resources) {
    for (name, amount) in wanted {
        if let Some(has) = free.get_mut(name) {
            *has = Quantity::from_thousandths(has.thousandths() - amount.thousandths());
        }
    }
}
