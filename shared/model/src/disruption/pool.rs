//! What a NodePool says about taking its nodes away.

use jiff::{SignedDuration, Timestamp, tz::TimeZone};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolHere {
    pub consolidate_after: After,
    pub policy: Policy,
    /// As they are written: what cannot be read lets nothing go.
    pub budgets: Vec<Budget>,
    /// Of the budgets' schedules (annotation `pilotlight.dev/time-zone`); or why it cannot be told, and then no schedule lets
    /// anything go.
    pub time_zone: Result<TimeZone, String>,
    /// The annotation `pilotlight.dev/consolidate-gpu: "true"`: pods that use GPUs may be moved to save money.
    pub moves_gpu_work: bool,
    /// The annotation `pilotlight.dev/spot-to-spot: "true"`: a spot machine may be replaced by a cheaper spot machine.
    pub spot_to_spot: bool,
    /// What a replacement has to save at least, in thousandths of what its nodes cost now (annotation `pilotlight.dev/minimum-saving`).
    pub minimum_saving: u32,
    /// `spec.replicas`: its nodes are neither emptied nor consolidated, and what has to leave is replaced one for one.
    pub fixed_size: Option<FixedSize>,
    /// What a claim made now would carry; absent where nobody can tell.
    pub hash: Option<Hash>,
    pub class_hash: Option<Hash>,
    /// The images that nodes made now may have; none where nobody can tell.
    pub images: Vec<String>,
    /// The Kubernetes version that nodes made now have, as in `1.34.1`.
    pub kubernetes_version: Option<String>,
    /// Of the template, for nodes whose claim is not known. `None`: never.
    pub expire_after: Option<SignedDuration>,
    pub termination_grace: Option<SignedDuration>,
    /// Its nodes are machines of one's own, that are switched on and off.
    pub rack: Option<RackTimes>,
    /// Replacements failed again and again: it is left alone for a while.
    pub paused: Option<Paused>,
}

/// A pool that has so many nodes, whatever pods there are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FixedSize {
    pub replicas: u64,
    /// Why it makes no nodes now, apart from that it makes none for pods: it is being deleted, or not ready.
    pub closed: Option<String>,
}

/// `consolidateAfter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    Time(SignedDuration),
    Never,
}

/// `consolidationPolicy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Policy {
    WhenEmpty,
    #[default]
    WhenEmptyOrUnderutilized,
    /// Like the former, but a saving has to be worth the disturbance.
    Balanced,
}

/// One of `spec.disruption.budgets`, word by word.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Budget {
    pub nodes: String,
    /// For all of them if there are none here.
    pub reasons: Vec<String>,
    pub schedule: Option<String>,
    pub duration: Option<String>,
}

/// A hash, and the version of the rule that it was made by: only those of one version can be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hash {
    pub value: String,
    pub version: String,
}

impl PoolHere {
    /// For how long nothing has to have come or gone before a node of it may go: a machine of a rack is idle for its window as well.
    pub fn counts_from_pods(&self) -> After {
        match (self.consolidate_after, &self.rack) {
            (After::Time(time), Some(rack)) => After::Time(time.max(rack.idle)),
            (after, _) => after,
        }
    }
}

/// How machines of a rack are spared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RackTimes {
    /// How long a machine has to be idle before it goes off.
    pub idle: SignedDuration,
    /// How long it stays on at least.
    pub on: SignedDuration,
    /// How long it rests between two changes.
    pub rest: SignedDuration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paused {
    pub until: Timestamp,
    pub why: String,
}
