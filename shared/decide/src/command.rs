//! What becomes of a command: nodes that are closed, looked at again, replaced, and only then taken away; or put back.
//!
//! Everything stands on the candidates' claims. Each step looks, derives what is missing, and does it; whoever comes next, in
//! whatever process, goes on. The first candidate's record is the command, and each of its phases is written against the
//! version that was read with everything else: of two who go on at once, one loses and looks again.
//!
//! What holds, whatever comes back:
//! - Nothing is deleted before its node was seen closed, a scheduler that had chosen it before had its time, and the pods on it
//!   were read once more and are those of the decision.
//! - Nothing is deleted before every replacement is usable, unless the order says otherwise.
//! - Before `Deleting` everything can be put back, and is: taint, condition, record.

mod back_off;
mod begin;
mod deeds;
mod left_over;
mod reboot;
mod undo;
mod validate;

use core::time::Duration;
use jiff::{SignedDuration, Timestamp};
use model::{
    Claim, ClaimStatus, CommandOrder, CommandPhase, CommandRecord, CommandWork, ConditionKind, InstanceKey, Manifest,
    Node, NodeChange, ObjectName, Pod, PodRef,
};
use std::collections::BTreeMap;

pub use back_off::{BackOff, after_failure, paused};
pub use begin::{Begun, begin, name_replacements};
pub use left_over::{LeftOver, left_over};
pub use reboot::after_reboot;

/// From the moment at which all nodes were seen closed: whoever chose one of them before has bound its pod by then.
pub const SCHEDULER_CYCLE: SignedDuration = SignedDuration::from_secs(10);
/// Longer than any launch, registration and initialization that is still worth waiting for.
pub const LONGEST_WAIT: SignedDuration = SignedDuration::from_mins(60);

const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// One command, as it was seen just now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Situation {
    /// The first candidate's.
    pub record: CommandRecord,
    /// In the order of the record.
    pub candidates: Vec<Candidate>,
    /// In the order of the record; `None` where there is no such claim.
    pub replacements: Vec<Option<Claim>>,
    pub now: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub key: InstanceKey,
    /// `None` if it is gone.
    pub claim: Option<Claim>,
    /// What stands on it; `None` where nothing does, or something that cannot be read.
    pub record: Option<CommandRecord>,
    pub node: Option<Node>,
    /// All on its node.
    pub pods: Vec<Pod>,
}

/// What is done next, in order; the first deed that does not come out ends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub deeds: Vec<Deed>,
    pub next: Next,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// The record and other annotations of a candidate's claim, by position, against the version that was read.
    Record {
        candidate: usize,
        record: Option<Box<CommandRecord>>,
        others: BTreeMap<String, Option<String>>,
    },
    /// The status of a candidate's claim.
    Status {
        candidate: usize,
        status: Box<ClaimStatus>,
    },
    Node(NodeChange),
    Evict(PodRef),
    DeletePod {
        pod: PodRef,
        grace: SignedDuration,
    },
    /// All of them, by whoever has the turn to provision. A name that is there is this one.
    Make(Vec<(ObjectName, Manifest)>),
    DeleteClaim(InstanceKey),
    /// Its result is for [`after_reboot`].
    Reboot {
        candidate: usize,
        operation: String,
    },
    /// The replacements of these pools came, or did not.
    Replaced {
        pools: Vec<ObjectName>,
        came: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Look and decide again at once.
    AtOnce,
    After {
        why: String,
        after: Duration,
    },
    /// Nothing is left to do.
    Over {
        why: String,
    },
}

pub fn plan(seen: &Situation) -> Step {
    let record = &seen.record;
    if let Some(why) = validate::overtaken(seen) {
        return undo::begin(seen, &why, false);
    }
    match &record.phase {
        CommandPhase::Recorded => close(seen),
        CommandPhase::Tainted => after_the_cycle(seen),
        CommandPhase::Making => make(seen),
        CommandPhase::Waiting => wait(seen),
        CommandPhase::Deleting => delete(seen),
        CommandPhase::Draining => reboot::drain(seen),
        CommandPhase::Rebooting | CommandPhase::Rebooted => reboot::go_on(seen),
        CommandPhase::Undoing { why, failed } => undo::go_on(seen, why, *failed),
    }
}

/// Records on the other candidates, then the taint on every node, then the condition; seen again, that is the next phase.
fn close(seen: &Situation) -> Step {
    let mut deeds = deeds::followers(seen);
    deeds.extend(deeds::taints(seen));
    deeds.extend(deeds::conditions(seen));
    if !deeds.is_empty() {
        return Step { deeds, next: Next::AtOnce };
    }
    match seen.record.order {
        CommandOrder::AtOnce => enter(seen, CommandPhase::Making),
        CommandOrder::ReplaceFirst | CommandOrder::TerminateFirst => enter(seen, CommandPhase::Tainted),
    }
}

fn after_the_cycle(seen: &Situation) -> Step {
    let passed = seen.now.duration_since(seen.record.since);
    if passed < SCHEDULER_CYCLE {
        return Step {
            deeds: vec![],
            next: waits("its nodes are closed, and their pods are looked at again", SCHEDULER_CYCLE - passed),
        };
    }
    if let Some(why) = validate::disturbed(seen) {
        return undo::begin(seen, &why, false);
    }
    match (seen.record.work, seen.record.order) {
        (CommandWork::Reboot, _) => enter(seen, CommandPhase::Draining),
        (CommandWork::Delete, CommandOrder::TerminateFirst) => enter(seen, CommandPhase::Deleting),
        (CommandWork::Delete, _) if seen.record.replacements.is_empty() => enter(seen, CommandPhase::Deleting),
        (CommandWork::Delete, _) => enter(seen, CommandPhase::Making),
    }
}

/// Making stands before the phase in the step, so whoever dies in between makes them again: under the same names.
fn make(seen: &Situation) -> Step {
    let names = seen.record.replacements.iter().cloned();
    let make: Vec<(ObjectName, Manifest)> = names.zip(seen.record.make.iter().cloned()).collect();
    let next = match seen.record.order {
        CommandOrder::AtOnce => CommandPhase::Deleting,
        CommandOrder::ReplaceFirst | CommandOrder::TerminateFirst => CommandPhase::Waiting,
    };
    let mut step = enter(seen, next);
    if !make.is_empty() {
        step.deeds.insert(0, Deed::Make(make));
    }
    step
}

fn wait(seen: &Situation) -> Step {
    if let Some(why) = validate::disturbed(seen) {
        return undo::begin(seen, &why, false);
    }
    for (name, claim) in seen.record.replacements.iter().zip(&seen.replacements) {
        match claim {
            None => return undo::begin(seen, &format!("its replacement {name} is gone"), true),
            Some(claim) if claim.deleted_at.is_some() => {
                return undo::begin(seen, &format!("its replacement {name} did not come up"), true);
            }
            Some(_) => {}
        }
    }
    let missing = seen.replacements.iter().flatten().find(|claim| !claim.is(ConditionKind::Initialized));
    match missing {
        None => {
            let mut step = enter(seen, CommandPhase::Deleting);
            step.deeds.push(Deed::Replaced { pools: deeds::pools(seen), came: true });
            step
        }
        Some(claim) if seen.now.duration_since(seen.record.since) > LONGEST_WAIT => {
            undo::begin(seen, &format!("its replacement {} was not usable in time", claim.key.name), true)
        }
        Some(claim) => {
            let why = format!("waits for its replacement {}", claim.key.name);
            Step { deeds: vec![], next: Next::After { why, after: LOOK_AGAIN } }
        }
    }
}

/// The first candidate last: as long as it stands, so does the command.
fn delete(seen: &Situation) -> Step {
    let mut deeds = Vec::new();
    for (at, candidate) in seen.candidates.iter().enumerate().rev() {
        let Some(claim) = candidate.claim.as_ref().filter(|claim| claim.deleted_at.is_none()) else { continue };
        deeds.extend(deeds::deadline(seen, at, claim));
        deeds.push(Deed::DeleteClaim(candidate.key.clone()));
    }
    let names: Vec<&str> = seen.record.candidates.iter().map(|key| key.name.as_str()).collect();
    let why = format!("{}: NodeClaim {} is deleted, {}", seen.record.reason, names.join(", "), seen.record.why);
    Step { deeds, next: Next::Over { why } }
}

/// Writes the next phase and goes on from there.
fn enter(seen: &Situation, phase: CommandPhase) -> Step {
    Step { deeds: vec![deeds::phase(seen, phase, BTreeMap::new())], next: Next::AtOnce }
}

fn waits(why: &str, rest: SignedDuration) -> Next {
    let after = Duration::try_from(rest).unwrap_or(LOOK_AGAIN).max(Duration::from_secs(1));
    Next::After { why: why.to_owned(), after }
}
