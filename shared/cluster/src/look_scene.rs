//! Looking, for placing pods: everything of the cluster that a scene is made from, and no more than these pods need.

use k8s_openapi::api::{
    apps::v1::{DaemonSet, ReplicaSet, StatefulSet},
    core::v1::{
        Namespace as KubeNamespace, PersistentVolume, PersistentVolumeClaim, Pod as KubePod, ReplicationController,
        Service,
    },
    policy::v1::PodDisruptionBudget,
    storage::v1::{CSINode, StorageClass},
};
use kube::{
    Api, Resource,
    api::{ApiResource, DynamicObject, ListParams},
};
use model::{Namespace, ObjectName};
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeMap, fmt};

use crate::{
    Cluster, ClusterError,
    ask::Asking,
    crd::{NodeClaimTemplate, NodePool},
    error::cut,
    rights::{self, Right},
    scene::{Problem, SceneSource},
};

/// Pods that are over take nothing and want nothing.
pub(crate) const NOT_OVER: &str = "status.phase!=Succeeded,status.phase!=Failed";

/// What is to be read whatever the pods say.
pub(crate) struct Needed {
    pub namespaces: bool,
    pub budgets: bool,
}

impl Cluster {
    pub async fn pod(&self, namespace: &Namespace, name: &ObjectName) -> Result<Option<KubePod>, ClusterError> {
        let asking = Asking::new(rights::GET_POD, "reading pod", name.as_str());
        let api: Api<KubePod> = Api::namespaced(self.client.clone(), namespace.as_str());
        self.look_for(asking, api.get(name.as_str())).await
    }

    /// Everything but claims, pools and what can be bought. Lists that no pod here needs are not asked for.
    pub async fn scene_source(&self) -> Result<SceneSource, ClusterError> {
        let pods: Vec<KubePod> =
            self.all(rights::LIST_PODS, "listing pods", ListParams::default().fields(NOT_OVER)).await?;
        let mut source = SceneSource {
            nodes: self.every(rights::LIST_NODES, "listing Nodes").await?,
            daemon_sets: self.every::<DaemonSet>(rights::LIST_DAEMONS, "listing DaemonSets").await?,
            pods,
            ..SceneSource::default()
        };
        let budgets = source.nodes.iter().any(|node| node.metadata.deletion_timestamp.is_some());
        self.look_further(&mut source, Needed { namespaces: false, budgets }).await?;
        Ok(source)
    }

    /// Volumes, namespaces and budgets, each where a pod or a node makes it matter.
    pub(crate) async fn look_further(&self, source: &mut SceneSource, needed: Needed) -> Result<(), ClusterError> {
        if source.pods.iter().any(|pod| !is_bound(pod) && has_volumes(pod)) {
            source.volume_claims =
                self.every::<PersistentVolumeClaim>(rights::LIST_VOLUME_CLAIMS, "listing volume claims").await?;
            source.volumes = self.every::<PersistentVolume>(rights::LIST_VOLUMES, "listing volumes").await?;
            source.storage_classes =
                self.every::<StorageClass>(rights::LIST_STORAGE_CLASSES, "listing StorageClasses").await?;
            source.csi_nodes = self.every::<CSINode>(rights::LIST_CSI_NODES, "listing CSINodes").await?;
        }
        if needed.namespaces || source.pods.iter().any(selects_namespaces) {
            source.namespaces = self.every::<KubeNamespace>(rights::LIST_NAMESPACES, "listing namespaces").await?;
        }
        if needed.budgets {
            source.budgets =
                self.every::<PodDisruptionBudget>(rights::LIST_BUDGETS, "listing PodDisruptionBudgets").await?;
        }
        Ok(())
    }

    /// What selects the pods of a kind: asked for only where there are default constraints.
    pub async fn selecting(&self, source: &mut SceneSource) -> Result<(), ClusterError> {
        source.services = self.every::<Service>(rights::LIST_SERVICES, "listing Services").await?;
        source.replica_sets = self.every::<ReplicaSet>(rights::LIST_REPLICA_SETS, "listing ReplicaSets").await?;
        source.stateful_sets = self.every::<StatefulSet>(rights::LIST_STATEFUL_SETS, "listing StatefulSets").await?;
        let controllers = self
            .every::<ReplicationController>(rights::LIST_REPLICATION_CONTROLLERS, "listing ReplicationControllers")
            .await;
        source.replication_controllers = match controllers {
            Err(error) if error.is_not_found() => Vec::new(),
            found => found?,
        };
        Ok(())
    }

    /// The same, with every list: pods that run may have to move, with their volumes and budgets.
    pub async fn whole_source(&self) -> Result<SceneSource, ClusterError> {
        Ok(SceneSource {
            pods: self.all(rights::LIST_PODS, "listing pods", ListParams::default().fields(NOT_OVER)).await?,
            nodes: self.every(rights::LIST_NODES, "listing Nodes").await?,
            daemon_sets: self.every(rights::LIST_DAEMONS, "listing DaemonSets").await?,
            volume_claims: self.every(rights::LIST_VOLUME_CLAIMS, "listing volume claims").await?,
            volumes: self.every(rights::LIST_VOLUMES, "listing volumes").await?,
            storage_classes: self.every(rights::LIST_STORAGE_CLASSES, "listing StorageClasses").await?,
            csi_nodes: self.every(rights::LIST_CSI_NODES, "listing CSINodes").await?,
            namespaces: self.every(rights::LIST_NAMESPACES, "listing namespaces").await?,
            budgets: self.every(rights::LIST_BUDGETS, "listing PodDisruptionBudgets").await?,
            ..SceneSource::default()
        })
    }

    /// Every NodePool that can be read, and those that cannot. None of either where nobody serves them.
    pub async fn pools(&self) -> Result<(Vec<NodePool>, Vec<Problem>), ClusterError> {
        let asking = Asking::new(rights::LIST_POOLS, "listing NodePools", "");
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &ApiResource::erase::<NodePool>(&()));
        let found = match self.list(asking, &api, ListParams::default()).await {
            Err(error) if error.is_not_found() => Vec::new(),
            found => found?,
        };
        let (mut pools, mut problems) = (Vec::new(), Vec::new());
        for object in found {
            let name = object.metadata.name.clone().unwrap_or_default();
            match serde_json::to_value(object).and_then(serde_json::from_value) {
                Ok(pool) => pools.push(pool),
                // One with a mistake does not stop the others.
                Err(error) => problems.push(Problem { kind: "NodePool", name, why: cut(&error.to_string()) }),
            }
        }
        Ok((pools, problems))
    }

    pub(crate) async fn every<K>(&self, right: Right<'_>, doing: &'static str) -> Result<Vec<K>, ClusterError>
    where
        K: Resource<DynamicType = ()> + Clone + fmt::Debug + DeserializeOwned,
    {
        self.all(right, doing, ListParams::default()).await
    }

    pub(crate) async fn all<K>(
        &self,
        right: Right<'_>,
        doing: &'static str,
        which: ListParams,
    ) -> Result<Vec<K>, ClusterError>
    where
        K: Resource<DynamicType = ()> + Clone + fmt::Debug + DeserializeOwned,
    {
        self.list(Asking::new(right, doing, ""), &Api::all(self.client.clone()), which).await
    }
}

/// What a later look compares, to see whether claims were made from another template. Where Karpenter wrote its own hash on
/// the pool, that is it.
pub fn template_hash(pool: &NodePool) -> BTreeMap<String, String> {
    use model::names::{POOL_HASH, POOL_HASH_VERSION};
    let written = pool.metadata.annotations.as_ref();
    let written = |key: &str| written.and_then(|all| all.get(key)).cloned();
    let (hash, version) = match (written(POOL_HASH), written(POOL_HASH_VERSION)) {
        (Some(hash), Some(version)) => (hash, version),
        _ => (own_hash(&pool.spec.template), "pilotlight-v1".to_owned()),
    };
    BTreeMap::from([(POOL_HASH.to_owned(), hash), (POOL_HASH_VERSION.to_owned(), version)])
}

/// Of everything but the requirements: whether a node still keeps those, its labels say.
fn own_hash(template: &NodeClaimTemplate) -> String {
    let mut template = template.clone();
    template.spec.requirements.clear();
    hash_of(&template)
}

/// Sixteen hexadecimal digits.
pub(crate) fn hash_of(what: &impl serde::Serialize) -> String {
    let text = serde_json::to_string(what).unwrap_or_default();
    Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn is_bound(pod: &KubePod) -> bool {
    pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).is_some_and(|node| !node.is_empty())
}

fn has_volumes(pod: &KubePod) -> bool {
    let volumes = pod.spec.as_ref().and_then(|spec| spec.volumes.as_deref()).unwrap_or_default();
    volumes.iter().any(|volume| volume.persistent_volume_claim.is_some() || volume.ephemeral.is_some())
}

/// Whether a term of it chooses namespaces by their labels.
fn selects_namespaces(pod: &KubePod) -> bool {
    let Some(affinity) = pod.spec.as_ref().and_then(|spec| spec.affinity.as_ref()) else { return false };
    let near = affinity.pod_affinity.iter().flat_map(|near| {
        let required = near.required_during_scheduling_ignored_during_execution.iter().flatten();
        let wished = near.preferred_during_scheduling_ignored_during_execution.iter().flatten();
        required.chain(wished.map(|wish| &wish.pod_affinity_term))
    });
    let apart = affinity.pod_anti_affinity.iter().flat_map(|apart| {
        let required = apart.required_during_scheduling_ignored_during_execution.iter().flatten();
        let wished = apart.preferred_during_scheduling_ignored_during_execution.iter().flatten();
        required.chain(wished.map(|wish| &wish.pod_affinity_term))
    });
    near.chain(apart).any(|term| term.namespace_selector.is_some())
}
