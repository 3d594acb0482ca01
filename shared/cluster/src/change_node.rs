//! Changing a Node: one write against the version that was read.

use k8s_openapi::api::core::v1::Node as KubeNode;
use kube::api::Patch;
use model::{FinalizerChange, NodeChange, OwnerChange, ResourceVersion, Taint};
use serde_json::{Value, json};

use crate::{
    Cluster, ClusterError,
    ask::Asking,
    change::{changed_finalizers, patching, says_nothing},
    error::Kind,
    fields, rights,
};

impl Cluster {
    /// Lists (taints, finalizers, owners) are replaced whole by the API server, so the Node is read once more for what
    /// others have in them: it has to be of the version that the change was decided on, or the change is lost.
    ///
    /// A change of nothing is no write.
    pub async fn change_node(&self, change: &NodeChange) -> Result<ResourceVersion, ClusterError> {
        let NodeChange { name, version, labels, annotations, taints, finalizer, owner } = change;
        let asking = Asking::new(rights::PATCH_NODE, "changing Node", name.as_str());
        let mut patch = json!({ "metadata": { "labels": labels, "annotations": annotations } });
        if taints.is_some() || *finalizer != FinalizerChange::Keep || *owner != OwnerChange::Keep {
            let stood = self.as_decided_on(change).await?;
            add_lists(&mut patch, &stood, change).map_err(|why| asking.nonsense(why))?;
        }
        if says_nothing(&patch) {
            return Ok(version.clone());
        }
        patch["metadata"]["resourceVersion"] = version.as_str().into();
        let (api, patch) = (self.node_api(), Patch::Merge(patch));
        let written = self.change(asking, api.patch(name.as_str(), &patching(), &patch)).await?;
        fields::version(&written.metadata).map_err(|why| asking.nonsense(why))
    }

    async fn as_decided_on(&self, change: &NodeChange) -> Result<KubeNode, ClusterError> {
        let name = change.name.as_str();
        let asking = Asking::new(rights::GET_NODE, "changing Node", name);
        let node = self.look(asking, self.node_api().get(name)).await?;
        match fields::version(&node.metadata) {
            Ok(now) if now == change.version => Ok(node),
            Ok(now) => {
                let why = format!("it was of version {} and is of version {now}", change.version);
                Err(asking.error(Kind::Conflict { why }))
            }
            Err(why) => Err(asking.nonsense(why)),
        }
    }
}

fn add_lists(patch: &mut Value, stood: &KubeNode, change: &NodeChange) -> Result<(), String> {
    let stood = serde_json::to_value(stood).map_err(|error| error.to_string())?;
    let list = |pointer: &str| stood.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(wanted) = &change.taints {
        let taints = taint_list(&list("/spec/taints"), wanted);
        if taints != list("/spec/taints") {
            patch["spec"] = json!({ "taints": taints });
        }
    }
    let finalizers = list("/metadata/finalizers").iter().filter_map(Value::as_str).map(str::to_owned).collect();
    if let Some(finalizers) = changed_finalizers(&finalizers, change.finalizer) {
        patch["metadata"]["finalizers"] = json!(finalizers);
    }
    let owners = owner_list(&list("/metadata/ownerReferences"), &change.owner);
    if owners != list("/metadata/ownerReferences") {
        patch["metadata"]["ownerReferences"] = owners.into();
    }
    Ok(())
}

/// What stays, stays word for word: `timeAdded` decides when a pod has to leave. A taint whose effect we cannot read is
/// in nobody's wanted list, and is not ours to remove.
fn taint_list(stood: &[Value], wanted: &[Taint]) -> Vec<Value> {
    let same = |raw: &Value, taint: &Taint| raw["key"] == taint.key.as_str() && raw["effect"] == taint.effect.as_str();
    let value = |raw: &Value| raw["value"].as_str().unwrap_or_default().to_owned();
    let unknown = |raw: &Value| raw["effect"].as_str().unwrap_or_default().parse::<model::Effect>().is_err();
    let known = wanted.iter().map(|taint| {
        let before = stood.iter().find(|raw| same(raw, taint) && value(raw) == taint.value);
        let new = || json!({ "key": taint.key, "value": taint.value, "effect": taint.effect.as_str() });
        before.cloned().unwrap_or_else(new)
    });
    known.chain(stood.iter().filter(|raw| unknown(raw)).cloned()).collect()
}

fn owner_list(stood: &[Value], change: &OwnerChange) -> Vec<Value> {
    let is = |raw: &Value, uid: &model::Uid| raw["uid"] == uid.as_str();
    let mut list = stood.to_vec();
    match change {
        OwnerChange::Keep => {}
        OwnerChange::Add(key) if list.iter().any(|raw| is(raw, &key.claim)) => {}
        OwnerChange::Add(key) => list.push(json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
            "name": key.name.as_str(), "uid": key.claim.as_str(), "blockOwnerDeletion": true })),
        OwnerChange::Remove(uid) => list.retain(|raw| !is(raw, uid)),
    }
    list
}
