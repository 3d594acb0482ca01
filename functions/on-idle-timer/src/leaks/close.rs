//! Closing what was left behind. Each is proved once more, by whoever has it, before anything is done.

use act::carry_out;
use cluster::{ClaimRead, ClusterError};
use core::time::Duration;
use decide::{
    leaks::{Leak, Orphan},
    termination::{self, InstanceSeen, Kept, orphan_needs_observation, plan_for_orphan},
};
use model::{
    Action, ActionResult, ClaimChange, Failure, FinalizerChange, Gone, InstanceKey, Note, Plan, ResourceVersion, Uid,
};
use std::collections::BTreeSet;

use crate::{NAME, findings::Findings, read::Tick};

/// While pods leave, and after a write that somebody else overtook.
const LOOK_AGAIN: Duration = Duration::from_secs(6);

pub async fn close(
    tick: &Tick,
    leak: &Leak,
    known: &BTreeSet<Uid>,
    stock_version: Option<&ResourceVersion>,
) -> Findings {
    let closed = match leak {
        Leak::Orphan(orphan) if known.contains(&orphan.key.claim) => Ok(Findings::default()),
        Leak::Orphan(orphan) => remove(tick, orphan).await,
        Leak::ClaimWithoutMachine { key, provider, node } => give_up(tick, key, provider, node.as_deref()).await,
        Leak::FinalizerMissing { key, version, finalizers } => hold(tick, key, version, finalizers).await,
        Leak::MachineLease(lease) => {
            let said = format!("Lease {} of a machine that nobody describes is deleted", lease.name);
            tick.parts.cluster.delete_lease(lease).await.map(|_| done(said))
        }
        Leak::TurnLease(lease) => {
            let holder = lease.holder.as_deref().unwrap_or_default();
            let said = format!("Lease {} is taken from {holder}, who died with it", lease.name);
            tick.parts.cluster.free_lease(lease).await.map(|()| done(said))
        }
        Leak::Stock { keys } => match stock_version {
            Some(version) => {
                let said = format!("{} lines of the stock memory that are over are removed", keys.len());
                tick.parts.cluster.forget(keys, version).await.map(|()| done(said))
            }
            None => Ok(Findings::default()),
        },
    };
    closed.unwrap_or_else(|error| Findings::failure(error.to_string()))
}

fn done(said: String) -> Findings {
    Findings { done: vec![said], ..Findings::default() }
}

/// One step of taking down what has no claim, as on-delete would have taken it down.
async fn remove(tick: &Tick, found: &Orphan) -> Result<Findings, ClusterError> {
    let parts = &tick.parts;
    let (mut pods, mut attachments) = (Vec::new(), Vec::new());
    for node in &found.nodes {
        pods.extend(parts.cluster.pods_on(&node.name).await?);
        attachments.extend(parts.cluster.volumes_attached(&node.name).await?);
    }
    let mut orphan = termination::Orphan {
        key: found.key.clone(),
        provider: Kept { provider: found.provider.to_owned(), node_stays: found.provider == "power" },
        nodes: found.nodes.clone(),
        pods,
        attachments,
        instance: InstanceSeen::NotAsked,
        now: tick.now(),
    };
    if orphan_needs_observation(&orphan)
        && let Ok(provider) = parts.providers.get(found.provider)
    {
        orphan.instance = match provider.observe(&found.key).await {
            Ok(Some(_)) => InstanceSeen::Present,
            Ok(None) => InstanceSeen::Absent,
            Err(_) => InstanceSeen::NotAsked,
        };
    }
    let Some((claim, plan)) = plan_for_orphan(&orphan) else { return Ok(Findings::default()) };
    let carried = carry_out(&parts.cluster, &parts.providers, &claim, &plan).await;
    let what = format!("{} of {}, which is gone", found.what(), found.whose());
    let findings = conclude(&what, &plan, &carried.results, orphan.pods.len());
    tell_nodes(tick, found, &findings).await;
    Ok(findings)
}

fn conclude(what: &str, plan: &Plan, results: &[ActionResult], pods: usize) -> Findings {
    let mut findings = Findings::default();
    let steps = || plan.actions.iter().zip(results);
    let failure = steps().find_map(|(action, result)| match (action, result) {
        (_, ActionResult::Failed(failure)) => Some(failure),
        _ => None,
    });
    let removed = steps().find_map(|(action, result)| match (action, result) {
        (Action::EnsureGone { .. }, ActionResult::Gone(gone)) => Some(gone),
        _ => None,
    });
    match (failure, removed) {
        (Some(Failure { message, .. }), _) => findings.failed.push(format!("{what}: {message}")),
        (None, Some(Gone::Confirmed)) => findings.done.push(format!("{what}: removed")),
        (None, Some(Gone::InProgress { look_again_seconds, .. })) => {
            findings.under_way.push(format!("{what}: on its way out"));
            findings.call_again(Duration::from_secs(u64::from((*look_again_seconds).max(1))));
        }
        (None, None) => {
            let held = if pods > 0 { format!(", {pods} pods are on it") } else { String::new() };
            findings.under_way.push(format!("{what}: its node is emptied first{held}"));
            findings.call_again(LOOK_AGAIN);
        }
    }
    findings
}

/// The Node is where people look.
async fn tell_nodes(tick: &Tick, found: &Orphan, findings: &Findings) {
    let Some(text) = findings.failed.first().or(findings.under_way.first()).or(findings.done.first()) else { return };
    let note = Note { warning: true, reason: "NodeClaimGone", text: text.clone() };
    for node in &found.nodes {
        if let Err(error) = tick.parts.cluster.note_node(NAME, node, &note, tick.now()).await {
            tracing::warn!(node = %node.name, %error, "an Event was not written");
        }
    }
}

/// Deletes a claim whose machine its provider has just said is not there. Its owner makes another.
async fn give_up(tick: &Tick, key: &InstanceKey, provider: &str, node: Option<&str>) -> Result<Findings, ClusterError> {
    let parts = &tick.parts;
    let observed = match parts.providers.get(provider) {
        Ok(provider) => provider.observe(key).await,
        Err(failure) => return Ok(Findings::failure(format!("NodeClaim {}: {}", key.name, failure.message))),
    };
    match observed {
        Ok(None) => {}
        Ok(Some(_)) => return Ok(Findings::default()),
        Err(error) => return Ok(Findings::failure(format!("NodeClaim {}: {error}", key.name))),
    }
    let still = match parts.cluster.claim(&key.name).await? {
        Some(ClaimRead::Claim(read)) => read.claim.key == *key && read.claim.deleted_at.is_none(),
        Some(ClaimRead::Malformed(_)) | None => false,
    };
    if !still {
        return Ok(Findings::default());
    }
    let node = match node {
        Some(node) => format!("node {node} is not ready"),
        None => "it has no node".to_owned(),
    };
    let text = format!("its machine is gone from {provider} and {node}; the claim is deleted");
    let note = Note { warning: true, reason: "MachineGone", text: text.clone() };
    if let Err(error) = parts.cluster.note(NAME, key, &note, tick.now()).await {
        tracing::warn!(claim = %key.name, %error, "an Event was not written");
    }
    parts.cluster.delete_claim(key).await?;
    Ok(done(format!("NodeClaim {}: {text}", key.name)))
}

/// Puts the finalizer back, unless somebody wrote to the claim meanwhile.
async fn hold(
    tick: &Tick,
    key: &InstanceKey,
    version: &ResourceVersion,
    finalizers: &BTreeSet<String>,
) -> Result<Findings, ClusterError> {
    let change = ClaimChange { finalizer: FinalizerChange::Add, ..ClaimChange::default() };
    match tick.parts.cluster.change_claim(key, version, finalizers, &change).await {
        Ok(_) => Ok(done(format!("NodeClaim {} has a machine and had lost its finalizer; it has it again", key.name))),
        // The next tick looks at what was written.
        Err(error) if error.is_conflict() || error.is_not_found() => Ok(Findings::default()),
        Err(error) => Err(error),
    }
}
