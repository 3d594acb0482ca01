//! What is kept of each object: enough to see whether a change matters, to write its event, and to draw the snapshot.

use jiff::Timestamp;
use model::{
    PodKind, Resources,
    place::{HostPort, PodTerm},
};
use std::{collections::BTreeMap, sync::Arc};

use crate::wire::{ClassRef, Requirement, Taint, Texts, Toleration};

/// Which object, and which version of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Id {
    pub namespace: Option<Arc<str>>,
    pub name: Box<str>,
    pub uid: Box<str>,
    pub version: Box<str>,
}

/// What is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Pod,
    Node,
    Claim,
    Pool,
    Workspace,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    pub id: Id,
    pub node: Option<Arc<str>>,
    /// Equal pods share it.
    pub shape: Arc<Shape>,
    pub kind: PodKind,
    /// The scheduler has looked and found no place.
    pub unschedulable: bool,
    /// The scheduler is making room for it.
    pub nominated: bool,
    pub over: bool,
    pub deleting: bool,
    /// Of pods of a DaemonSet: the newest shows what the next one will be like.
    pub created_at: Option<Timestamp>,
}

/// What pods of one template have in common.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    pub labels: Texts,
    pub requests: Resources,
    pub node_selector: Texts,
    pub tolerations: Vec<Toleration>,
    pub anti_affinity: Vec<PodTerm>,
    pub host_ports: Vec<HostPort>,
    /// The volume claims it uses, in its namespace.
    pub volume_claims: Vec<String>,
    /// The DaemonSet it belongs to.
    pub daemon: Option<Box<str>>,
    pub host_network: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub id: Id,
    pub provider_id: Option<String>,
    pub labels: Texts,
    pub taints: Vec<Taint>,
    pub unschedulable: bool,
    /// Equal machines share these.
    pub capacity: Arc<Resources>,
    pub allocatable: Arc<Resources>,
    pub ready: String,
    /// Its cloud has said that the machine goes in a moment.
    pub notice: bool,
    pub deleting: bool,
    /// Whether our finalizer holds it.
    pub held: bool,
    /// The claim that owns it.
    pub claim: Option<Box<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub id: Id,
    pub deleting: bool,
    pub generation: i64,
    pub class: ClassRef,
    pub pool: Option<String>,
    pub requests: Resources,
    pub requirements: Vec<Requirement>,
    pub provider_id: Option<String>,
    pub node: Option<String>,
    pub conditions: Conditions,
    /// Labels and annotations, as one number; without those that our own functions write.
    pub marks: u64,
    /// The KAITO Workspace it was made for, with its namespace.
    pub workspace: Option<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    pub id: Id,
    pub deleting: bool,
    pub generation: i64,
    pub weight: u8,
    pub limits: Resources,
    pub requirements: Vec<Requirement>,
    pub class: ClassRef,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    pub id: Id,
    pub deleting: bool,
    pub generation: i64,
    pub instance_type: Option<String>,
    pub count: u32,
    pub preset: Option<String>,
    pub conditions: Conditions,
    pub marks: u64,
}

/// Condition to status, as in `Ready` to `True`.
pub type Conditions = BTreeMap<String, String>;

impl Kind {
    pub const ALL: [Kind; 5] = [Kind::Pod, Kind::Node, Kind::Claim, Kind::Pool, Kind::Workspace];

    /// In metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Pod => "pods",
            Kind::Node => "nodes",
            Kind::Claim => "nodeclaims",
            Kind::Pool => "nodepools",
            Kind::Workspace => "workspaces",
        }
    }
}

impl Pod {
    /// Whether it waits for a node that nobody has promised it: Karpenter's rule.
    pub fn waits(&self) -> bool {
        let free = self.node.is_none() && !self.nominated && !self.over && !self.deleting;
        self.unschedulable && free && self.kind == PodKind::Ordinary
    }
}

impl Shape {
    /// GPUs and their like: whatever has a vendor's name before a slash.
    pub fn asks_for_devices(&self) -> bool {
        self.requests.keys().any(|name| name.contains('/') && !name.starts_with("kubernetes.io/"))
    }
}

impl Claim {
    pub fn is(&self, condition: &str) -> bool {
        self.conditions.get(condition).is_some_and(|status| status == "True")
    }
}
