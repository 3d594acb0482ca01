//! Which cluster this is: what no two clusters share, whatever they are called.

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use model::Uid;

use crate::{Cluster, ClusterError, ask::Asking, rights};

/// It is made with the cluster, and nobody can delete it.
const KUBE_SYSTEM: &str = "kube-system";

impl Cluster {
    /// The UID of the namespace kube-system.
    pub async fn identity(&self) -> Result<Option<Uid>, ClusterError> {
        let asking = Asking::new(rights::GET_KUBE_SYSTEM, "reading namespace", KUBE_SYSTEM);
        let api: Api<Namespace> = Api::all(self.client.clone());
        let found = self.look_for(asking, api.get_metadata(KUBE_SYSTEM)).await?;
        Ok(found.and_then(|namespace| Uid::new(namespace.metadata.uid?).ok()))
    }
}
