//! Which volumes are attached to a Node, and whether anybody waits for them to go.

use k8s_openapi::api::{
    core::v1::{PersistentVolumeClaim, Pod as KubePod},
    storage::v1::VolumeAttachment,
};
use kube::{Api, api::ListParams};
use model::{ObjectName, VolumeAttached};
use std::collections::BTreeSet;

use crate::{
    Cluster, ClusterError,
    ask::Asking,
    read_pod::{read_pod, volume_claims},
    rights,
};

impl Cluster {
    /// Pods and their volume claims are read only where something is attached.
    pub async fn volumes_attached(&self, node: &ObjectName) -> Result<Vec<VolumeAttached>, ClusterError> {
        let attached = self.attachments(node).await?;
        if attached.is_empty() {
            return Ok(Vec::new());
        }
        let staying = self.volumes_of_staying_pods(node).await?;
        let volume = |attachment: VolumeAttachment| {
            let of_staying_pod = attachment.spec.source.persistent_volume_name.is_some_and(|pv| staying.contains(&pv));
            let name = ObjectName::new(attachment.metadata.name.unwrap_or_default());
            name.map(|name| VolumeAttached { name, of_staying_pod })
        };
        let asking = Asking::new(rights::LIST_ATTACHMENTS, "listing the volumes attached to Node", node.as_str());
        attached.into_iter().map(volume).collect::<Result<_, _>>().map_err(|why| asking.nonsense(why.to_string()))
    }

    /// The API server selects attachments by nothing but their names, so all of them are listed.
    async fn attachments(&self, node: &ObjectName) -> Result<Vec<VolumeAttachment>, ClusterError> {
        let asking = Asking::new(rights::LIST_ATTACHMENTS, "listing the volumes attached to Node", node.as_str());
        match self.list(asking, &Api::all(self.client.clone()), ListParams::default()).await {
            Ok(all) => {
                Ok(all.into_iter().filter(|one: &VolumeAttachment| one.spec.node_name == node.as_str()).collect())
            }
            // Nobody serves attachments here, so nothing is attached.
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    async fn volumes_of_staying_pods(&self, node: &ObjectName) -> Result<BTreeSet<String>, ClusterError> {
        let mut volumes = BTreeSet::new();
        for raw in self.raw_pods_on(node).await? {
            let asking = Asking::new(rights::LIST_PODS, "listing the pods on Node", node.as_str());
            if read_pod(&raw).map_err(|why| asking.nonsense(why))?.is_left_by_drains() {
                // Its volumes stay as long as the machine does.
                volumes.extend(self.volumes_of(&raw).await?);
            }
        }
        Ok(volumes)
    }

    async fn volumes_of(&self, pod: &KubePod) -> Result<Vec<String>, ClusterError> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let api: Api<PersistentVolumeClaim> = Api::namespaced(self.client.clone(), namespace);
        let mut volumes = Vec::new();
        for name in volume_claims(pod) {
            let asking = Asking::new(rights::GET_VOLUME_CLAIM, "reading PersistentVolumeClaim", &name);
            let claim = self.look_for(asking, api.get(&name)).await?;
            volumes.extend(claim.and_then(|claim| claim.spec).and_then(|spec| spec.volume_name));
        }
        Ok(volumes)
    }
}
