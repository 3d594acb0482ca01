//! What is to be done with nodes: each command whole, and why every other node stays.

use core::fmt;
use jiff::{SignedDuration, Timestamp};

use super::{Kept, Remedy};
use crate::{ClaimToMake, InstanceKey, ObjectName, PodRef, place::ClaimPlanned};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// Independent of each other: one may fail and the others hold. In the order they matter.
    pub disruptions: Vec<Disruption>,
    /// Every Node that stays.
    pub kept: Vec<Kept>,
    /// The earliest time at which the same cluster would be decided differently, as far as that can be told.
    pub look_again: Option<Timestamp>,
    /// Time ran out: what is here holds, and nodes with [`KeptCode::OutOfTime`](super::KeptCode::OutOfTime) were not come to.
    pub out_of_time: bool,
}

/// One command. Nothing in it is left to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disruption {
    pub reason: Reason,
    /// Sorted by name.
    pub nodes: Vec<Leaving>,
    /// To be made, and Initialized, before the nodes go. None at all: their pods have room elsewhere.
    pub replacements: Vec<Replacement>,
    pub order: Order,
    /// For [`Reason::Unhealthy`], what is done about it.
    pub remedy: Remedy,
    /// Where each pod is expected to go.
    pub moves: Vec<Move>,
    /// Millionths an hour; negative if it costs more afterwards.
    pub saves: i64,
    /// How long a drain may take before pods go without being asked: absent, what the claim says.
    pub drain_within: Option<SignedDuration>,
    /// In words for a person.
    pub why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    Unhealthy,
    Empty,
    Expired,
    Drifted,
    Underutilized,
}

/// What comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// The replacements are up before the nodes go.
    ReplaceFirst,
    /// There is no room for a replacement while the node is there (a rack, a used-up quota, a pool at its limit): it is drained and
    /// deleted, and the ordinary way brings a new one.
    TerminateFirst,
}

/// A node that goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving {
    pub node: ObjectName,
    /// Absent where only the Node is known, as in files.
    pub claim: Option<InstanceKey>,
    pub pool: ObjectName,
    /// Millionths an hour, where it is known.
    pub price: Option<u64>,
}

/// A claim to make before nodes go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    pub claim: ClaimToMake,
    /// The same with its offerings. `pods` are positions in `Inventory::pods`.
    pub planned: ClaimPlanned,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    pub pod: PodRef,
    pub from: ObjectName,
    pub to: To,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum To {
    Node(ObjectName),
    /// Position in `Disruption::replacements`.
    Replacement(usize),
    /// Whatever ordinary provisioning gives it: [`Order::TerminateFirst`].
    Later,
}

impl Reason {
    pub const ALL: [Reason; 5] =
        [Reason::Unhealthy, Reason::Empty, Reason::Expired, Reason::Drifted, Reason::Underutilized];

    /// As budgets and events spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Unhealthy => "Unhealthy",
            Reason::Empty => "Empty",
            Reason::Expired => "Expired",
            Reason::Drifted => "Drifted",
            Reason::Underutilized => "Underutilized",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Disruption {
    /// `replace` or `delete`.
    pub fn action(&self) -> &'static str {
        if self.replacements.is_empty() { "delete" } else { "replace" }
    }
}
