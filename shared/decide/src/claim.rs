//! The life of a claim: launched, registered, initialized. One step at a time, from whatever was seen.
//!
//! `plan` says what to do, `conclude` what to write down about it. Neither remembers anything: whoever comes next, on any
//! machine, decides the same from the claim, its launch record and its node.

mod initialization;
mod joined;
mod launch;
mod policy;
mod registration;
mod request;
mod whose;
mod words;

use core::time::Duration;
use jiff::Timestamp;
use model::{
    Action, ActionResult, Answer, Claim, ClaimChange, Conclusion, ConditionKind, Failure, Launch, LaunchRecord, Next,
    Node, Note, Offering, Plan, Requirement, StockMemory, Truth,
};
use std::collections::BTreeMap;

use crate::{conditions, money::Money};

pub use policy::Policy;
pub(crate) use whose::made_for_gpu_provisioner;
pub use whose::{AlsoManage, Ours, Whose, depends_on_karpenter, provider_of_class, whose};

/// Everything a step needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Situation {
    pub claim: Claim,
    pub ours: Ours,
    /// The claim's, in the provider's own names.
    pub requirements: Vec<Requirement>,
    pub class: ClassSeen,
    pub offerings: OfferingsSeen,
    pub stock: StockMemory,
    /// The nodes that belong to the claim.
    pub nodes: Vec<Node>,
    pub policy: Policy,
    pub money: Money,
    /// The provider keeps secrets for joining, and wants to hear when they are not needed any more.
    pub tell_joined: bool,
    pub now: Timestamp,
}

/// The node class, as flat text with its secrets, the way providers read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClassSeen {
    Known(BTreeMap<String, String>),
    /// It is not there, or something it names is not. What to do is in the text.
    NotReady {
        reason: &'static str,
        why: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OfferingsSeen {
    /// No choice is to be made.
    NotAsked,
    Known(Vec<Offering>),
    Failed(Failure),
}

/// How far it has come.
enum Phase<'a> {
    /// On its way out, which is another function's work.
    Leaving,
    /// Its record cannot be read, and it is needed: there is no machine yet.
    Stuck(&'a str),
    Choosing,
    Launching(&'a LaunchRecord),
    Registering,
    Initializing,
    Settled,
}

/// Whether the next step chooses an offering, so that the catalogue and the stock memory have to be read.
pub fn needs_offerings(claim: &Claim) -> bool {
    matches!(phase(claim), Phase::Choosing)
}

/// Whether more is to come of it, up or down. `tell_joined` as in [`Situation`].
pub fn is_unfinished(claim: &Claim, tell_joined: bool) -> bool {
    let untold = || tell_joined && claim.record().is_some_and(|record| !record.told_joined);
    !matches!(phase(claim), Phase::Settled) || untold()
}

fn phase(claim: &Claim) -> Phase<'_> {
    match &claim.launch {
        _ if claim.deleted_at.is_some() => Phase::Leaving,
        _ if claim.is(ConditionKind::Initialized) => Phase::Settled,
        _ if claim.is(ConditionKind::Registered) => Phase::Initializing,
        _ if claim.is(ConditionKind::Launched) => Phase::Registering,
        Launch::Unreadable { why } => Phase::Stuck(why),
        Launch::Recorded(record) if !record.is_spent() => Phase::Launching(record),
        Launch::Recorded(_) | Launch::NotBegun => Phase::Choosing,
    }
}

pub fn plan(seen: &Situation) -> Plan {
    let actions = match phase(&seen.claim) {
        Phase::Leaving | Phase::Stuck(_) => Vec::new(),
        Phase::Choosing => launch::choose(seen),
        Phase::Launching(record) => launch::resume(seen, record),
        Phase::Registering => registration::plan(seen),
        Phase::Initializing => initialization::plan(seen),
        // Nothing behind it: every second counts, and its pods are waiting to be told.
        Phase::Settled if notice(seen).is_some() => vec![Action::DeleteClaim],
        Phase::Settled => joined::plan(seen),
    };
    Plan { actions }
}

/// `results` has one entry for each action.
pub fn conclude(seen: &Situation, plan: &Plan, results: &[ActionResult]) -> Conclusion {
    let mut ending = Ending::new(seen);
    if let Some(next) = cut_short(plan, results) {
        return ending.end(next);
    }
    let next = match phase(&seen.claim) {
        Phase::Leaving => Next::Answer(Answer::nothing(format!("{} is on its way out", ending.subject()))),
        Phase::Stuck(why) => launch::stuck(&mut ending, why),
        Phase::Choosing | Phase::Launching(_) => launch::conclude(&mut ending, plan, results),
        Phase::Registering => registration::conclude(&mut ending, plan),
        Phase::Initializing => {
            let untold = joined::conclude(&mut ending, plan, results);
            initialization::conclude(&mut ending, plan, untold)
        }
        Phase::Settled if is_giving_up(plan) => {
            let kind = notice(seen).unwrap_or_default().to_owned();
            give_up(&mut ending, "SpotInterrupted", format!("the cloud takes the machine away in a moment ({kind})"))
        }
        Phase::Settled => joined::conclude(&mut ending, plan, results).unwrap_or_else(|| {
            let node = seen.claim.status.node.as_deref().unwrap_or("?");
            Next::Answer(Answer::nothing(format!("{} is ready on node {node}", ending.subject())))
        }),
    };
    ending.end(next)
}

/// The notice of a cloud that takes the machine of this claim away, whatever we do. What runs there can only be told at once.
fn notice(seen: &Situation) -> Option<&str> {
    let conditions = seen.nodes.iter().flat_map(|node| &node.conditions);
    conditions.into_iter().find(|one| crate::repair::is_notice(one)).map(|one| one.kind.as_str())
}

/// A write that somebody else won, or that did not work: what was planned behind it has not happened.
fn cut_short(plan: &Plan, results: &[ActionResult]) -> Option<Next> {
    plan.actions.iter().zip(results).find_map(|(action, result)| match (action, result) {
        (_, ActionResult::Lost) => Some(later("somebody else is working on it", Duration::from_secs(1))),
        // Somebody removed the ledger: it is made again.
        (Action::Reserve(_), ActionResult::WasGone) => Some(later("what is spent is counted", Duration::from_secs(1))),
        // The claim is still there, and so are its times.
        (Action::ChangeNode(_), ActionResult::WasGone) => Some(later("its node is gone", Duration::from_secs(1))),
        (_, ActionResult::WasGone) => Some(Next::Answer(Answer::nothing("it is gone"))),
        (_, ActionResult::NotNow { why }) => Some(later(why, Duration::from_secs(5))),
        // What a cloud refuses is part of a claim's life; its phase knows what it means.
        (Action::Ensure { .. }, _) => None,
        (_, ActionResult::Failed(failure)) => Some(later(&failure.message, launch::wait_after(failure))),
        _ => None,
    })
}

fn later(reason: &str, after: Duration) -> Next {
    Next::Answer(Answer::Later { reason: reason.to_owned(), after })
}

/// What is being written down.
struct Ending<'a> {
    seen: &'a Situation,
    conclusion: Conclusion,
}

impl<'a> Ending<'a> {
    fn new(seen: &'a Situation) -> Self {
        let conclusion = Conclusion {
            claim: ClaimChange::default(),
            status: seen.claim.status.clone(),
            notes: Vec::new(),
            unavailable: Vec::new(),
            next: Next::AtOnce,
        };
        Ending { seen, conclusion }
    }

    fn subject(&self) -> String {
        format!("NodeClaim {}", self.seen.claim.key.name)
    }

    fn set(&mut self, kind: ConditionKind, truth: Truth, reason: &str, message: &str) {
        conditions::set(&mut self.conclusion.status, kind, truth, reason, message, self.seen.now);
    }

    /// A condition and, if its reason is new, an Event with the same words.
    fn warn(&mut self, kind: ConditionKind, truth: Truth, reason: &'static str, message: &str) {
        let is_new = self.seen.claim.condition(kind).is_none_or(|old| old.reason != reason || old.status != truth);
        self.set(kind, truth, reason, message);
        if is_new {
            self.note(true, reason, message.to_owned());
        }
    }

    fn note(&mut self, warning: bool, reason: &'static str, text: String) {
        self.conclusion.notes.push(Note { warning, reason, text });
    }

    fn end(mut self, next: Next) -> Conclusion {
        self.conclusion.next = next;
        self.conclusion
    }
}

/// A phase took too long: the claim goes, and with it whatever it has in a cloud. Its owner makes another.
fn give_up(ending: &mut Ending, reason: &'static str, message: String) -> Next {
    let text = format!("{message}; the claim is deleted");
    ending.note(true, reason, text.clone());
    Next::Answer(Answer::Done { reason: format!("{}: {text}", ending.subject()) })
}

fn is_giving_up(plan: &Plan) -> bool {
    plan.actions.first() == Some(&Action::DeleteClaim)
}
