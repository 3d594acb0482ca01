//! What claims note of themselves: since when nothing happens on their nodes, that they have drifted, and what keeps them.

use cluster::ClaimAsRead;
use decide::{
    disruption::drifts,
    marks::{Seen, mark, newly_blocked},
};
use model::{
    ClaimStatus, Note, PodKind, Uid,
    disruption::{After, Decision, Kept},
    names,
};
use std::collections::BTreeMap;

use super::look::Picture;
use crate::{NAME, findings::Findings, read::Tick};

/// Writes in one tick; what is over waits for the next.
const MOST: usize = 100;

pub async fn note(tick: &Tick, picture: &Picture, decision: &Decision) -> Findings {
    let (pods, drifts) = (work_by_node(picture), drifts(&picture.situation));
    let kept: BTreeMap<&str, &Kept> = decision.kept.iter().map(|kept| (kept.node.as_str(), kept)).collect();
    let none = Vec::new();
    let due = picture.claims.iter().filter_map(|read| {
        let claim = &read.claim;
        let after = after(picture, read).filter(|_| claim.deleted_at.is_none())?;
        let node = claim.status.node.as_deref()?;
        let seen = Seen {
            pods: pods.get(node).unwrap_or(&none),
            after,
            drift: drifts.get(node).map(Option::as_ref),
            kept: kept.get(node).copied(),
        };
        Some((read, mark(claim, seen, tick.now())?))
    });
    let mut findings = Findings::default();
    for (read, status) in due.take(MOST) {
        match tick.parts.cluster.write_status(read, &read.claim.version, &status).await {
            Ok(_) => tell(tick, picture, read, &status).await,
            // Somebody else wrote first: the next look notes it.
            Err(error) if error.is_conflict() || error.is_not_found() => {}
            Err(error) => findings.failed.push(error.to_string()),
        }
    }
    findings
}

/// An Event on the Node, where people look, when something else keeps it than before.
async fn tell(tick: &Tick, picture: &Picture, read: &ClaimAsRead, status: &ClaimStatus) {
    let Some(words) = newly_blocked(&read.claim.status, status) else { return };
    let name = read.claim.status.node.as_deref();
    let Some(node) = picture.nodes.iter().find(|node| Some(node.name.as_str()) == name) else { return };
    let note = Note { warning: false, reason: "DisruptionBlocked", text: format!("not disrupted because {words}") };
    if let Err(error) = tick.parts.cluster.note_node(NAME, node, &note, tick.now()).await {
        tracing::warn!(node = %node.name, %error, "an Event was not written");
    }
}

/// Of the claim's pool; one without a pool is never taken to save money.
fn after(picture: &Picture, read: &ClaimAsRead) -> Option<After> {
    let name = read.claim.labels.get(names::NODE_POOL)?;
    let scene = &picture.situation.provision.scene;
    let at = scene.pools.iter().position(|pool| pool.name.as_str() == name)?;
    picture.situation.inventory.pools.get(at).map(|pool| pool.counts_from_pods())
}

fn work_by_node(picture: &Picture) -> BTreeMap<&str, Vec<&Uid>> {
    let scene = &picture.situation.provision.scene;
    let mut by_node: BTreeMap<&str, Vec<&Uid>> = BTreeMap::new();
    for (bound, pod) in scene.bound.iter().zip(&picture.situation.inventory.pods) {
        if let (Some(node), PodKind::Ordinary) = (scene.nodes.get(bound.node), pod.kind) {
            by_node.entry(node.name.as_str()).or_default().extend(&pod.uid);
        }
    }
    by_node
}
