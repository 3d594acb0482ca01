//! What the cluster looked like when an event was sent, as far as a decision needs it.

use jiff::Timestamp;
use std::collections::BTreeMap;

use crate::{Namespace, ObjectName, Requirement, Resources, Taint, Uid};

/// A compact picture of the cluster. NodeClaims in it are a hint: they are read fresh before new ones are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub taken_at: Timestamp,
    pub nodes: Vec<NodeSeen>,
    pub pods: Vec<PodBound>,
    pub claims: Vec<ClaimInFlight>,
    pub pools: Vec<PoolSeen>,
    pub classes: Vec<ClassRef>,
}

/// A node and what is still free on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSeen {
    pub name: ObjectName,
    pub provider_id: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    pub free: Resources,
}

/// A pod that is bound, as far as topology needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodBound {
    pub namespace: Namespace,
    pub name: ObjectName,
    pub node: ObjectName,
    pub labels: BTreeMap<String, String>,
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
    /// A newer forwarder speaks a version that this build does not read.
    UnknownVersion(u32),
    /// It was larger than a snapshot may be.
    TooLarge { bytes: usize },
}
