//! A pod that wants a place, with every rule it brings.

use jiff::Timestamp;

use super::{PodTerm, Selector, Spread};
use crate::{Labels, Namespace, ObjectName, Requirement, Resources, Toleration, Uid};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodToPlace {
    pub namespace: Namespace,
    pub name: ObjectName,
    pub uid: Uid,
    /// Of two pods that are alike, the older one is placed first.
    pub created_at: Option<Timestamp>,
    /// `spec.priority`. A higher one is placed first where limits do not suffice for all.
    pub priority: i32,
    pub labels: Labels,
    /// What the scheduler counts: the larger of init containers and the sum of containers and sidecars, plus the overhead of its
    /// RuntimeClass; limits stand in for requests that are missing. The one place of `pods` that each pod takes is added by the solve.
    pub requests: Resources,
    /// `spec.nodeSelector`.
    pub node_selector: Labels,
    /// `nodeAffinity.required…nodeSelectorTerms`: one of them must hold. None at all asks for nothing; an empty term holds nowhere.
    pub node_affinity: Vec<NodeTerm>,
    pub preferred_node_affinity: Vec<Weighted<NodeTerm>>,
    /// `podAffinity.required…`: all of them must hold.
    pub affinity: Vec<PodTerm>,
    pub preferred_affinity: Vec<Weighted<PodTerm>>,
    /// `podAntiAffinity.required…`, which also keeps later pods away from this one.
    pub anti_affinity: Vec<PodTerm>,
    pub preferred_anti_affinity: Vec<Weighted<PodTerm>>,
    pub spread: Vec<Spread>,
    /// What selects the pods of its kind: from the Services that select it and the controller that owns it. For the scheduler's
    /// default constraints; absent where nothing tells.
    pub default_selector: Option<Box<Selector>>,
    pub tolerations: Vec<Toleration>,
    pub host_ports: Vec<HostPort>,
    pub volumes: Vec<Volume>,
    /// Position in `Scene::nodes` of the node or claim that an earlier answer put it on: kept if it still holds, so that solving
    /// again while nodes come up changes nothing.
    pub planned: Option<usize>,
    /// Why this pod cannot be placed at all, whatever the cluster: a volume claim that is lost, a quantity that is none. It gets
    /// this as its reason and stops nobody else.
    pub invalid: Option<Box<Invalid>>,
}

impl PodToPlace {
    /// A pod that asks for nothing.
    pub fn new(namespace: Namespace, name: ObjectName, uid: Uid) -> Self {
        PodToPlace {
            namespace,
            name,
            uid,
            created_at: None,
            priority: 0,
            labels: Labels::new(),
            requests: Resources::new(),
            node_selector: Labels::new(),
            node_affinity: vec![],
            preferred_node_affinity: vec![],
            affinity: vec![],
            preferred_affinity: vec![],
            anti_affinity: vec![],
            preferred_anti_affinity: vec![],
            spread: vec![],
            default_selector: None,
            tolerations: vec![],
            host_ports: vec![],
            volumes: vec![],
            planned: None,
            invalid: None,
        }
    }
}

/// Something to wish for, and how much: 1 to 100.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Weighted<T> {
    pub weight: i32,
    pub term: T,
}

/// One NodeSelectorTerm: all of it must hold.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct NodeTerm {
    /// `matchExpressions`.
    pub expressions: Vec<Requirement>,
    /// `matchFields`. A node that does not exist yet has no fields, so a pod with any in a required term is not served.
    pub fields: Vec<Requirement>,
}

/// A port of the node that a container wants for itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// Empty, `0.0.0.0` and `::` are every address of the node.
    pub ip: String,
    pub port: u16,
    pub protocol: Protocol,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    Tcp,
    Udp,
    Sctp,
}

/// A volume of a pod, as far as it matters where the pod goes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Volume {
    /// The volume in `spec.volumes`, for words.
    pub name: String,
    /// Where it can be reached from: one of these lists must hold on the node. From the node affinity of a bound volume, else
    /// from `allowedTopologies` of a class that waits for its first consumer. None at all: from everywhere.
    pub alternatives: Vec<Vec<Requirement>>,
    /// What it takes of a node's attachment limit; absent for one that needs no attaching.
    pub handle: Option<VolumeHandle>,
}

/// Two pods with the same handle on one node attach it once.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VolumeHandle {
    /// The CSI driver.
    pub driver: String,
    /// The volume's own id, or `namespace/claim` while it has none.
    pub volume: String,
}

/// Why a pod is not placed before anything is tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// PascalCase, as in `VolumeClaimMissing`.
    pub code: String,
    /// In words for a person.
    pub why: String,
}
