//! Looking, for a tick: what nobody sent an event about.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod as KubePod;
use model::{Namespace, Node, ObjectName, PodRef, Uid};

use crate::{Cluster, ClusterError, scene::waits};

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

    /// Pods that find no node, and that nobody else sees to, the longest waiting first.
    pub async fn pods_waiting(&self) -> Result<Vec<PodWaiting>, ClusterError> {
        let pods = self.pods_where("spec.nodeName=").await?;
        let mut waiting: Vec<PodWaiting> = pods.iter().filter(|pod| waits(pod)).filter_map(waiting).collect();
        waiting.sort_by(|left, right| {
            (left.created_at, left.pod.uid.as_str()).cmp(&(right.created_at, right.pod.uid.as_str()))
        });
        Ok(waiting)
    }
}

fn waiting(pod: &KubePod) -> Option<PodWaiting> {
    let metadata = &pod.metadata;
    let pod = PodRef {
        namespace: Namespace::new(metadata.namespace.as_deref()?).ok()?,
        name: ObjectName::new(metadata.name.as_deref()?).ok()?,
        uid: Uid::new(metadata.uid.as_deref()?).ok()?,
    };
    Some(PodWaiting { pod, created_at: metadata.creation_timestamp.as_ref().map(|time| time.0) })
}
