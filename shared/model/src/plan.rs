//! What is to be done, with nothing left to choose; and what came of it.

use core::time::Duration;
use jiff::SignedDuration;
use std::collections::BTreeMap;

use crate::{
    Answer, ClaimStatus, Ensured, Gone, InstanceKey, InstanceRequest, LaunchRecord, Ledger, Namespace, ObjectName,
    Progress, ResourceVersion, Scope, Taint, Uid, Unavailable,
};

/// Carried out in order. The first that does not come out ends it (a machine that is still on its way out has not), except
/// where many of a kind stand side by side (evictions): those are all tried.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    pub actions: Vec<Action>,
}

/// One effect, idempotent: done twice, it is done once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// The claim's metadata, in one write against the version that was read. Whoever loses it stops.
    ChangeClaim(ClaimChange),
    /// What is to be spent, in one write against the version that was read. Whoever loses it has counted too little.
    Reserve(Reservation),
    DeleteClaim,
    ChangeNode(NodeChange),
    DeleteNode {
        name: ObjectName,
        uid: Uid,
    },
    /// By the eviction API: a disruption budget may refuse.
    Evict(PodRef),
    /// Without asking: a deadline that somebody set has come.
    DeletePod {
        pod: PodRef,
        grace: SignedDuration,
    },
    Ensure {
        request: Box<InstanceRequest>,
        progress: Option<Progress>,
    },
    EnsureGone {
        provider: String,
        key: InstanceKey,
        progress: Option<Progress>,
    },
}

/// A change of the claim's metadata; what is not named stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClaimChange {
    pub record: Option<Box<LaunchRecord>>,
    pub labels: BTreeMap<String, String>,
    /// `None` removes.
    pub annotations: BTreeMap<String, Option<String>>,
    pub finalizer: FinalizerChange,
}

/// The ledger as it was read, and as it is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    pub before: Ledger,
    /// Absent where there was none.
    pub version: Option<ResourceVersion>,
    pub after: Ledger,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FinalizerChange {
    #[default]
    Keep,
    Add,
    Remove,
}

/// A change of a Node, in one write against the version that was read; what is not named stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeChange {
    pub name: ObjectName,
    pub version: ResourceVersion,
    /// `None` removes.
    pub labels: BTreeMap<String, Option<String>>,
    pub annotations: BTreeMap<String, Option<String>>,
    /// The whole list.
    pub taints: Option<Vec<Taint>>,
    pub finalizer: FinalizerChange,
    pub owner: OwnerChange,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum OwnerChange {
    #[default]
    Keep,
    /// The claim owns the Node: when the claim is gone, so is the Node.
    Add(InstanceKey),
    Remove(Uid),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PodRef {
    pub namespace: Namespace,
    pub name: ObjectName,
    /// The precondition: another pod under the same name is not meant.
    pub uid: Uid,
}

/// What came of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionResult {
    Done,
    /// The object was gone already, or is another one of the same name.
    WasGone,
    /// Somebody else wrote first: what was read is old.
    Lost,
    /// A rule of the cluster does not let it happen now: a disruption budget.
    NotNow {
        why: String,
    },
    Failed(Failure),
    Ensured(Ensured),
    Gone(Gone),
    /// One before it did not come out.
    NotTried,
}

/// Why something did not work, as far as a decision needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Few, static, PascalCase: for conditions, events and metrics.
    pub reason: &'static str,
    /// For people: what was being done, to what, and what they can do.
    pub message: String,
    pub retry: Retry,
    /// What a capacity failure is about.
    pub scope: Option<Scope>,
    /// The quota, where one is used up; zero has to be raised by a person.
    pub limit: Option<u64>,
}

/// What the caller does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Another offering, now.
    NextOffering,
    /// The same again, after this long at the least.
    SameAfter(Duration),
    /// Ask what happened, by the key.
    ReadBack,
    /// Not until a person changed something.
    Never,
}

/// What is written down at the end: one status write, the last word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclusion {
    /// Written before the status; nothing if it is empty.
    pub claim: ClaimChange,
    pub status: ClaimStatus,
    pub notes: Vec<Note>,
    /// To be remembered for everybody.
    pub unavailable: Vec<Unavailable>,
    pub next: Next,
}

/// An Event for people, on the claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub warning: bool,
    /// PascalCase.
    pub reason: &'static str,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Read, decide and act again at once: there is a next step and nothing to wait for.
    AtOnce,
    Answer(Answer),
}

impl ClaimChange {
    pub fn is_empty(&self) -> bool {
        *self == ClaimChange::default()
    }
}

impl NodeChange {
    /// A change of nothing, to be filled in.
    pub fn new(name: ObjectName, version: ResourceVersion) -> Self {
        NodeChange {
            name,
            version,
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            taints: None,
            finalizer: FinalizerChange::Keep,
            owner: OwnerChange::Keep,
        }
    }
}
