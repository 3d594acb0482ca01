//! The safety net for lost events: every claim that has a way to go, and every Node that somebody deleted, is carried on by
//! the function that its event was for.

use cluster::ClaimRead;
use core::time::Duration;
use decide::claim::is_unfinished;
use futures_util::{
    future::BoxFuture,
    stream::{self, StreamExt as _},
};
use model::{
    Answer, Claim, ClaimSeen, DeletableKind, DeletionRequested, Node, NodeClaimChanged, ObjectName, ObjectSeen,
    ResourceVersion, SnapshotCarried, SnapshotMissing, names,
};
use std::sync::Arc;
use tokio::time::{Instant, timeout_at};

use crate::{findings::Findings, read::Tick};

/// The provider that wants to hear when a node has joined, as in on-nodeclaim.
const TELLS_JOINED: &str = "scaleway";
/// Side by side: as many as a cloud's own limits let through anyway.
const AT_ONCE: usize = 8;
/// Less than a duty may take, so that what was done is still said.
const LONGEST: Duration = Duration::from_secs(32);
/// So many in one tick. Where there are more, the next tick begins where this one ended.
const MOST: usize = 200;

const NO_SNAPSHOT: SnapshotCarried = SnapshotCarried::Missing(SnapshotMissing::NotSent);

type Step = BoxFuture<'static, Answer>;

pub async fn run(tick: Arc<Tick>) -> Findings {
    let (mut findings, nodes) = match tick.parts.cluster.nodes().await {
        Ok(nodes) => (Findings::default(), nodes),
        Err(error) => (Findings::failure(error.to_string()), Vec::new()),
    };
    let mut steps: Vec<Step> = nodes.iter().filter(|node| is_going(node)).map(|node| of_node(&tick, node)).collect();
    steps.extend(unfinished(&tick).into_iter().map(|claim| of_claim(&tick, claim)));
    let due = rotated(steps, tick.event.tick.as_second());
    let all = due.len();
    let mut answers = stream::iter(due.into_iter().take(MOST)).buffer_unordered(AT_ONCE);
    let (until, mut heard, mut waiting) = (Instant::now() + LONGEST, 0, 0);
    while let Ok(Some(answer)) = timeout_at(until, answers.next()).await {
        heard += 1;
        match answer {
            Answer::Done { reason } => findings.done.push(reason),
            Answer::Failed { reason, .. } | Answer::Refused { reason } => findings.failed.push(reason),
            // Its own event asks again when it is time.
            Answer::Later { .. } => waiting += 1,
            Answer::Nothing { .. } => {}
        }
    }
    if waiting > 0 {
        findings.under_way.push(format!("{waiting} NodeClaims on their way"));
    }
    if heard < all {
        findings.under_way.push(format!("{} NodeClaims are left for the next tick", all - heard));
    }
    findings
}

/// The oldest first.
fn unfinished(tick: &Tick) -> Vec<&ClaimRead> {
    let mut found: Vec<&ClaimRead> = tick.claims.iter().filter(|read| has_a_way_to_go(read)).collect();
    found.sort_by_key(|read| match read {
        ClaimRead::Claim(read) => Some((read.claim.created_at, read.claim.key.clone())),
        ClaimRead::Malformed(_) => None,
    });
    found
}

fn has_a_way_to_go(read: &ClaimRead) -> bool {
    match read {
        ClaimRead::Claim(read) if read.claim.deleted_at.is_some() => read.claim.finalizers.contains(names::FINALIZER),
        ClaimRead::Claim(read) => is_unfinished(&read.claim, of_scaleway(&read.claim)),
        // Somebody has to be told what is wrong with it.
        ClaimRead::Malformed(_) => true,
    }
}

fn of_scaleway(claim: &Claim) -> bool {
    claim.record().is_some_and(|record| record.offering.id.provider == TELLS_JOINED)
}

/// A person deleted it, and our finalizer holds it.
fn is_going(node: &Node) -> bool {
    node.deleted_at.is_some() && node.finalizers.contains(names::FINALIZER)
}

/// Where there is more than one tick can do, each tick begins elsewhere, so that nobody is left out for ever.
fn rotated(mut steps: Vec<Step>, second: i64) -> Vec<Step> {
    if steps.len() > MOST {
        let ticks = usize::try_from(second.rem_euclid(86_400) / 30).unwrap_or_default();
        let begin = (ticks * MOST) % steps.len();
        steps.rotate_left(begin);
    }
    steps
}

fn of_claim(tick: &Tick, read: &ClaimRead) -> Step {
    let (key, cluster) = (read.key().clone(), tick.event.cluster.clone());
    let subject = format!("nodeclaim/{}", key.name);
    let object = |version: ResourceVersion| ObjectSeen {
        namespace: None,
        name: key.name.clone(),
        uid: key.claim.clone(),
        resource_version: version,
    };
    let parts = tick.parts.clone();
    match read {
        ClaimRead::Claim(read) if read.claim.deleted_at.is_some() => {
            let object = object(read.claim.version.clone());
            let kind = DeletableKind::NodeClaim;
            let event = DeletionRequested { cluster, subject, kind, object, snapshot: NO_SNAPSHOT };
            Box::pin(on_delete::handle(parts, event))
        }
        ClaimRead::Claim(read) => {
            let claim = &read.claim;
            let seen = ClaimSeen {
                object: object(claim.version.clone()),
                class: claim.class.clone(),
                pool: claim.labels.get(names::NODE_POOL).and_then(|name| ObjectName::new(name).ok()),
                requests: claim.requests.clone(),
                requirements: claim.requirements.clone(),
                provider_id: claim.status.provider_id.clone(),
            };
            let event = NodeClaimChanged { cluster, subject, claim: seen, snapshot: NO_SNAPSHOT };
            Box::pin(on_nodeclaim::handle(parts, event))
        }
        ClaimRead::Malformed(malformed) => {
            let (malformed, now) = (malformed.clone(), tick.now());
            Box::pin(async move {
                match parts.cluster.refuse(crate::NAME, &malformed, now).await {
                    Ok(()) => Answer::nothing(malformed.why),
                    Err(error) => Answer::failed(error.to_string()),
                }
            })
        }
    }
}

fn of_node(tick: &Tick, node: &Node) -> Step {
    let object = ObjectSeen {
        namespace: None,
        name: node.name.clone(),
        uid: node.uid.clone(),
        resource_version: node.version.clone(),
    };
    let event = DeletionRequested {
        cluster: tick.event.cluster.clone(),
        subject: format!("node/{}", node.name),
        kind: DeletableKind::Node,
        object,
        snapshot: NO_SNAPSHOT,
    };
    Box::pin(on_delete::handle(tick.parts.clone(), event))
}
