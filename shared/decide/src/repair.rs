//! Which nodes are not well, for how long that is borne, and what is done about it: policies as data, and one judge.
//!
//! A policy names a condition of a Node, a status, and perhaps a pattern of its reason. Of those that fit and whose time has
//! come, the more disruptive one counts: a machine is not started anew where another policy says that it has to go.

mod built_in;

use jiff::{SignedDuration, Timestamp};
use model::{
    Claim, Node, NodeCondition, Truth,
    disruption::{Remedy, Unhealthy},
    names,
};
use regex::Regex;

pub use built_in::{built_in, is_notice};

/// For so long a machine that was started anew is not started anew again: it is replaced.
pub const REBOOT_HELPS_ONCE_IN: SignedDuration = SignedDuration::from_hours(24);

/// At least so long after a start a condition of before may still stand: node-problem-detector looks every few minutes.
pub const LOOKED_AT_AGAIN: SignedDuration = SignedDuration::from_mins(5);

/// What is done about one condition.
#[derive(Debug, Clone)]
pub struct Policy {
    /// As in `Ready` or `KernelDeadlock`.
    pub condition: String,
    pub status: Truth,
    /// Searched for in the reason. A policy without one is for reasons that no other policy of its condition and status finds.
    pub reason: Option<Regex>,
    /// How long it may be so.
    pub tolerate: SignedDuration,
    /// How long the drain may take before pods go without being asked; `None`: what the claim says.
    pub drain_within: Option<SignedDuration>,
    /// Greater first.
    pub priority: u8,
    /// `None`: nothing, which keeps the fallback from doing something.
    pub remedy: Option<Remedy>,
    /// The machine goes by itself, and soon.
    pub urgent: bool,
}

/// What is known of one node.
#[derive(Debug, Clone, Copy)]
pub struct Patient<'a> {
    pub node: &'a Node,
    /// What it remembers of machines that were started anew.
    pub claim: Option<&'a Claim>,
    /// Whether its provider can start machines anew.
    pub can_reboot: bool,
}

/// What is wrong with it, if that is so for long enough.
pub fn judge(policies: &[Policy], patient: Patient<'_>, now: Timestamp) -> Option<Unhealthy> {
    let rebooted = patient.claim.and_then(rebooted_at);
    let due = complaints(policies, patient.node).filter(|complaint| complaint.due_at(rebooted) <= now);
    let worst = due.max_by_key(|complaint| {
        let Complaint { policy, condition } = complaint;
        let replaces = policy.remedy == Some(Remedy::Replace);
        // The oldest of equals: the one that was first is the cause.
        (policy.urgent, replaces, policy.priority, core::cmp::Reverse(condition.since))
    })?;
    let Complaint { policy, condition } = worst;
    let since = worst.since();
    let reboots = policy.remedy == Some(Remedy::Reboot)
        && patient.can_reboot
        && !patient.claim.is_some_and(|claim| was_rebooted(claim, now));
    Some(Unhealthy {
        what: words(condition, since, now),
        since,
        priority: policy.priority,
        remedy: if reboots { Remedy::Reboot } else { Remedy::Replace },
        drain_within: policy.drain_within,
        urgent: policy.urgent,
    })
}

struct Complaint<'a> {
    policy: &'a Policy,
    condition: &'a NodeCondition,
}

impl Complaint<'_> {
    /// A condition that says no time has been so for as long as anybody can think.
    fn since(&self) -> Timestamp {
        self.condition.since.unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Whoever complains has its time to see that a machine which was started anew is well again.
    fn due_at(&self, rebooted: Option<Timestamp>) -> Timestamp {
        let tolerated = self.since().checked_add(self.policy.tolerate).unwrap_or(Timestamp::MAX);
        let looked_at = |at: Timestamp| at.checked_add(self.policy.tolerate.max(LOOKED_AT_AGAIN)).unwrap_or(at);
        rebooted.filter(|_| !self.policy.urgent).map_or(tolerated, |at| tolerated.max(looked_at(at)))
    }
}

/// What fits and is acted on. Of one condition, those that look at its reason keep the others out.
fn complaints<'a>(policies: &'a [Policy], node: &'a Node) -> impl Iterator<Item = Complaint<'a>> {
    node.conditions.iter().flat_map(move |condition| {
        let of_it = |policy: &&Policy| policy.condition == condition.kind && policy.status == condition.status;
        let named = |policy: &&Policy| policy.reason.as_ref().is_some_and(|reason| reason.is_match(&condition.reason));
        let by_name = policies.iter().filter(of_it).any(|policy| named(&policy));
        let counts = move |policy: &&Policy| if by_name { named(policy) } else { policy.reason.is_none() };
        let acting = policies.iter().filter(of_it).filter(counts).filter(|policy| policy.remedy.is_some());
        acting.map(move |policy| Complaint { policy, condition }).collect::<Vec<_>>()
    })
}

fn rebooted_at(claim: &Claim) -> Option<Timestamp> {
    claim.annotations.get(names::REBOOTED_AT).and_then(|text| text.parse().ok())
}

fn was_rebooted(claim: &Claim, now: Timestamp) -> bool {
    rebooted_at(claim).is_some_and(|at| now.duration_since(at) < REBOOT_HELPS_ONCE_IN)
}

/// `Ready is Unknown (NodeStatusUnknown) for 12 minutes`.
fn words(condition: &NodeCondition, since: Timestamp, now: Timestamp) -> String {
    let reason = if condition.reason.is_empty() { String::new() } else { format!(" ({})", condition.reason) };
    let minutes = now.duration_since(since).as_mins();
    let span = match minutes {
        _ if condition.since.is_none() => String::new(),
        0 => " since less than a minute".to_owned(),
        1 => " since one minute".to_owned(),
        more => format!(" since {more} minutes"),
    };
    format!("{} is {}{reason}{span}", condition.kind, condition.status.as_str())
}
