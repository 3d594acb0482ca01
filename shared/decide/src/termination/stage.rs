//! How far it is: derived anew at each step, from what stands in the cluster.

use jiff::Timestamp;
use model::{
    Claim, ClaimChange, Condition, ConditionKind, Launch, NodeChange, ObjectName, Progress, Truth, Uid, names,
};

use super::{InstanceSeen, SHORTEST_DRAIN, STUCK_AFTER, Situation, deadline::Deadline, later, nodes, pods::Drain};

#[derive(Debug)]
pub(super) enum Stage<'a> {
    /// Nobody asked for it to go.
    NotToGo,
    /// Our finalizer is off; whoever still holds the claim does so for reasons of their own.
    Released,
    /// There cannot be a machine.
    NeverLaunched,
    Emptying(Box<Emptying<'a>>),
    Removing(Removing<'a>),
}

/// Something has to be written, or waited for, before the machine may go.
#[derive(Debug)]
pub(super) struct Emptying<'a> {
    pub deadline: Deadline,
    pub prepare: Prepare,
    pub drain: Drain<'a>,
    pub wait: Wait<'a>,
}

/// What has to stand in the cluster before the first pod goes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Prepare {
    pub claim: Option<ClaimChange>,
    pub changes: Vec<NodeChange>,
    pub deletions: Vec<(ObjectName, Uid)>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wait<'a> {
    Nothing,
    Pods,
    /// No pod is left, but one may be on its way.
    Settling,
    Volumes(Vec<&'a ObjectName>),
}

#[derive(Debug)]
pub(super) struct Removing<'a> {
    /// The nodes were drained, and this is what the deadline did not wait for; `None` where there was nothing to drain.
    pub left: Option<Left<'a>>,
}

#[derive(Debug)]
pub(super) struct Left<'a> {
    pub pods: Vec<&'a model::Pod>,
    pub volumes: Vec<&'a ObjectName>,
}

impl<'a> Stage<'a> {
    pub(super) fn of(situation: &'a Situation) -> Stage<'a> {
        let claim = &situation.claim;
        let Some(began) = claim.deleted_at else { return Stage::NotToGo };
        if !claim.finalizers.contains(names::FINALIZER) {
            return Stage::Released;
        }
        if claim.launch == Launch::NotBegun && claim.status.provider_id.is_none() && situation.nodes.is_empty() {
            return Stage::NeverLaunched;
        }
        let deadline = Deadline::of(claim);
        let prepare = prepare(situation, &deadline);
        let drain = Drain::of(&situation.pods, &deadline, began, situation.now);
        let wait = wait(situation, &deadline, &drain);
        if prepare != Prepare::default() || wait != Wait::Nothing {
            return Stage::Emptying(Box::new(Emptying { deadline, prepare, drain, wait }));
        }
        let volumes = nodes::held_volumes(&situation.attachments);
        let left = (!nothing_to_drain(situation)).then_some(Left { pods: drain.holding, volumes });
        Stage::Removing(Removing { left })
    }
}

/// The record's progress is the making's until the removing has begun; a provider is not told the one for the other.
pub(super) fn progress_of_removing(claim: &Claim) -> Option<Progress> {
    let record = claim.record().filter(|_| claim.is(ConditionKind::InstanceTerminating))?;
    record.progress.clone()
}

fn prepare(situation: &Situation, deadline: &Deadline) -> Prepare {
    // Whose Node stays is the provider's to say: one that nobody can name keeps it, for it could not be brought back.
    let stays = situation.provider.as_ref().is_none_or(|kept| kept.node_stays);
    Prepare {
        claim: deadline.change(),
        changes: situation.nodes.iter().filter_map(|node| nodes::closing(node, stays)).collect(),
        deletions: situation.nodes.iter().filter_map(|node| nodes::deletion(node, stays)).collect(),
    }
}

/// It never joined, its machine is gone from under it, or its removal was ordered and cannot be called back.
fn nothing_to_drain(situation: &Situation) -> bool {
    let cut_off = situation.instance == InstanceSeen::Absent && !nodes::any_ready(&situation.nodes);
    situation.nodes.is_empty() || cut_off || situation.claim.is(ConditionKind::InstanceTerminating)
}

fn wait<'a>(situation: &'a Situation, deadline: &Deadline, drain: &Drain<'a>) -> Wait<'a> {
    if nothing_to_drain(situation) {
        return Wait::Nothing;
    }
    let now = situation.now;
    let drained = situation.claim.condition(ConditionKind::Drained);
    let given_up = drained.is_some_and(|drained| given_up(drained, deadline, now));
    if !drain.holding.is_empty() && !given_up {
        return Wait::Pods;
    }
    let closed = situation.nodes.iter().all(nodes::is_closed);
    if !closed || !drained.is_some_and(|drained| settled(drained, now)) {
        return Wait::Settling;
    }
    let volumes = nodes::held_volumes(&situation.attachments);
    if volumes.is_empty() || deadline.passed(now) { Wait::Nothing } else { Wait::Volumes(volumes) }
}

/// Since the drain began, the node has been watched for long enough.
fn settled(drained: &Condition, now: Timestamp) -> bool {
    drained.status != Truth::Unknown || now >= later(drained.since, SHORTEST_DRAIN)
}

/// The deadline has passed, every pod was told to go, and some will not. It counts from the beginning of the drain, so
/// that a deadline that had passed before still lets pods end in order.
fn given_up(drained: &Condition, deadline: &Deadline, now: Timestamp) -> bool {
    deadline.at.is_some_and(|at| {
        let before = drained.status == Truth::False && now >= at;
        before || now > later(at.max(drained.since), STUCK_AFTER)
    })
}
