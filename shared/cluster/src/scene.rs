//! Kubernetes objects, as the API server or a file has them, to the scene that placing pods looks at.
//!
//! Pure: what is read and from where is the caller's business. Everything that a solve would have to look up is looked up
//! here (volume claims, priorities, the pods of DaemonSets). An object that cannot be read has a line in
//! [`SceneRead::problems`] or, if it is a pod that waits or a pool, its own reason in the scene, and stops nobody else.

mod amounts;
mod budgets;
mod catalogue;
mod daemons;
mod implied;
mod in_flight;
mod inventory;
mod nodes;
mod placed;
mod pods;
mod pool_checks;
mod pools;
mod requests;
mod rules;
mod scheduler_config;
mod selectors;
mod volumes;
mod waiting;

use jiff::Timestamp;
use k8s_openapi::api::{
    apps::v1::{DaemonSet, ReplicaSet, StatefulSet},
    core::v1::{Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ReplicationController, Service},
    policy::v1::PodDisruptionBudget,
    scheduling::v1::PriorityClass,
    storage::v1::{CSINode, StorageClass},
};
use kube::api::ObjectMeta;
use model::place::{Catalogue, DeviceParts, NodeStage, NodeThere, Policy, Quota, Scene, Spread};
use model::{CapacityType, Node as NodeRead, ObjectName, PodRef, Snapshot, Taint, Uid, names};
use std::collections::{BTreeMap, BTreeSet};

use crate::{crd::NodePool, read_claim::ClaimRead, read_node::read_node};

pub use catalogue::{catalogue, fill_with_plenty, is_up, machine_quotas, rack_catalogue};
pub use implied::implied_pool;
pub use inventory::{ClassNow, Told, class_hash, class_notes, class_now, read_inventory};
pub use nodes::going;
pub use placed::{Taken, taken};
pub(crate) use pods::waits;
pub use scheduler_config::scheduler_config;

/// Everything of a cluster that placing pods looks at. Lists that a cluster does not have stay empty.
#[derive(Debug, Clone, Default)]
pub struct SceneSource {
    pub pods: Vec<Pod>,
    pub nodes: Vec<Node>,
    /// Nodes and the pods on them, beside those above.
    pub seen: Option<Seen>,
    pub claims: Vec<ClaimRead>,
    pub pools: Vec<PoolSource>,
    pub daemon_sets: Vec<DaemonSet>,
    pub volumes: Vec<PersistentVolume>,
    pub volume_claims: Vec<PersistentVolumeClaim>,
    pub storage_classes: Vec<StorageClass>,
    pub csi_nodes: Vec<CSINode>,
    pub namespaces: Vec<Namespace>,
    pub priority_classes: Vec<PriorityClass>,
    pub budgets: Vec<PodDisruptionBudget>,
    /// These four tell what selects the pods of a kind, and matter only where there are default constraints.
    pub services: Vec<Service>,
    pub replica_sets: Vec<ReplicaSet>,
    pub stateful_sets: Vec<StatefulSet>,
    pub replication_controllers: Vec<ReplicationController>,
    /// What can be bought; pools point into this list.
    pub catalogues: Vec<Catalogue>,
    pub quotas: Vec<Quota>,
    /// For pods that an earlier answer has placed: the NodeClaim or Node it put them on.
    pub planned: BTreeMap<Uid, ObjectName>,
    pub device_parts: Vec<DeviceParts>,
    /// From [`scheduler_config`].
    pub default_spread: Vec<Spread>,
    pub policy: Policy,
    pub now: Timestamp,
}

impl SceneSource {
    /// Its Nodes that can be read, as those are seen who look after them.
    pub fn nodes_read(&self) -> Vec<NodeRead> {
        self.nodes.iter().filter_map(|node| read_node(node.clone()).ok()).collect()
    }
}

/// What somebody else has seen of a cluster.
#[derive(Debug, Clone)]
pub struct Seen {
    pub snapshot: Box<Snapshot>,
    /// Nodes whose pods are among [`SceneSource::pods`], so that those of the snapshot do not count.
    pub read_anew: BTreeSet<ObjectName>,
}

/// A pool, and what it can buy.
#[derive(Debug, Clone)]
pub struct PoolSource {
    pub pool: NodePool,
    /// Position in `SceneSource::catalogues`; or why there is none, in words: the pool then makes no nodes.
    pub catalogue: Result<usize, String>,
    /// What its cloud puts on spot machines, whatever the pool says.
    pub spot_taints: Vec<Taint>,
}

/// The scene, and what is not in it.
#[derive(Debug, Clone, Default)]
pub struct SceneRead {
    pub scene: Scene,
    /// Pods without a node that nobody is to place, in the order they were given.
    pub left_out: Vec<LeftOut>,
    pub problems: Vec<Problem>,
}

/// A pod without a node that is not placed, because somebody else sees to it or because it says so itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub pod: PodRef,
    /// `NotProvisionable`: it waits for somebody else. `OptedOut`: it does not want to run on nodes of a pool.
    pub code: &'static str,
    /// In words for a person.
    pub why: String,
}

/// An object that could not be read, or not as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub kind: &'static str,
    /// `namespace/name`, or the name alone.
    pub name: String,
    /// A sentence that names the field.
    pub why: String,
}

/// The whole conversion. Positions in the scene follow the order of the source.
pub fn read_scene(source: &SceneSource) -> SceneRead {
    let mut read = SceneRead::default();
    let daemons = daemons::daemons(source, &mut read.problems);
    let nodes = nodes::nodes(source, &mut read.problems);
    let used = nodes.used_by_pool();
    read.scene.pools = source.pools.iter().filter_map(|one| pools::pool(one, &used, &mut read.problems)).collect();
    let lookup = volumes::Lookup::new(source);
    pods::sort(source, &lookup, &nodes, &daemons, &mut read);
    read.scene.bound.extend(source.seen.iter().flat_map(|seen| placed::seen(seen, &lookup, &nodes, &daemons)));
    read.scene.nodes = nodes.there;
    taint_spot_on_its_way(&mut read.scene);
    read.scene.daemons = daemons.all;
    read.scene.catalogues = source.catalogues.clone();
    read.scene.namespaces = namespaces(source);
    read.scene.default_spread = source.default_spread.clone();
    read.scene.quotas = source.quotas.clone();
    read.scene.device_parts = source.device_parts.clone();
    read.scene.policy = source.policy.clone();
    read
}

/// A spot machine that has not come yet will have what its cloud puts on it.
fn taint_spot_on_its_way(scene: &mut Scene) {
    let is_spot =
        |node: &NodeThere| node.labels.get(names::CAPACITY_TYPE).is_some_and(|of| of == CapacityType::Spot.as_str());
    for node in scene.nodes.iter_mut().filter(|node| node.stage != NodeStage::Initialized && is_spot(node)) {
        let pool = scene.pools.iter().find(|pool| node.pool.as_ref() == Some(&pool.name));
        for taint in pool.into_iter().flat_map(|pool| &pool.spot_taints) {
            if !node.taints.iter().any(|known| known.is_same(taint)) {
                node.taints.push(taint.clone());
            }
        }
    }
}

/// Every namespace has a label with its own name, whether or not its object says so.
fn namespaces(source: &SceneSource) -> BTreeMap<String, BTreeMap<String, String>> {
    let labels = |namespace: &Namespace| {
        let name = namespace.metadata.name.clone().unwrap_or_default();
        let mut labels = namespace.metadata.labels.clone().unwrap_or_default();
        labels.insert("kubernetes.io/metadata.name".to_owned(), name.clone());
        (name, labels)
    };
    source.namespaces.iter().map(labels).collect()
}

/// `namespace/name`, or the name alone.
fn name_of(metadata: &ObjectMeta) -> String {
    let name = metadata.name.as_deref().unwrap_or_default();
    match metadata.namespace.as_deref() {
        Some(namespace) if !namespace.is_empty() => format!("{namespace}/{name}"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
#[path = "scene/tests/mod.rs"]
mod tests;
