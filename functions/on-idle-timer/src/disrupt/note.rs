//! What claims note of themselves: since when nothing happens on their nodes.

use cluster::ClaimAsRead;
use decide::quiet;
use model::{PodKind, Uid, disruption::After, names};
use std::collections::BTreeMap;

use super::look::Picture;
use crate::{findings::Findings, read::Tick};

/// Writes in one tick; what is over waits for the next.
const MOST: usize = 100;

pub async fn note(tick: &Tick, picture: &Picture) -> Findings {
    let pods = work_by_node(picture);
    let none = Vec::new();
    let due = picture.claims.iter().filter_map(|read| {
        let claim = &read.claim;
        let after = after(picture, read).filter(|_| claim.deleted_at.is_none())?;
        let on_node = pods.get(claim.status.node.as_deref()?).unwrap_or(&none);
        Some((read, quiet::note(claim, on_node, after, tick.now())?))
    });
    let mut findings = Findings::default();
    for (read, status) in due.take(MOST) {
        match tick.parts.cluster.write_status(read, &read.claim.version, &status).await {
            // Somebody else wrote first: the next look notes it.
            Err(error) if !error.is_conflict() && !error.is_not_found() => findings.failed.push(error.to_string()),
            _ => {}
        }
    }
    findings
}

/// Of the claim's pool; one without a pool is never taken to save money.
fn after(picture: &Picture, read: &ClaimAsRead) -> Option<After> {
    let name = read.claim.labels.get(names::NODE_POOL)?;
    let scene = &picture.situation.provision.scene;
    let at = scene.pools.iter().position(|pool| pool.name.as_str() == name)?;
    picture.situation.inventory.pools.get(at).map(|pool| pool.consolidate_after)
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
