//! A NodeClaim: what was asked for, how far it has come, and what we wrote down about it.

use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

use crate::{ClassRef, InstanceKey, Offering, OfferingId, Progress, Requirement, ResourceVersion, Resources, Taint};

/// The claim as it was read. A write is made against its version, so whoever read something older loses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub key: InstanceKey,
    pub version: ResourceVersion,
    pub created_at: Timestamp,
    /// Somebody asked for it to go.
    pub deleted_at: Option<Timestamp>,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub finalizers: BTreeSet<String>,
    /// It has an owner, who makes another one when it is gone. One made by hand has none.
    pub has_owner: bool,
    pub class: ClassRef,
    pub requirements: Vec<Requirement>,
    pub requests: Resources,
    pub taints: Vec<Taint>,
    pub startup_taints: Vec<Taint>,
    /// How long a drain may take before pods go without being asked.
    pub termination_grace: Option<SignedDuration>,
    pub launch: Launch,
    pub status: ClaimStatus,
}

/// What stands in its status, as far as we write it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClaimStatus {
    pub provider_id: Option<String>,
    pub node: Option<String>,
    pub image: Option<String>,
    pub capacity: Resources,
    pub allocatable: Resources,
    /// The kinds we know; others stay as they are.
    pub conditions: Vec<Condition>,
    /// When a pod last came to the node or left it, as far as anybody looked.
    pub last_pod_event: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    pub kind: ConditionKind,
    pub status: Truth,
    /// PascalCase, for programs.
    pub reason: String,
    /// For people.
    pub message: String,
    /// When `status` last changed.
    pub since: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConditionKind {
    Launched,
    Registered,
    Initialized,
    Drained,
    VolumesDetached,
    InstanceTerminating,
    /// Launched, Registered and Initialized.
    Ready,
    /// Nothing happened on its node for as long as its pool's `consolidateAfter`.
    Consolidatable,
    /// It is not what its pool would make today.
    Drifted,
    /// A command is about to take it away; the reason says why.
    DisruptionReason,
    /// Its machine is being started anew.
    Rebooting,
    /// Something that a person can change keeps its node from being taken away; the message names it.
    DisruptionBlocked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Truth {
    True,
    False,
    Unknown,
}

/// What the annotation `pilotlight.dev/launch` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launch {
    NotBegun,
    Recorded(Box<LaunchRecord>),
    /// Somebody else wrote there. Nothing is launched on a guess.
    Unreadable {
        why: String,
    },
}

/// The intent, written before the effect: any later invocation, on any machine, goes on from here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchRecord {
    /// Counts the attempts: a new offering is a new epoch.
    pub epoch: u32,
    /// Whole, so that a resumed request is the same request.
    pub offering: Offering,
    pub begun_at: Timestamp,
    /// When the cloud took the order. From then on the machine has to come and join.
    pub accepted_at: Option<Timestamp>,
    /// When this attempt is given up.
    pub deadline: Timestamp,
    /// In the provider's own words: of the making, or, once the claim is to go, of the removing.
    pub progress: Option<Progress>,
    /// What was tried before, and why it did not work, the oldest first.
    pub tried: Vec<Attempt>,
    /// The provider was told that the node has joined, and removed what only joining needed.
    pub told_joined: bool,
}

/// An offering that did not work out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub offering: OfferingId,
    /// PascalCase, as in conditions.
    pub reason: String,
    pub at: Timestamp,
}

impl Claim {
    pub fn condition(&self, kind: ConditionKind) -> Option<&Condition> {
        self.status.conditions.iter().find(|condition| condition.kind == kind)
    }

    pub fn is(&self, kind: ConditionKind) -> bool {
        self.condition(kind).is_some_and(|condition| condition.status == Truth::True)
    }

    pub fn record(&self) -> Option<&LaunchRecord> {
        match &self.launch {
            Launch::Recorded(record) => Some(record),
            Launch::NotBegun | Launch::Unreadable { .. } => None,
        }
    }
}

impl ConditionKind {
    pub const ALL: [ConditionKind; 12] = [
        ConditionKind::Launched,
        ConditionKind::Registered,
        ConditionKind::Initialized,
        ConditionKind::Drained,
        ConditionKind::VolumesDetached,
        ConditionKind::InstanceTerminating,
        ConditionKind::Ready,
        ConditionKind::Consolidatable,
        ConditionKind::Drifted,
        ConditionKind::DisruptionReason,
        ConditionKind::Rebooting,
        ConditionKind::DisruptionBlocked,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            ConditionKind::Launched => "Launched",
            ConditionKind::Registered => "Registered",
            ConditionKind::Initialized => "Initialized",
            ConditionKind::Drained => "Drained",
            ConditionKind::VolumesDetached => "VolumesDetached",
            ConditionKind::InstanceTerminating => "InstanceTerminating",
            ConditionKind::Ready => "Ready",
            ConditionKind::Consolidatable => "Consolidatable",
            ConditionKind::Drifted => "Drifted",
            ConditionKind::DisruptionReason => "DisruptionReason",
            ConditionKind::Rebooting => "Rebooting",
            ConditionKind::DisruptionBlocked => "DisruptionBlocked",
        }
    }
}

impl Truth {
    pub fn as_str(self) -> &'static str {
        match self {
            Truth::True => "True",
            Truth::False => "False",
            Truth::Unknown => "Unknown",
        }
    }
}

impl LaunchRecord {
    /// Its offering has failed and the next one is to be chosen.
    pub fn is_spent(&self) -> bool {
        self.tried.last().is_some_and(|last| last.offering == self.offering.id && last.at >= self.begun_at)
    }
}
