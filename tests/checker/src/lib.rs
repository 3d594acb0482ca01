//! An independent judge of plans: it takes a cluster, a catalogue and the answer of a planner, and lists what is wrong with the
//! answer. Slow and obvious on purpose, and written apart from the solver: it shares no code with what it judges.
//!
//! What each rule demands, and where it is lenient, stands in the README and at the head of the rule's file.

pub mod answer;
pub mod carry_out;
pub mod catalog;
pub mod cluster;
pub mod compare;
pub mod disruption;
pub mod exact;
pub mod labels;
pub mod load;
pub mod objects;
pub mod placement;
pub mod quantity;
pub mod random;
pub mod settle;

mod alone;
mod complete;
mod daemons;
mod fresh;
mod machines;
mod pods;
mod rules;
mod volumes;
mod workloads;

use std::fmt;

pub use answer::Answer;
pub use catalog::Catalog;
pub use cluster::Cluster;
pub use load::{LoadError, Objects};

/// The rules, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// Every pod that waits is answered once, with places that exist; claims and pods agree.
    Answer,
    /// Nothing asks for more than there is, on any node that may come of a claim.
    Capacity,
    /// No pod meets a taint that it does not tolerate.
    Taints,
    /// Node selectors and required node affinity.
    NodeAffinity,
    /// Required pod affinity.
    PodAffinity,
    /// Required pod anti-affinity, both ways.
    PodAntiAffinity,
    /// Topology spread that must hold.
    Spread,
    /// One pod a port, protocol and address of a host.
    HostPorts,
    /// Where volumes are, can be, and how many fit.
    Volumes,
    /// Offerings exist, are available, cost what is said, and stand in order.
    Offerings,
    /// A claim is what its pool allows, and says so.
    Pool,
    /// A claim demands only labels that its pool has.
    UndefinedLabel,
    /// `minValues`.
    MinValues,
    /// A pool's limits of resources.
    Limits,
    /// A pool's limit of nodes.
    NodeLimit,
    /// A pod is left out although a new node just for it would do.
    LeftOut,
    /// A node goes only for a reason that is so, and if nothing forbids it.
    Candidate,
    /// A pool's budgets: how many nodes go at a time.
    Budget,
    /// Every pod of a node that goes has another place, and nothing comes for nobody.
    Moves,
    /// What comes costs less than what goes, by enough.
    Price,
    /// A node goes before its replacement only where there is no room for both.
    TerminateFirst,
    /// A command holds even if no other one is carried out.
    Independent,
    /// Every node goes or stays, and what stays has a reason that is so.
    Kept,
}

/// One thing that is wrong with a plan, in plain words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub rule: Rule,
    pub message: String,
}

impl Violation {
    pub fn of(rule: Rule, message: impl Into<String>) -> Self {
        Self { rule, message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}: {}", self.rule, self.message)
    }
}

/// Everything that is wrong with a plan. Empty means that it is fine.
pub fn check(cluster: &Cluster, catalog: &Catalog, answer: &Answer) -> Vec<Violation> {
    let mut found = Vec::new();
    let placement = placement::Placement::new(cluster, catalog, answer, &mut found);
    rules::check(&placement, answer, &mut found);
    found
}
