//! What came of preparing and draining.

use core::time::Duration;
use jiff::{SignedDuration, Timestamp};
use model::{Action, ActionResult, ClaimStatus, Conclusion, ConditionKind, Next, Note, ObjectName, Truth};

use super::super::{
    SHORTEST_DRAIN, Situation, nodes,
    stage::{Emptying, Wait},
    words::{self, Asked},
};
use super::{Told, after, concluded, later};
use crate::conditions;

/// The first look after an eviction that was refused, and the pace that looks slow down to.
const SOONEST: Duration = Duration::from_millis(100);
const LATEST: Duration = Duration::from_secs(10);
/// Pods that are ending take seconds, and their going wakes us anyhow.
const SOONEST_WHILE_ENDING: Duration = Duration::from_secs(1);

pub(super) fn conclude(situation: &Situation, emptying: &Emptying<'_>, told: &Told<'_>) -> Conclusion {
    let asked = asked(told);
    let status = status(situation, emptying, told, &asked);
    let notes = notes(situation, emptying, told, &asked, &status);
    let next = told.stop(situation).unwrap_or_else(|| next(situation, emptying, told, &asked, &status));
    concluded(status, notes, next)
}

fn asked<'a>(told: &Told<'a>) -> Asked<'a> {
    let mut asked = Asked::default();
    for (action, result) in &told.steps {
        let (Action::Evict(pod) | Action::DeletePod { pod, .. }) = action else { continue };
        match result {
            ActionResult::NotNow { why } => asked.refused.push((pod, why)),
            ActionResult::Failed(failure) => asked.failed.push((pod, &failure.message)),
            // Lost: another pod has its name by now, so this one is gone.
            ActionResult::WasGone | ActionResult::Lost => asked.gone += 1,
            ActionResult::Done | ActionResult::NotTried | ActionResult::Ensured(_) | ActionResult::Gone(_) => {}
        }
    }
    asked
}

fn status(situation: &Situation, emptying: &Emptying<'_>, told: &Told<'_>, asked: &Asked<'_>) -> ClaimStatus {
    let mut status = situation.claim.status.clone();
    let closed_now = closed_by(told);
    let all_closed = situation.nodes.iter().all(|node| nodes::is_closed(node) || closed_now.contains(&&node.name));
    // The drain begins with the taint: before all nodes have it, nothing is said about pods.
    if !all_closed || emptying.wait == Wait::Nothing {
        return status;
    }
    if !closed_now.is_empty() {
        // A taint that somebody took off and we put on again is a new beginning: pods may have come in between.
        status.conditions.retain(|condition| condition.kind != ConditionKind::Drained);
    }
    let now = situation.now;
    let drain = &emptying.drain;
    let draining = match &emptying.wait {
        Wait::Pods => Some(words::pods_left(drain.holding.len(), &drain.protected, asked)),
        Wait::Settling => Some(words::pods_left(0, &[], asked)),
        Wait::Nothing | Wait::Volumes(_) => None,
    };
    match draining {
        Some(text) => conditions::set(&mut status, ConditionKind::Drained, Truth::Unknown, "Draining", text, now),
        None => conditions::set_true(&mut status, ConditionKind::Drained, now),
    }
    if let Wait::Volumes(volumes) = &emptying.wait {
        let text = awaited(volumes);
        let reason = "AwaitingVolumeDetachment";
        conditions::set(&mut status, ConditionKind::VolumesDetached, Truth::Unknown, reason, text, now);
    }
    status
}

/// The nodes that got the taint in this step.
fn closed_by<'a>(told: &Told<'a>) -> Vec<&'a ObjectName> {
    let changed = told.steps.iter().filter_map(|(action, result)| match (action, result) {
        (Action::ChangeNode(change), ActionResult::Done) if change.taints.is_some() => Some(&change.name),
        _ => None,
    });
    changed.collect()
}

/// Only when something is new: a message that stands in a condition already has been noted.
fn notes(
    situation: &Situation,
    emptying: &Emptying<'_>,
    told: &Told<'_>,
    asked: &Asked<'_>,
    status: &ClaimStatus,
) -> Vec<Note> {
    let claim = &situation.claim;
    let node = words::nodes(&situation.nodes);
    let message = |status: &ClaimStatus, kind: ConditionKind| {
        status.conditions.iter().find(|condition| condition.kind == kind).map(|condition| condition.message.clone())
    };
    let said_anew = |kind| message(status, kind) != message(&claim.status, kind);
    let mut notes = vec![];

    let begins = claim.condition(ConditionKind::Drained).is_none() && message(status, ConditionKind::Drained).is_some();
    let written = matches!(told.steps.first(), Some((Action::ChangeClaim(_), ActionResult::Done)));
    if emptying.deadline.unreadable && (written || begins && !emptying.deadline.is_new) {
        notes.push(Note {
            warning: true,
            reason: "InvalidTerminationTimestamp",
            text: format!(
                "the annotation {} of claim {} is no RFC 3339 time and was not used",
                model::names::TERMINATION_TIMESTAMP,
                claim.key.name
            ),
        });
    }
    if let Some(at) = emptying.deadline.at.filter(|_| written) {
        let text =
            format!("all pods of claim {} are deleted by {at}, when its termination grace period ends", claim.key.name);
        notes.push(Note { warning: true, reason: "TerminationGracePeriodExpiring", text });
    }
    let held = asked.refused.iter().chain(&asked.failed);
    if let Some((pod, why)) = held.clone().next().filter(|_| said_anew(ConditionKind::Drained)) {
        let others = match held.count() - 1 {
            0 => String::new(),
            more => format!(" ({} more)", words::counted(more, "pod")),
        };
        let text = format!("pod {} could not be evicted from {node}: {why}{others}", words::ref_name(pod));
        notes.push(Note { warning: true, reason: "FailedDraining", text });
    }
    if let Wait::Volumes(volumes) = &emptying.wait
        && said_anew(ConditionKind::VolumesDetached)
    {
        let text = format!("{node}: {}", awaited(volumes));
        notes.push(Note { warning: false, reason: "AwaitingVolumeDetachment", text });
    }
    notes
}

fn next(
    situation: &Situation,
    emptying: &Emptying<'_>,
    told: &Told<'_>,
    asked: &Asked<'_>,
    status: &ClaimStatus,
) -> Next {
    let now = situation.now;
    let node = words::nodes(&situation.nodes);
    let began =
        |kind| status.conditions.iter().find(|condition| condition.kind == kind).map_or(now, |found| found.since);
    let drain = &emptying.drain;
    match &emptying.wait {
        Wait::Nothing => Next::AtOnce,
        Wait::Pods => {
            let pods_went =
                told.steps.iter().any(|(action, result)| is_of_pod(action) && **result == ActionResult::Done);
            if drain.more && pods_went {
                return Next::AtOnce;
            }
            let held = !asked.refused.is_empty() || !asked.failed.is_empty();
            let soonest = if held { SOONEST } else { SOONEST_WHILE_ENDING };
            let pace = pace(began(ConditionKind::Drained), now, soonest, drain.next_forced);
            let text = words::pods_left(drain.holding.len(), &drain.protected, asked);
            later(format!("draining {node}: {text}"), pace.max(wished(told)))
        }
        Wait::Settling => {
            let over = super::super::later(began(ConditionKind::Drained), SHORTEST_DRAIN);
            let text = format!(
                "draining {node}: no pods left, watched for {} s before the machine goes",
                SHORTEST_DRAIN.as_secs()
            );
            later(text, until(over, now))
        }
        Wait::Volumes(volumes) => {
            let began = began(ConditionKind::VolumesDetached);
            let pace = pace(began, now, SOONEST_WHILE_ENDING, emptying.deadline.at);
            later(format!("{node}: {}", awaited(volumes)), pace)
        }
    }
}

/// Doubles with each look, without counting them: as long again as it has lasted. Never past the next thing to do.
fn pace(began: Timestamp, now: Timestamp, soonest: Duration, next: Option<Timestamp>) -> Duration {
    let lasted = now.duration_since(began).max(SignedDuration::ZERO).unsigned_abs();
    let pace = lasted.clamp(soonest, LATEST);
    next.map_or(pace, |next| pace.min(until(next, now)))
}

fn until(time: Timestamp, now: Timestamp) -> Duration {
    time.duration_since(now).max(SignedDuration::ZERO).unsigned_abs().max(SOONEST)
}

/// What a failing API server asks for.
fn wished(told: &Told<'_>) -> Duration {
    let wishes = told.steps.iter().filter(|(action, _)| is_of_pod(action)).filter_map(|(_, result)| match result {
        ActionResult::Failed(failure) => Some(after(failure)),
        _ => None,
    });
    // Other pods may go all the same, so it is not waited longer than anybody waits here.
    wishes.max().unwrap_or_default().min(LATEST)
}

fn is_of_pod(action: &Action) -> bool {
    matches!(action, Action::Evict(_) | Action::DeletePod { .. })
}

fn awaited(volumes: &[&ObjectName]) -> String {
    let names: Vec<String> = volumes.iter().map(ToString::to_string).collect();
    format!("waiting for {} to be detached ({})", words::counted(names.len(), "volume"), words::some_of(&names))
}
