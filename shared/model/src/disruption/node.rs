//! A node as a candidate: whose it is, how old, what is wrong with it, and what keeps everybody's hands off it.

use jiff::{SignedDuration, Timestamp};

use super::Hash;
use crate::InstanceKey;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeHere {
    /// Position in `Scene::nodes`.
    pub node: usize,
    pub created_at: Timestamp,
    /// Absent where only the Node is known, as in files: its labels then say enough.
    pub claim: Option<ClaimHere>,
    pub ready: bool,
    /// `spec.unschedulable`: a person works on it.
    pub cordoned: bool,
    /// The annotation `karpenter.sh/do-not-disrupt` on Node or claim: `true`, or a time from its making that is not over.
    pub do_not_disrupt: bool,
    /// The annotation `karpenter.sh/do-not-repair: "true"`, on Node or claim.
    pub do_not_repair: bool,
    pub control_plane: bool,
    /// The process that decides runs on it.
    pub runs_us: bool,
    /// A command that was decided before has it, or it carries the taint `karpenter.sh/disrupted`.
    pub disrupted: bool,
    /// Pods that wait are expected on it, in words: which. Those that this decision itself finds room for need not be here.
    pub nominated: Option<String>,
    /// What a repair policy found.
    pub unhealthy: Option<Unhealthy>,
    /// `status.nodeInfo.kubeletVersion`, as in `v1.34.1`.
    pub kubelet_version: Option<String>,
    /// When the last of its pods came, as the pods say: for a node without a claim that notes it.
    pub last_came: Option<Timestamp>,
    /// When a machine of a rack was switched on or off last, or a command on it was undone. It then rests for the pool's cool-down.
    pub changed_at: Option<Timestamp>,
}

/// What its claim says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimHere {
    pub key: InstanceKey,
    pub created_at: Timestamp,
    /// Since when it is Initialized.
    pub initialized_at: Option<Timestamp>,
    /// `status.lastPodEventTime`.
    pub last_pod_event: Option<Timestamp>,
    /// `None`: never.
    pub expire_after: Option<SignedDuration>,
    pub termination_grace: Option<SignedDuration>,
    /// A Drifted condition that somebody set.
    pub drifted: Option<Drift>,
    /// What the template of its pool was when it was made.
    pub pool_hash: Option<Hash>,
    pub class_hash: Option<Hash>,
    pub image: Option<String>,
}

/// It is not what its pool would make today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// PascalCase, as in `NodePoolDrifted`.
    pub reason: String,
    /// In words; may be empty.
    pub message: String,
    /// When it was seen first.
    pub since: Timestamp,
}

/// Something is wrong with it for longer than its policy tolerates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unhealthy {
    /// In words, as in `Ready is Unknown since 12 minutes`.
    pub what: String,
    pub since: Timestamp,
    /// Greater first.
    pub priority: u8,
    pub remedy: Remedy,
    /// How long the drain may take before pods go without being asked: absent, what the claim says; zero, at once.
    pub drain_within: Option<SignedDuration>,
    /// The machine goes anyway (a spot eviction notice): no budget and no brake holds it.
    pub urgent: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Remedy {
    Replace,
    /// The same machine, started again. Its pods get no new node for it.
    Reboot,
}
