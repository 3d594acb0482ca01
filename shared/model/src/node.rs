//! A Node and the pods on it, as the life of a claim needs them.

use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

use crate::{Namespace, ObjectName, ResourceVersion, Resources, Taint, Toleration, Truth, Uid};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub name: ObjectName,
    pub uid: Uid,
    pub version: ResourceVersion,
    pub created_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
    pub provider_id: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub finalizers: BTreeSet<String>,
    pub owners: BTreeSet<Uid>,
    pub taints: Vec<Taint>,
    pub unschedulable: bool,
    /// Its Ready condition; `Unknown` if it has none.
    pub ready: Truth,
    pub capacity: Resources,
    pub allocatable: Resources,
    pub os_image: Option<String>,
    /// Another value after each start of the machine.
    pub boot_id: Option<String>,
    /// All of them, those of others too: repair goes by them.
    pub conditions: Vec<NodeCondition>,
}

/// What a kubelet, a cloud or a watchdog says about a Node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeCondition {
    /// As in `Ready` or `KernelDeadlock`.
    pub kind: String,
    pub status: Truth,
    pub reason: String,
    pub message: String,
    /// When `status` last changed; absent where nobody said.
    pub since: Option<Timestamp>,
}

/// A pod that is bound to the node in question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    pub namespace: Namespace,
    pub name: ObjectName,
    pub uid: Uid,
    pub kind: PodKind,
    /// Of `system-cluster-critical` or `system-node-critical`.
    pub critical: bool,
    /// Succeeded or Failed: it holds nothing any more.
    pub terminal: bool,
    /// When the API server wants it gone: the request for deletion plus its grace.
    pub deleted_at: Option<Timestamp>,
    /// `terminationGracePeriodSeconds`.
    pub grace: SignedDuration,
    pub tolerations: Vec<Toleration>,
    /// The annotation `karpenter.sh/do-not-disrupt`, as it stands there.
    pub do_not_disrupt: Option<String>,
    pub started_at: Option<Timestamp>,
}

impl Pod {
    /// Whether it may come back to a node that is being emptied.
    pub fn tolerates_disruption(&self) -> bool {
        self.tolerations.iter().any(|toleration| toleration.tolerates(&Taint::disrupted()))
    }

    /// Whether a drain leaves it where it is: nobody can make a mirror go, what is over holds nothing, and a DaemonSet would put
    /// its pod there again at once. Other pods are work, whatever they tolerate.
    pub fn is_left_by_drains(&self) -> bool {
        let comes_back = self.kind == PodKind::Daemon && self.tolerates_disruption();
        self.kind == PodKind::Mirror || self.terminal || comes_back
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PodKind {
    Ordinary,
    /// Of a DaemonSet: it comes back wherever the node is.
    Daemon,
    /// Of the kubelet itself: the API server shows only its mirror.
    Mirror,
}

impl PodKind {
    /// From the kinds of its owners. Any of them tells, as in Karpenter: a tool that makes pods itself may not say which one controls.
    pub fn of_owners<'a>(mut kinds: impl Iterator<Item = &'a str> + Clone) -> Self {
        if kinds.clone().any(|kind| kind == "Node") {
            PodKind::Mirror
        } else if kinds.any(|kind| kind == "DaemonSet") {
            PodKind::Daemon
        } else {
            PodKind::Ordinary
        }
    }
}

/// A volume that is attached to the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeAttached {
    pub name: ObjectName,
    /// It belongs to a pod that is not drained, so nobody waits for it.
    pub of_staying_pod: bool,
}
