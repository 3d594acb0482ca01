//! Looking: everything the functions read, always what the API server has now.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{Node as KubeNode, Pod as KubePod, Secret},
};
use kube::{
    Api,
    api::{ApiResource, DynamicObject, ListParams},
};
use model::{ClassRef, Node, ObjectName, Pod, Uid, names};
use serde_json::{Value, json};
use std::collections::BTreeMap;

use crate::{
    Cluster, ClusterError,
    ask::Asking,
    crd::NodeClaim,
    node_search::{AGENT_POOL_LABELS, NodeSearch},
    read_claim::{ClaimRead, read_claim},
    read_node::read_node,
    read_pod::read_pod,
    rights,
};

/// How a kind of node class is served: its ClassRef names only group and kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassServed<'a> {
    pub version: &'a str,
    pub plural: &'a str,
}

/// The Lease by which replicas of Karpenter agree who works.
const KARPENTER_LEASE: &str = "karpenter-leader-election";
const KARPENTER_NAMESPACE: &str = "kube-system";

impl Cluster {
    pub async fn claim(&self, name: &ObjectName) -> Result<Option<ClaimRead>, ClusterError> {
        let asking = Asking::new(rights::GET_CLAIM, "reading NodeClaim", name.as_str());
        let found = self.look_for(asking, self.claim_api().get(name.as_str())).await?;
        found.map(read_claim).transpose().map_err(|why| asking.nonsense(why))
    }

    /// All of them. An error, and never an empty list, where the resource is not served: whoever takes claims for gone
    /// deletes machines.
    pub async fn claims(&self) -> Result<Vec<ClaimRead>, ClusterError> {
        let asking = Asking::new(rights::LIST_CLAIMS, "listing NodeClaims", "");
        let found = self.list(asking, &self.claim_api(), ListParams::default()).await?;
        found.into_iter().map(read_claim).collect::<Result<_, _>>().map_err(|why| asking.nonsense(why))
    }

    pub async fn node(&self, name: &ObjectName) -> Result<Option<Node>, ClusterError> {
        let asking = Asking::new(rights::GET_NODE, "reading Node", name.as_str());
        let found = self.look_for(asking, self.node_api().get(name.as_str())).await?;
        found.map(read_node).transpose().map_err(|why| asking.nonsense(why))
    }

    /// Every Node that may be the claim's, each once: whether one really is, its labels and providerID say.
    pub async fn nodes_of(&self, search: &NodeSearch) -> Result<Vec<Node>, ClusterError> {
        let mut found: BTreeMap<Uid, Node> = BTreeMap::new();
        let mut add = |nodes: Vec<Node>| found.extend(nodes.into_iter().map(|node| (node.uid.clone(), node)));
        add(self.nodes_with(&format!("{}={}", names::CLAIM_UID, search.claim)).await?);
        // What is no name of an object is no Node's name either.
        for name in search.names.iter().filter_map(|name| ObjectName::new(name).ok()) {
            add(self.node(&name).await?.into_iter().collect());
        }
        if let Some(pool) = &search.agent_pool {
            let labels = AGENT_POOL_LABELS.map(|label| format!("{label}={pool}"));
            add(self.nodes_with(&labels.join(",")).await?);
        }
        if let Some(provider_id) = search.provider_id.as_ref().filter(|_| found.is_empty()) {
            let all = self.nodes_with("").await?;
            return Ok(all.into_iter().filter(|node| node.provider_id.as_ref() == Some(provider_id)).collect());
        }
        Ok(found.into_values().collect())
    }

    pub(crate) async fn nodes_with(&self, labels: &str) -> Result<Vec<Node>, ClusterError> {
        let asking = Asking::new(rights::LIST_NODES, "listing Nodes", labels);
        let which = if labels.is_empty() { ListParams::default() } else { ListParams::default().labels(labels) };
        let nodes = self.list(asking, &self.node_api(), which).await?;
        nodes.into_iter().map(read_node).collect::<Result<_, _>>().map_err(|why| asking.nonsense(why))
    }

    pub async fn pods_on(&self, node: &ObjectName) -> Result<Vec<Pod>, ClusterError> {
        let pods = self.raw_pods_on(node).await?;
        let asking = Asking::new(rights::LIST_PODS, "listing the pods on Node", node.as_str());
        pods.iter().map(read_pod).collect::<Result<_, _>>().map_err(|why| asking.nonsense(why))
    }

    pub(crate) async fn raw_pods_on(&self, node: &ObjectName) -> Result<Vec<KubePod>, ClusterError> {
        let asking = Asking::new(rights::LIST_PODS, "listing the pods on Node", node.as_str());
        let which = ListParams::default().fields(&format!("spec.nodeName={node}"));
        self.list(asking, &Api::all(self.client.clone()), which).await
    }

    /// `None` where there is no such NodePool, or no NodePools at all.
    pub async fn pool_annotations(&self, name: &ObjectName) -> Result<Option<BTreeMap<String, String>>, ClusterError> {
        let pools = resource("karpenter.sh", "v1", "NodePool", "nodepools");
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &pools);
        let asking = Asking::new(rights::GET_POOL, "reading NodePool", name.as_str());
        let found = self.look_for(asking, api.get_metadata(name.as_str())).await?;
        Ok(found.map(|pool| pool.metadata.annotations.unwrap_or_default()))
    }

    /// Its `spec` and `metadata.annotations`; `None` where there is no such class, or nobody serves the kind.
    pub async fn class_object(&self, class: &ClassRef, served: ClassServed<'_>) -> Result<Option<Value>, ClusterError> {
        // The group came from whoever wrote the claim, and becomes a part of a path.
        if ObjectName::new(&class.group).is_err() {
            return Ok(None);
        }
        let classes = resource(&class.group, served.version, &class.kind, served.plural);
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &classes);
        let name = class.name.as_str();
        let asking = Asking::new(rights::get_class(&class.group, served.plural), "reading node class", name);
        let found = self.look_for(asking, api.get(name)).await?;
        Ok(found.map(|mut class| {
            let annotations = class.metadata.annotations.unwrap_or_default();
            json!({ "metadata": { "annotations": annotations }, "spec": class.data["spec"].take() })
        }))
    }

    /// In our own namespace.
    pub async fn secret(&self, name: &ObjectName) -> Result<Option<BTreeMap<String, Vec<u8>>>, ClusterError> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace);
        let asking = Asking::new(rights::GET_SECRET, "reading Secret", name.as_str());
        let found = self.look_for(asking, api.get(name.as_str())).await?;
        let bytes = |secret: Secret| secret.data.unwrap_or_default().into_iter().map(|(key, value)| (key, value.0));
        Ok(found.map(|secret| bytes(secret).collect()))
    }

    /// Whether another Karpenter runs: somebody holds its Lease and has renewed it in time.
    pub async fn karpenter_leads(&self, now: Timestamp) -> Result<bool, ClusterError> {
        let api: Api<Lease> = Api::namespaced(self.client.clone(), KARPENTER_NAMESPACE);
        let asking = Asking::new(rights::GET_LEASE, "reading Lease", KARPENTER_LEASE);
        let found = self.look_for(asking, api.get(KARPENTER_LEASE)).await?;
        Ok(found.and_then(|lease| lease.spec).is_some_and(|lease| {
            let held = lease.holder_identity.is_some_and(|holder| !holder.is_empty());
            let length = SignedDuration::from_secs(lease.lease_duration_seconds.unwrap_or(0).into());
            held && lease.renew_time.is_some_and(|renewed| now.duration_since(renewed.0) <= length)
        }))
    }

    /// As untyped objects: one claim that cannot be read must not hide the others.
    pub(crate) fn claim_api(&self) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &ApiResource::erase::<NodeClaim>(&()))
    }

    pub(crate) fn node_api(&self) -> Api<KubeNode> {
        Api::all(self.client.clone())
    }
}

pub(crate) fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: format!("{group}/{version}"),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}
