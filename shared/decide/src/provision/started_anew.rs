//! Machines that are started anew: their pods come back to them.

use model::{Claim, ConditionKind, place::Scene};
use std::collections::BTreeSet;

/// A machine that is started anew has shed the pods that leave it by the time it takes others: for those that follow them there
/// is room, and they need no other node.
pub(crate) fn shed(scene: &mut Scene, claims: &[Claim]) {
    let restarts = |claim: &&Claim| claim.is(ConditionKind::Rebooting) && claim.deleted_at.is_none();
    let names: BTreeSet<&str> =
        claims.iter().filter(restarts).filter_map(|claim| claim.status.node.as_deref()).collect();
    if names.is_empty() {
        return;
    }
    let Scene { nodes, bound, .. } = scene;
    let comes_back = |at: usize| nodes.get(at).is_some_and(|node| names.contains(node.name.as_str()));
    for pod in bound.iter_mut().filter(|pod| pod.terminating && comes_back(pod.node)) {
        pod.requests.clear();
        pod.host_ports.clear();
        pod.volumes.clear();
    }
}
