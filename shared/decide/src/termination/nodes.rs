//! What is done to the Nodes themselves: first to empty them, at the end to let them go.

use jiff::Timestamp;
use model::{
    Effect, FinalizerChange, Node, NodeChange, ObjectName, OwnerChange, Pod, PodKind, Taint, Uid, VolumeAttached, names,
};

use super::{Kept, Situation};

pub(super) fn out_of_service() -> Taint {
    Taint { key: names::OUT_OF_SERVICE_TAINT.to_owned(), value: "nodeshutdown".to_owned(), effect: Effect::NoExecute }
}

pub(super) fn is_closed(node: &Node) -> bool {
    has_taint(node, &Taint::disrupted())
}

pub(super) fn any_ready(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| node.ready == model::Truth::True)
}

/// What has to be written before a node may be emptied: nothing new is scheduled or balanced to it.
///
/// The finalizer comes with it: a Node that is deleted without it is gone at once, and its pods with it, undrained.
pub(super) fn closing(node: &Node, stays: bool) -> Option<NodeChange> {
    let mut change = NodeChange::new(node.name.clone(), node.version.clone());
    if !is_closed(node) {
        change.taints = Some(with_taint(node.taints.clone(), Taint::disrupted()));
    }
    if !node.labels.contains_key(names::EXCLUDE_FROM_BALANCERS) {
        change.labels.insert(names::EXCLUDE_FROM_BALANCERS.to_owned(), Some("karpenter".to_owned()));
    }
    // Kubernetes lets nobody add a finalizer to what is being deleted.
    if !stays && node.deleted_at.is_none() && !node.finalizers.contains(names::FINALIZER) {
        change.finalizer = FinalizerChange::Add;
    }
    changes_something(&change).then_some(change)
}

pub(super) fn deletion(node: &Node, stays: bool) -> Option<(ObjectName, Uid)> {
    (!stays && node.deleted_at.is_none()).then(|| (node.name.clone(), node.uid.clone()))
}

/// What is written once the machine is confirmed gone.
pub(super) fn releases(situation: &Situation, kept: &Kept) -> Vec<NodeChange> {
    let nodes = situation.nodes.iter();
    if kept.node_stays {
        let unclean = situation.pods.iter().any(was_cut_off);
        nodes.filter_map(|node| switched_off(node, &situation.claim.key.claim, unclean, situation.now)).collect()
    } else {
        nodes.filter_map(released).collect()
    }
}

/// It ran when the machine went. A daemon pod does not count: it belongs to the node and waits for it.
pub(super) fn was_cut_off(pod: &Pod) -> bool {
    pod.kind == PodKind::Ordinary && !pod.terminal
}

pub(super) fn held_volumes(attachments: &[VolumeAttached]) -> Vec<&ObjectName> {
    attachments.iter().filter(|volume| !volume.of_staying_pod).map(|volume| &volume.name).collect()
}

fn released(node: &Node) -> Option<NodeChange> {
    let mut change = NodeChange::new(node.name.clone(), node.version.clone());
    change.finalizer = finalizer_off(node);
    changes_something(&change).then_some(change)
}

/// The Node of a machine that is off: nobody's, closed, and no longer what a claim had made of it.
fn switched_off(node: &Node, claim: &Uid, unclean: bool, now: Timestamp) -> Option<NodeChange> {
    let mut change = NodeChange::new(node.name.clone(), node.version.clone());
    change.finalizer = finalizer_off(node);
    if node.owners.contains(claim) {
        change.owner = OwnerChange::Remove(claim.clone());
    }
    // The next claim that gets the machine finds the Node free.
    for label in [names::REGISTERED, names::INITIALIZED, names::CLAIM_UID] {
        if node.labels.contains_key(label) {
            change.labels.insert(label.to_owned(), None);
        }
    }
    if node.annotations.contains_key(names::ORPHAN_SINCE) {
        change.annotations.insert(names::ORPHAN_SINCE.to_owned(), None);
    }
    if unclean && !has_taint(node, &out_of_service()) {
        change.taints = Some(with_taint(node.taints.clone(), out_of_service()));
    }
    // Alone it is not worth a write: then an earlier step has written all of this, and the time is right.
    if changes_something(&change) || !node.annotations.contains_key(names::OFF_SINCE) {
        change.annotations.insert(names::OFF_SINCE.to_owned(), Some(whole_second(now).to_string()));
    }
    changes_something(&change).then_some(change)
}

fn finalizer_off(node: &Node) -> FinalizerChange {
    if node.finalizers.contains(names::FINALIZER) { FinalizerChange::Remove } else { FinalizerChange::Keep }
}

fn changes_something(change: &NodeChange) -> bool {
    *change != NodeChange::new(change.name.clone(), change.version.clone())
}

fn has_taint(node: &Node, taint: &Taint) -> bool {
    node.taints.iter().any(|own| own.is_same(taint))
}

fn with_taint(mut taints: Vec<Taint>, taint: Taint) -> Vec<Taint> {
    taints.push(taint);
    taints
}

fn whole_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
