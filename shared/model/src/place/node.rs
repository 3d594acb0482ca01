//! What is there already: nodes, claims on their way, the pods on them, and the DaemonSets that come with every node.

use std::collections::BTreeMap;

use super::{HostPort, NodeTerm, PodTerm, VolumeHandle};
use crate::{Labels, Namespace, ObjectName, Resources, Taint, Toleration};

/// A node, or a claim that has none yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeThere {
    /// Of the Node; of the NodeClaim while there is no Node.
    pub name: ObjectName,
    pub stage: NodeStage,
    /// All labels the node has or, as a claim, will have: single-valued requirements and the chosen offering's labels too.
    /// A hostname is added by the solve where it is missing.
    pub labels: BTreeMap<String, String>,
    /// Taints it has or will have, those of an unready or cordoned node too.
    pub taints: Vec<Taint>,
    /// Taints that go away when it is ready for pods (the pool's startup taints). Not counted until it is initialized.
    pub startup_taints: Vec<Taint>,
    /// What the kubelet says it can hold; for a claim without a node, what its status or its type says.
    pub allocatable: Resources,
    /// What the claim promises. Until the node is initialized this counts wherever the kubelet reports none or nothing: GPUs
    /// appear late.
    pub promised: Resources,
    /// The pool it belongs to, if it is ours or Karpenter's.
    pub pool: Option<ObjectName>,
    /// It is going away: nothing is placed on it.
    pub deleting: bool,
    /// Volumes it can attach, by CSI driver (CSINode; before that, what the type says). A driver that is not here has no limit.
    pub volume_limits: BTreeMap<String, u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeStage {
    /// A Node that has come up entirely, or that nobody's claim stands for.
    Initialized,
    /// A Node that is still starting: startup and ephemeral taints will go, promised resources will come.
    Starting,
    /// A NodeClaim without a Node.
    InFlight,
}

/// A pod that is on one of those nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodThere {
    pub namespace: Namespace,
    pub name: ObjectName,
    /// Position in `Scene::nodes`.
    pub node: usize,
    pub labels: Labels,
    pub requests: Resources,
    /// Required terms: they keep other pods away.
    pub anti_affinity: Vec<PodTerm>,
    pub host_ports: Vec<HostPort>,
    pub volumes: Vec<VolumeHandle>,
    /// Being deleted: it still takes its resources, but no longer counts for rules between pods.
    pub terminating: bool,
    /// Position in `Scene::daemons` of the DaemonSet it belongs to: what is expected of that one is here already.
    pub daemon: Option<usize>,
}

/// A DaemonSet: one pod of it comes to every node that it fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Daemon {
    pub namespace: Namespace,
    pub name: ObjectName,
    pub requests: Resources,
    pub node_selector: BTreeMap<String, String>,
    /// Any of these terms will do; preferred terms do not matter. Without the term on the node's name that its controller adds.
    pub node_affinity: Vec<NodeTerm>,
    /// Those its controller adds too.
    pub tolerations: Vec<Toleration>,
    pub host_ports: Vec<HostPort>,
}
