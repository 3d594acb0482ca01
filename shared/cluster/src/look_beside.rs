//! Looking beside a snapshot: what it does not show, and what has changed since, instead of every pod and node of the cluster.
//!
//! | from the snapshot | read now |
//! |---|---|
//! | nodes, pods on them | pods without a node; pods that had none and have one now; all pods of nodes that are going |

use futures_util::{StreamExt as _, stream};
use k8s_openapi::api::{apps::v1::DaemonSet, core::v1::Pod as KubePod};
use kube::api::ListParams;
use model::{PodRef, Snapshot, Uid};
use std::collections::BTreeSet;

use crate::{
    Cluster, ClusterError,
    look_scene::{NOT_OVER, Needed, is_bound},
    read_claim::ClaimRead,
    rights,
    scene::{SceneSource, Seen, going, waits},
};

/// Nodes that go away at once. With more of them, reading everything is cheaper.
const MOST_GOING: usize = 16;
/// Pods that found their node since the snapshot was taken.
const MOST_BOUND_SINCE: usize = 64;
const AT_ONCE: usize = 8;

impl Cluster {
    /// What [`Cluster::scene_source`] reads, with nodes and their pods from the snapshot. `None` where so much has changed that
    /// reading everything is cheaper.
    pub async fn scene_source_beside(
        &self,
        snapshot: Box<Snapshot>,
        claims: &[ClaimRead],
    ) -> Result<Option<SceneSource>, ClusterError> {
        let read_anew = going(&snapshot, claims);
        if read_anew.len() > MOST_GOING {
            return Ok(None);
        }
        let mut pods = self.pods_where("spec.nodeName=").await?;
        let still: BTreeSet<&str> = pods.iter().filter_map(|pod| pod.metadata.uid.as_deref()).collect();
        let unbound = snapshot.unbound.iter().map(|one| &one.pod);
        let since: Vec<&PodRef> = unbound.filter(|pod| !still.contains(pod.uid.as_str())).collect();
        if since.len() > MOST_BOUND_SINCE {
            return Ok(None);
        }
        let looking: Vec<_> = since.into_iter().map(|pod| self.pod(&pod.namespace, &pod.name)).collect();
        let found: Vec<_> = stream::iter(looking).buffered(AT_ONCE).collect().await;
        let found = found.into_iter().filter_map(Result::transpose).collect::<Result<Vec<KubePod>, _>>()?;
        let on_going = |pod: &KubePod| {
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default();
            read_anew.iter().any(|going| going.as_str() == node)
        };
        pods.extend(found.into_iter().filter(|pod| is_bound(pod) && !on_going(pod)));
        for node in &read_anew {
            pods.extend(self.pods_where(&format!("spec.nodeName={node}")).await?);
        }
        let apart = snapshot.shapes.iter().flat_map(|shape| &shape.anti_affinity);
        let needed = Needed {
            namespaces: apart.into_iter().any(|term| term.namespace_selector.is_some()),
            budgets: !read_anew.is_empty(),
        };
        let mut source = SceneSource {
            daemon_sets: self.every::<DaemonSet>(rights::LIST_DAEMONS, "listing DaemonSets").await?,
            seen: Some(Seen { snapshot, read_anew }),
            pods,
            ..SceneSource::default()
        };
        self.look_further(&mut source, needed).await?;
        Ok(Some(source))
    }

    /// Pods that the scheduler finds no node for, and that nobody else sees to.
    pub async fn pods_that_wait(&self) -> Result<Vec<Uid>, ClusterError> {
        let pods = self.pods_where("spec.nodeName=").await?;
        Ok(pods.iter().filter(|pod| waits(pod)).filter_map(|pod| Uid::new(pod.metadata.uid.clone()?).ok()).collect())
    }

    pub(crate) async fn pods_where(&self, which: &str) -> Result<Vec<KubePod>, ClusterError> {
        let which = ListParams::default().fields(&format!("{which},{NOT_OVER}"));
        self.all(rights::LIST_PODS, "listing pods", which).await
    }
}
