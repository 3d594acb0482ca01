//! A pod on a node that may go: whether it has to move, what that costs, and what forbids it.

use jiff::Timestamp;

use crate::{Namespace, ObjectName, PodKind, Uid, place::PodToPlace};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodHere {
    /// Absent where nothing is known of it but that it is there.
    pub uid: Option<Uid>,
    pub kind: PodKind,
    /// As one that looks for a place. Absent for what runs nowhere else when its node is gone: pods of DaemonSets, mirror pods, and
    /// those that are being deleted (but not of a StatefulSet, whose name has to come back).
    pub moves: Option<PodToPlace>,
    /// Its owner is of those that nobody waits for.
    pub ignored: bool,
    /// The annotation `karpenter.sh/do-not-disrupt`, as it stands there.
    pub do_not_disrupt: Option<String>,
    pub started_at: Option<Timestamp>,
    /// Positions in `Inventory::pod_budgets` of those that select it.
    pub budgets: Vec<usize>,
    /// Its Ready condition is False.
    pub unready: bool,
    /// It tolerates the taint `karpenter.sh/disrupted`, so nobody evicts it.
    pub stays: bool,
    /// `karpenter.sh/disruption-cost`, else `controller.kubernetes.io/pod-deletion-cost`; zero where neither can be read.
    pub cost: i32,
    pub priority: i32,
}

/// A PodDisruptionBudget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodBudget {
    pub namespace: Namespace,
    pub name: ObjectName,
    /// `status.disruptionsAllowed`.
    pub allowed: i32,
    /// `unhealthyPodEvictionPolicy: AlwaysAllow`.
    pub lets_unready_go: bool,
}
