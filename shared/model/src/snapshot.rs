//! What the cluster looked like when an event was sent, as far as a decision needs it.

use jiff::Timestamp;
use std::collections::BTreeMap;

use crate::{
    Labels, Namespace, ObjectName, PodRef, Requirement, Resources, Taint, Toleration, Uid,
    place::{HostPort, PodTerm},
};

/// A compact picture of the cluster. NodeClaims in it are a hint: they are read fresh before new ones are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub taken_at: Timestamp,
    pub nodes: Vec<NodeSeen>,
    /// What pods on nodes are like. Nodes point into this list.
    pub shapes: Vec<PodShape>,
    /// The newest pod of each DaemonSet: it shows what admission made of the template.
    pub daemons: Vec<DaemonSeen>,
    /// Pods that had no node. One that waits no longer is on a node that this picture shows without it.
    pub unbound: Vec<UnboundSeen>,
    pub claims: Vec<ClaimInFlight>,
    pub pools: Vec<PoolSeen>,
    pub classes: Vec<ClassRef>,
}

/// A node, and how many pods of which shape are on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSeen {
    pub name: ObjectName,
    pub provider_id: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    pub capacity: Resources,
    pub allocatable: Resources,
    pub deleting: bool,
    pub pods: Vec<PodsSeen>,
}

/// Pods on one node that are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodsSeen {
    /// Position in `Snapshot::shapes`.
    pub shape: usize,
    pub count: u32,
}

/// What a pod on a node takes there, whom it keeps away, and what others count it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodShape {
    pub namespace: Namespace,
    pub labels: Labels,
    pub requests: Resources,
    /// Required terms.
    pub anti_affinity: Vec<PodTerm>,
    pub host_ports: Vec<HostPort>,
    /// Names of the volume claims it uses, in its namespace.
    pub volume_claims: Vec<String>,
    /// Being deleted.
    pub terminating: bool,
    pub daemon: Option<DaemonShape>,
}

/// What a pod of a DaemonSet says about those that are to come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonShape {
    /// The DaemonSet, in the pod's namespace.
    pub set: ObjectName,
    pub node_selector: BTreeMap<String, String>,
    pub tolerations: Vec<Toleration>,
    pub host_network: bool,
}

/// A pod without a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnboundSeen {
    pub pod: PodRef,
    /// The scheduler has looked and found none, and nobody else sees to it.
    pub waits: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonSeen {
    /// Position in `Snapshot::shapes`: namespace and name of the DaemonSet are there.
    pub shape: usize,
    pub created_at: Timestamp,
    /// The pod. Of two that are as old, the one with the later name is the newest.
    pub pod: ObjectName,
}

/// A NodeClaim that has no node yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimInFlight {
    pub name: ObjectName,
    pub uid: Uid,
    pub pool: Option<ObjectName>,
    pub requests: Resources,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolSeen {
    pub name: ObjectName,
    pub weight: u8,
    pub limits: Resources,
    pub requirements: Vec<Requirement>,
    pub class: ClassRef,
}

/// Which node class: its kind tells the provider.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClassRef {
    pub group: String,
    pub kind: String,
    pub name: ObjectName,
}

impl ClassRef {
    /// The label by which nodes name their class: its value is the name of the class.
    pub fn label(&self) -> String {
        class_label(&self.group, &self.kind)
    }
}

/// The label by which nodes of a class name it.
pub fn class_label(group: &str, kind: &str) -> String {
    format!("{group}/{}", kind.to_lowercase())
}

/// An event brings a snapshot, or says why the function must look for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotCarried {
    Carried(Box<Snapshot>),
    Missing(SnapshotMissing),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotMissing {
    /// The sender put none in.
    NotSent,
    /// An older or newer forwarder speaks a version that this build does not read.
    UnknownVersion(u32),
    /// It was larger than a snapshot may be.
    TooLarge { bytes: usize },
}

impl Snapshot {
    /// What is still free on a node: allocatable less the requests of its pods, never less than nothing.
    pub fn free(&self, node: &NodeSeen) -> Resources {
        let mut free = node.allocatable.clone();
        for pods in &node.pods {
            let Some(shape) = self.shapes.get(pods.shape) else { continue };
            for (name, amount) in free.iter_mut() {
                let one = match name.as_str() {
                    "pods" => 1000,
                    name => shape.requests.get(name).copied().unwrap_or_default().thousandths(),
                };
                let left = amount.thousandths().saturating_sub(one.saturating_mul(pods.count.into()));
                *amount = crate::Quantity::from_thousandths(left.max(0));
            }
        }
        free
    }
}
