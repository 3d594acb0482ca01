//! Changing a claim's metadata, and deleting: each against what was read, each in one request.

use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
};
use model::{ClaimChange, FinalizerChange, InstanceKey, ObjectName, ResourceVersion, Uid, names};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::{collections::BTreeSet, fmt};

use crate::{Cluster, ClusterError, FIELD_MANAGER, ask::Asking, error::Kind, fields, launch_record, rights};

/// What a deletion reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deleted {
    /// It is gone, or will be when its finalizers are.
    Done,
    /// It was gone already, or is another one of the same name.
    WasGone,
}

impl Cluster {
    /// One write of metadata. `finalizers` are those that were read with `version`; others' stay.
    ///
    /// A change of nothing is no write.
    pub async fn change_claim(
        &self,
        key: &InstanceKey,
        version: &ResourceVersion,
        finalizers: &BTreeSet<String>,
        change: &ClaimChange,
    ) -> Result<ResourceVersion, ClusterError> {
        let asking = Asking::new(rights::PATCH_CLAIM, "changing NodeClaim", key.name.as_str());
        let ClaimChange { record, labels, annotations, finalizer } = change;
        let mut metadata = json!({});
        if !labels.is_empty() {
            metadata["labels"] = json!(labels);
        }
        if !annotations.is_empty() {
            metadata["annotations"] = json!(annotations);
        }
        if let Some(record) = record {
            let text = launch_record::write(record);
            let text = text.map_err(|error| asking.error(Kind::Invalid { why: error.to_string() }))?;
            metadata["annotations"][names::LAUNCH] = text.into();
        }
        if let Some(list) = changed_finalizers(finalizers, *finalizer) {
            metadata["finalizers"] = json!(list);
        }
        if metadata == json!({}) {
            return Ok(version.clone());
        }
        metadata["uid"] = key.claim.as_str().into();
        metadata["resourceVersion"] = version.as_str().into();
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        let api = self.claim_api();
        let written = self.change(asking, api.patch(key.name.as_str(), &patching(), &patch)).await?;
        fields::version(&written.metadata).map_err(|why| asking.nonsense(why))
    }

    /// Its Node is left to whoever drains it.
    pub async fn delete_claim(&self, key: &InstanceKey) -> Result<Deleted, ClusterError> {
        let asking = Asking::new(rights::DELETE_CLAIM, "deleting NodeClaim", key.name.as_str());
        self.delete(asking, &self.claim_api(), key.name.as_str(), &key.claim, DeleteParams::background()).await
    }

    pub async fn delete_node(&self, name: &ObjectName, uid: &Uid) -> Result<Deleted, ClusterError> {
        let asking = Asking::new(rights::DELETE_NODE, "deleting Node", name.as_str());
        self.delete(asking, &self.node_api(), name.as_str(), uid, DeleteParams::background()).await
    }

    /// Only this object: a UID never comes back, and another one of the same name is not meant.
    pub(crate) async fn delete<K: Clone + fmt::Debug + DeserializeOwned>(
        &self,
        asking: Asking<'_>,
        api: &Api<K>,
        name: &str,
        uid: &Uid,
        how: DeleteParams,
    ) -> Result<Deleted, ClusterError> {
        let how = how.preconditions(Preconditions { uid: Some(uid.to_string()), resource_version: None });
        match self.change(asking, api.delete(name, &how)).await {
            Ok(_) => Ok(Deleted::Done),
            // The UID is the only precondition, so a conflict says that this is another object.
            Err(error) if error.is_not_found() || error.is_conflict() => Ok(Deleted::WasGone),
            Err(error) => Err(error),
        }
    }
}

/// The whole list with ours in or out; `None` where that changes nothing.
pub(crate) fn changed_finalizers(read: &BTreeSet<String>, change: FinalizerChange) -> Option<BTreeSet<String>> {
    let mut list = read.clone();
    let changed = match change {
        FinalizerChange::Keep => false,
        FinalizerChange::Add => list.insert(names::FINALIZER.to_owned()),
        FinalizerChange::Remove => list.remove(names::FINALIZER),
    };
    changed.then_some(list)
}

pub(crate) fn patching() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}

/// Whether a patch has nothing to say.
pub(crate) fn says_nothing(patch: &Value) -> bool {
    patch.as_object().is_none_or(|fields| fields.values().all(|value| value.is_object() && says_nothing(value)))
}
