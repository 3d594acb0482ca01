//! Looking, for a tick: what nobody sent an event about.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod as KubePod;
use kube::{Api, api::ListParams};
use model::{Namespace, Node, ObjectName, PodRef, Uid};

use crate::{Cluster, ClusterError, ask::Asking, rights};

/// A pod that the scheduler found no node for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodWaiting {
    pub pod: PodRef,
    pub created_at: Option<Timestamp>,
}

impl Cluster {
    /// All Nodes of the cluster.
    pub async fn nodes(&self) -> Result<Vec<Node>, ClusterError> {
        self.nodes_with("").await
    }

    /// Pods that find no node, the longest waiting first.
    pub async fn pods_waiting(&self) -> Result<Vec<PodWaiting>, ClusterError> {
        let asking = Asking::new(rights::LIST_PODS, "listing pods without a node", "");
        let which = ListParams::default().fields("spec.nodeName=,status.phase=Pending");
        let found: Vec<KubePod> = self.list(asking, &Api::all(self.client.clone()), which).await?;
        let mut waiting: Vec<PodWaiting> = found.iter().filter_map(waiting).collect();
        waiting.sort_by(|left, right| {
            (left.created_at, left.pod.uid.as_str()).cmp(&(right.created_at, right.pod.uid.as_str()))
        });
        Ok(waiting)
    }
}

fn waiting(pod: &KubePod) -> Option<PodWaiting> {
    let metadata = &pod.metadata;
    let conditions = pod.status.as_ref()?.conditions.as_deref().unwrap_or_default();
    let finds_none = |one: &&k8s_openapi::api::core::v1::PodCondition| {
        one.type_ == "PodScheduled" && one.status == "False" && one.reason.as_deref() == Some("Unschedulable")
    };
    conditions.iter().find(finds_none).filter(|_| metadata.deletion_timestamp.is_none())?;
    let pod = PodRef {
        namespace: Namespace::new(metadata.namespace.as_deref()?).ok()?,
        name: ObjectName::new(metadata.name.as_deref()?).ok()?,
        uid: Uid::new(metadata.uid.as_deref()?).ok()?,
    };
    Some(PodWaiting { pod, created_at: metadata.creation_timestamp.as_ref().map(|time| time.0) })
}
