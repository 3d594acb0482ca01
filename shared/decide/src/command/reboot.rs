//! Starting a machine anew: its pods leave, it is told, and another boot ID proves that it came back.

use core::time::Duration;
use jiff::SignedDuration;
use model::{Claim, CommandPhase, ConditionKind, Node, Rebooted, Truth, names};
use std::collections::BTreeMap;

use super::{Candidate, Deed, LOOK_AGAIN, Next, Situation, Step, deeds, enter, undo};
use crate::{conditions, termination};

/// From the end of the drain until a provider has taken the order.
pub const ISSUED_WITHIN: SignedDuration = SignedDuration::from_mins(5);
/// From then until the node is usable again.
pub const BACK_WITHIN: SignedDuration = SignedDuration::from_mins(20);
/// Pods that do not leave by then are not going to.
const DRAINED_WITHIN: SignedDuration = SignedDuration::from_mins(60);

const POLL: Duration = Duration::from_secs(15);

pub(super) fn drain(seen: &Situation) -> Step {
    let Some((_, candidate)) = one(seen) else { return nobody() };
    let deadline = seen.record.drain_within.and_then(|bound| seen.record.since.checked_add(bound).ok());
    let emptied = termination::empty_node(&candidate.pods, deadline, seen.record.since, seen.now);
    let settled = seen.now.duration_since(seen.record.since) >= termination::SHORTEST_DRAIN;
    if emptied.holding.is_empty() && settled {
        return enter(seen, CommandPhase::Rebooting);
    }
    if !emptied.holding.is_empty() && seen.now.duration_since(seen.record.since) > DRAINED_WITHIN {
        let why = format!("pods do not leave for its restart: {}", emptied.holding.join(", "));
        return undo::begin(seen, &why, false);
    }
    let why = match emptied.holding.first() {
        Some(pod) => format!("waits for pod {pod} to leave before its machine is started anew"),
        None => "waits a moment before its machine is started anew".to_owned(),
    };
    let deeds = emptied.actions.into_iter().filter_map(|action| match action {
        model::Action::Evict(pod) => Some(Deed::Evict(pod)),
        model::Action::DeletePod { pod, grace } => Some(Deed::DeletePod { pod, grace }),
        _ => None,
    });
    Step { deeds: deeds.collect(), next: Next::After { why, after: LOOK_AGAIN } }
}

/// Until the boot ID is another one and the node is usable, or the time is over.
pub(super) fn go_on(seen: &Situation) -> Step {
    let Some((claim, candidate)) = one(seen) else { return nobody() };
    let is_told = seen.record.phase == CommandPhase::Rebooted;
    let patience = if is_told { BACK_WITHIN } else { ISSUED_WITHIN };
    if is_told && candidate.node.as_ref().is_some_and(|node| is_back(claim, node)) {
        return came_back(seen, claim, candidate);
    }
    if seen.now.duration_since(seen.record.since) > patience {
        let what = if is_told { "it did not come back" } else { "nobody took the order" };
        return give_up(seen, claim, &format!("{what} within {} minutes", patience.as_mins()));
    }
    // Asked again and again: what takes several steps goes on, and what is done is not done again.
    let operation = seen.record.id.clone();
    let why = "its machine is being started anew".to_owned();
    Step { deeds: vec![Deed::Reboot { candidate: 0, operation }], next: Next::After { why, after: POLL } }
}

/// What the provider answered; an error is none, and is asked again.
pub fn after_reboot(seen: &Situation, answer: &Rebooted) -> Step {
    let Some((claim, _)) = one(seen) else { return nobody() };
    match answer {
        Rebooted::NotAble { why } => give_up(seen, claim, why),
        Rebooted::Issued | Rebooted::InProgress { .. } if seen.record.phase == CommandPhase::Rebooting => {
            let mut status = claim.status.clone();
            let message = "its machine was told to start anew";
            conditions::set(&mut status, ConditionKind::Rebooting, Truth::True, "RebootIssued", message, seen.now);
            conditions::set(&mut status, ConditionKind::Initialized, Truth::Unknown, "Rebooting", message, seen.now);
            let mut step = enter(seen, CommandPhase::Rebooted);
            step.deeds.insert(0, Deed::Status { candidate: 0, status: Box::new(status) });
            step.next = Next::After { why: message.to_owned(), after: look_again(answer) };
            step
        }
        Rebooted::Issued | Rebooted::InProgress { .. } => {
            let why = "its machine is on its way back".to_owned();
            Step { deeds: vec![], next: Next::After { why, after: look_again(answer) } }
        }
    }
}

fn look_again(answer: &Rebooted) -> Duration {
    match answer {
        Rebooted::InProgress { look_again_seconds } => Duration::from_secs(u64::from(*look_again_seconds).clamp(1, 15)),
        Rebooted::Issued | Rebooted::NotAble { .. } => POLL,
    }
}

fn is_back(claim: &Claim, node: &Node) -> bool {
    let before = claim.annotations.get(names::REBOOT_PRE_BOOT_ID);
    node.boot_id.is_some() && node.boot_id.as_ref() != before && claim.is(ConditionKind::Initialized)
}

/// The record goes last: until then whoever comes finds the same and finishes it.
fn came_back(seen: &Situation, claim: &Claim, candidate: &Candidate) -> Step {
    let mut steps: Vec<Deed> = candidate.node.as_ref().and_then(deeds::untaint).into_iter().collect();
    let mut status = claim.status.clone();
    status.conditions.retain(|condition| condition.kind != ConditionKind::DisruptionReason);
    let message = "its machine was started anew, and is back";
    conditions::set(&mut status, ConditionKind::Rebooting, Truth::False, "RebootSucceeded", message, seen.now);
    if status != claim.status {
        steps.push(Deed::Status { candidate: 0, status: Box::new(status) });
    }
    let mut others = undo::notes_off(claim);
    others.insert(names::REBOOTED_AT.to_owned(), Some(seen.now.to_string()));
    steps.push(Deed::Record { candidate: 0, record: None, others });
    Step { deeds: steps, next: Next::Over { why: format!("NodeClaim {}: {message}", claim.key.name) } }
}

/// It is drained, so it can go at once; whoever waits for it gets another one.
fn give_up(seen: &Situation, claim: &Claim, why: &str) -> Step {
    let mut status = claim.status.clone();
    conditions::set(&mut status, ConditionKind::Rebooting, Truth::False, "RebootFailed", why, seen.now);
    let others = BTreeMap::from([(names::REBOOTED_AT.to_owned(), Some(seen.now.to_string()))]);
    let mut deeds = Vec::new();
    if status != claim.status {
        deeds.push(Deed::Status { candidate: 0, status: Box::new(status) });
    }
    deeds.push(deeds::phase(seen, CommandPhase::Deleting, others));
    Step { deeds, next: Next::AtOnce }
}

fn one(seen: &Situation) -> Option<(&Claim, &Candidate)> {
    let candidate = seen.candidates.first()?;
    Some((candidate.claim.as_ref()?, candidate))
}

fn nobody() -> Step {
    Step { deeds: vec![], next: Next::Over { why: "its claim is gone".to_owned() } }
}
