//! What becomes of Kubernetes objects: objects in, scene out, as one says it on a blackboard.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod catalogue;
mod claims_and_nodes;
mod daemons;
mod pools;
mod rules;
mod volumes;
mod which_pods;

use super::*;
use kube::api::DynamicObject;
use model::place::PodToPlace;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub(super) fn object<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Puts one JSON object over another, field by field.
pub(super) fn with(mut base: Value, more: Value) -> Value {
    match (base.as_object_mut(), more) {
        (Some(own), Value::Object(more)) => {
            for (key, value) in more {
                let merged = with(own.remove(&key).unwrap_or(Value::Null), value);
                own.insert(key, merged);
            }
            base
        }
        (_, more) => more,
    }
}

/// What every object has that an API server sends.
pub(super) fn metadata(name: &str) -> Value {
    json!({ "name": name, "uid": format!("uid-{name}"), "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z" })
}

pub(super) fn named(kind_of: Value, name: &str, namespace: &str) -> Value {
    with(json!({ "metadata": with(metadata(name), json!({ "namespace": namespace })) }), kind_of)
}

/// A pod that the scheduler has given up on, with one container.
pub(super) fn waiting(more: Value) -> Value {
    let usual = json!({
        "spec": { "containers": [{ "name": "main" }] },
        "status": { "phase": "Pending",
            "conditions": [{ "type": "PodScheduled", "status": "False", "reason": "Unschedulable" }] }
    });
    with(named(usual, "p", "team-a"), more)
}

pub(super) fn running(name: &str, node: &str, more: Value) -> Value {
    let usual = json!({ "metadata": { "name": name, "uid": name }, "spec": { "nodeName": node, "containers": [{ "name": "main" }] },
        "status": { "phase": "Running", "conditions": [] } });
    with(waiting(usual), more)
}

pub(super) fn node(name: &str, more: Value) -> Value {
    let usual = json!({ "metadata": with(metadata(name), json!({ "labels": { "kubernetes.io/hostname": name } })),
        "status": { "allocatable": { "cpu": "4", "pods": "110" }, "capacity": { "cpu": "4", "pods": "110" } } });
    with(usual, more)
}

pub(super) fn claim(name: &str, more: Value) -> ClaimRead {
    let class = json!({ "group": "kaito.sh", "kind": "KaitoNodeClass", "name": "default" });
    let usual = json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": metadata(name),
        "spec": { "nodeClassRef": class, "requirements": [] } });
    crate::read_claim::read_claim(object::<DynamicObject>(with(usual, more))).unwrap()
}

pub(super) fn pool(name: &str, more: Value) -> PoolSource {
    let class = json!({ "group": "karpenter.azure.com", "kind": "AKSNodeClass", "name": "gpu" });
    let usual = json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": metadata(name),
        "spec": { "template": { "spec": { "nodeClassRef": class, "requirements": [] } } } });
    PoolSource { pool: object(with(usual, more)), catalogue: Ok(0), spot_taints: vec![] }
}

pub(super) fn source_of(pod: Value) -> SceneSource {
    SceneSource { pods: vec![object(pod)], ..SceneSource::default() }
}

/// The one pod that waits.
pub(super) fn placing(source: &SceneSource) -> PodToPlace {
    let mut read = read_scene(source);
    assert_eq!((read.scene.pods.len(), &read.problems), (1, &vec![]), "{:?}", read.left_out);
    read.scene.pods.remove(0)
}

/// The code and the words with which it has no place.
pub(super) fn refused(source: &SceneSource) -> (String, String) {
    let invalid = placing(source).invalid.unwrap();
    (invalid.code, invalid.why)
}

pub(super) fn amounts(given: &model::Resources) -> Vec<String> {
    given.iter().map(|(name, amount)| format!("{name} {amount}")).collect()
}
