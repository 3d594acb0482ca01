//! Notes on a NodePool: annotations of ours, and nothing else of it.

use kube::{
    Api,
    api::{DynamicObject, Patch},
};
use model::ObjectName;
use serde_json::json;

use crate::{Cluster, ClusterError, ask::Asking, change::patching, look::resource, rights};

impl Cluster {
    /// One annotation; `None` removes it. A pool that is gone needs no notes.
    pub async fn note_on_pool(&self, pool: &ObjectName, key: &str, text: Option<&str>) -> Result<(), ClusterError> {
        let pools = resource("karpenter.sh", "v1", "NodePool", "nodepools");
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &pools);
        let asking = Asking::new(rights::PATCH_POOL, "noting on NodePool", pool.as_str());
        let patch = Patch::Merge(json!({ "metadata": { "annotations": { key: text } } }));
        match self.change(asking, api.patch(pool.as_str(), &patching(), &patch)).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }
}
