//! Taking nodes away: what is open goes on; then everything is looked at, and what is decided becomes commands.
//!
//! Looking costs no write. Only where there is something to begin does this tick take the turn, look once more, and begin
//! it: no two ticks count the same budget.

mod look;
mod note;

use cluster::command_text;
use core::time::Duration;
use decide::command::{begin, name_replacements};
use model::{
    ClaimChange, ConditionKind, InstanceKey, PodKind, Uid,
    disruption::{Decision, Disruption},
    names,
};
use std::{collections::BTreeSet, sync::Arc, time::Instant};

use crate::{commands, findings::Findings, read::Tick};
use look::Picture;

/// Commands that begin in one tick; the next tick is not far.
const MOST_NEW: usize = 10;
/// How long deciding may take.
const LONGEST_DECISION: Duration = Duration::from_secs(10);

pub async fn run(tick: Arc<Tick>) -> Findings {
    let findings = commands::carry_on(&tick).await;
    match begin_new(&tick).await {
        Ok(found) => findings.and(found),
        Err(why) => findings.and(Findings::failure(why)),
    }
}

async fn begin_new(tick: &Tick) -> Result<Findings, String> {
    // Nothing of ours is up: there is nothing to look at, and no cloud to ask for prices.
    if !tick.known_claims().any(|claim| claim.is(ConditionKind::Initialized)) {
        return Ok(Findings::default());
    }
    let picture = look::look(tick).await?;
    let decision = decide(&picture);
    let findings = note::note(tick, &picture, &decision).await;
    if decision.disruptions.is_empty() {
        return Ok(findings);
    }
    if !tick.is_our_turn().await.map_err(|error| error.to_string())? {
        return Ok(findings);
    }
    // With what is there now, not a moment ago.
    let picture = look::look(tick).await?;
    let mut findings = findings;
    for disruption in decide(&picture).disruptions.into_iter().take(MOST_NEW) {
        let why = disruption.why.clone();
        match record(tick, &picture, disruption).await {
            Ok(Some(leader)) => {
                tracing::info!(claim = %leader.name, "a command begins: {why}");
                findings = findings.and(commands::go_on(tick, &leader).await);
            }
            Ok(None) => {}
            Err(why) => findings.failed.push(why),
        }
    }
    Ok(findings)
}

fn decide(picture: &Picture) -> Decision {
    let begun = Instant::now();
    // The clock of this machine: it is about how long we compute, not about what time it is.
    let mut decision = decide::disruption::decide(&picture.situation, &mut || begun.elapsed() < LONGEST_DECISION);
    for kept in &decision.kept {
        tracing::debug!(node = %kept.node, code = kept.code.as_str(), "not disrupted because {}", kept.reason);
    }
    decision.disruptions.retain(|disruption| !disruption.nodes.is_empty());
    decision
}

/// Writes the command down, on its first claim, against the version that was decided on.
async fn record(tick: &Tick, picture: &Picture, disruption: Disruption) -> Result<Option<InstanceKey>, String> {
    let now = tick.now();
    let Some(begun) = name_replacements(&disruption, now) else { return Ok(None) };
    let manifests = begun.make.iter().map(cluster::manifest).collect::<Result<Vec<_>, _>>()?;
    let urgent = is_urgent(picture, &disruption);
    let record = begin(&disruption, &begun, manifests, pods_on(picture, &disruption), urgent, now);
    let Some(leader) = begun.candidates.first() else { return Ok(None) };
    let Some(read) = picture.claims.iter().find(|read| read.claim.key == *leader) else { return Ok(None) };
    let annotations = [(names::DISRUPTION.to_owned(), Some(command_text(&record)?))].into();
    let change = ClaimChange { annotations, ..ClaimChange::default() };
    let written = tick.parts.cluster.change_claim(leader, &read.claim.version, &read.claim.finalizers, &change).await;
    match written {
        Ok(_) => Ok(Some(leader.clone())),
        // It has changed since: what was decided on is old, and the next tick decides anew.
        Err(error) if error.is_conflict() || error.is_not_found() => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

fn is_urgent(picture: &Picture, disruption: &Disruption) -> bool {
    let scene = &picture.situation.provision.scene;
    let leaving: BTreeSet<&str> = disruption.nodes.iter().map(|leaving| leaving.node.as_str()).collect();
    picture.situation.inventory.nodes.iter().any(|here| {
        let name = scene.nodes.get(here.node).map_or("", |node| node.name.as_str());
        leaving.contains(name) && here.unhealthy.as_ref().is_some_and(|unhealthy| unhealthy.urgent)
    })
}

/// The work on its nodes, as it was decided on.
fn pods_on(picture: &Picture, disruption: &Disruption) -> Vec<Uid> {
    let scene = &picture.situation.provision.scene;
    let leaving: BTreeSet<&str> = disruption.nodes.iter().map(|leaving| leaving.node.as_str()).collect();
    let on = |at: usize| scene.nodes.get(at).is_some_and(|node| leaving.contains(node.name.as_str()));
    let bound = scene.bound.iter().zip(&picture.situation.inventory.pods);
    let work = bound.filter(|(bound, pod)| on(bound.node) && pod.kind == PodKind::Ordinary);
    work.filter_map(|(_, pod)| pod.uid.clone()).collect()
}
