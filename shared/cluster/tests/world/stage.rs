//! What the tests share: a cluster with NodeClaims in it, a way in for others, and what was asked of the API server.

use cluster::{ClaimAsRead, ClaimRead, Cluster};
use http::Request;
use kube::Client;
use model::{InstanceKey, Namespace, ObjectName, PodRef, Uid};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use world::{
    World, WorldOptions,
    fleet::Machine,
    history::{Exchange, Place},
};

pub const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";
pub const NODES: &str = "/api/v1/nodes";
pub const PODS: &str = "/api/v1/namespaces/default/pods";
pub const NAMESPACE: &str = "pilotlight";

/// The user that the functions are; everybody else is `somebody`.
const US: &str = "us";

pub struct Stage {
    pub world: World,
    pub cluster: Cluster,
    others: Client,
}

/// A cluster that serves NodeClaims, with our own namespace in it.
pub async fn stage() -> Stage {
    let stage = empty_stage().await;
    for (group, version, kind, plural) in [
        ("karpenter.sh", "v1", "NodeClaim", "nodeclaims"),
        ("karpenter.sh", "v1", "NodePool", "nodepools"),
        ("kaito.sh", "v1alpha1", "KaitoNodeClass", "kaitonodeclasses"),
    ] {
        stage
            .post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(group, version, kind, plural))
            .await;
    }
    stage.post("/api/v1/namespaces", json!({ "metadata": { "name": NAMESPACE } })).await;
    stage.passes(1).await;
    stage
}

pub async fn empty_stage() -> Stage {
    let world = World::start(WorldOptions::default());
    let cluster = Cluster::new(world.client(US), NAMESPACE.to_owned());
    let stage = Stage { others: world.client("somebody"), world, cluster };
    stage.passes(1).await;
    stage
}

/// As lenient as the API server lets a definition be, so that fields nobody has heard of are kept.
fn definition(group: &str, version: &str, kind: &str, plural: &str) -> Value {
    json!({ "metadata": { "name": format!("{plural}.{group}") },
        "spec": { "group": group, "scope": "Cluster", "names": { "kind": kind, "plural": plural },
            "versions": [{ "name": version, "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } } }] } })
}

impl Stage {
    pub async fn passes(&self, seconds: u64) {
        self.world.clock.sleep(Duration::from_secs(seconds)).await;
    }

    pub async fn post(&self, path: &str, body: Value) -> Value {
        self.ask(Request::post(path).header("content-type", "application/json"), &body).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Value {
        self.ask(Request::patch(path).header("content-type", "application/merge-patch+json"), &body).await
    }

    pub async fn delete(&self, path: &str) -> Value {
        self.ask(Request::delete(path), &json!({})).await
    }

    pub async fn get(&self, path: &str) -> Value {
        self.find(path).await.unwrap_or_else(|| panic!("{path} is not there"))
    }

    pub async fn find(&self, path: &str) -> Option<Value> {
        self.others.request(Request::get(path).body(Vec::new()).unwrap()).await.ok()
    }

    async fn ask(&self, request: http::request::Builder, body: &Value) -> Value {
        self.others.request(request.body(body.to_string().into_bytes()).unwrap()).await.unwrap()
    }

    /// A claim as somebody writes it, with things in it that nobody has heard of.
    pub async fn has_claim(&self, name: &str) -> InstanceKey {
        let claim = self.post(CLAIMS, claim(name)).await;
        let status = json!({ "status": { "mood": "good", "conditions": [
            { "type": "ConsistentStateFound", "status": "True", "reason": "Old", "message": "m", "lastTransitionTime": "2025-01-01T00:00:00Z" },
            { "type": "Launched", "status": "Unknown", "reason": "Waits", "message": "m", "lastTransitionTime": "2025-01-01T00:00:00Z",
                "observedGeneration": 7, "mood": "good" }] } });
        self.patch(&format!("{CLAIMS}/{name}/status"), status).await;
        key(name, claim["metadata"]["uid"].as_str().unwrap())
    }

    pub async fn read(&self, key: &InstanceKey) -> ClaimAsRead {
        match self.cluster.claim(&key.name).await.unwrap() {
            Some(ClaimRead::Claim(read)) => *read,
            other => panic!("{other:?}"),
        }
    }

    /// A machine joins and runs pods.
    pub async fn has_node(&self, node: &str, labels: &[(&str, &str)]) {
        let text = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        self.world.fleet().join(Machine {
            node: node.to_owned(),
            provider_id: format!("world://{node}"),
            labels: labels.iter().map(text).collect(),
            annotations: BTreeMap::new(),
            taints: Vec::new(),
            capacity: [("cpu", "8"), ("memory", "32Gi"), ("pods", "110")].iter().map(text).collect(),
            accelerator: None,
            accelerator_after: None,
            boot_id: format!("boot-{node}"),
        });
        self.passes(2).await;
    }

    /// A pod that runs on the node.
    pub async fn has_pod(&self, name: &str, node: &str, more: Value) -> PodRef {
        self.has_pod_noted(name, node, more, json!({})).await
    }

    /// A pod that no drain makes go: its node's own.
    pub async fn has_static_pod(&self, name: &str, node: &str, more: Value) -> PodRef {
        self.has_pod_noted(name, node, more, json!({ "kubernetes.io/config.mirror": "x" })).await
    }

    async fn has_pod_noted(&self, name: &str, node: &str, more: Value, annotations: Value) -> PodRef {
        let mut spec = json!({ "nodeName": node, "containers": [{ "name": "c", "image": "i" }] });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let metadata = json!({ "name": name, "labels": { "app": name }, "annotations": annotations });
        let pod = self.post(PODS, json!({ "metadata": metadata, "spec": spec })).await;
        self.passes(5).await;
        pod_ref(name, pod["metadata"]["uid"].as_str().unwrap())
    }

    pub fn fault(&self, text: Value) {
        let mut fault = text;
        fault["user"] = US.into();
        self.world.faults.add(serde_json::from_value(fault).unwrap());
    }

    /// What we have asked of the API server so far.
    pub fn asked(&self) -> Vec<Exchange> {
        let ours = |exchange: &Exchange| exchange.to == Place::Kubernetes && exchange.user == US;
        self.world.history.exchanges().into_iter().filter(ours).collect()
    }

    /// The same in short, as in `PATCH nodes/n 200`, from the so many-th on.
    pub fn asked_since(&self, from: usize) -> Vec<String> {
        let short = |exchange: &Exchange| {
            let path: Vec<&str> = exchange.path.rsplit('/').take(2).collect();
            let status = exchange.status.map_or("lost".to_owned(), |status| status.to_string());
            format!("{} {}/{} {status}", exchange.method, path[1], path[0])
        };
        self.asked().iter().skip(from).map(short).collect()
    }

    pub fn asked_so_far(&self) -> usize {
        self.asked().len()
    }
}

pub fn claim(name: &str) -> Value {
    json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
        "metadata": { "name": name, "finalizers": ["x.dev/theirs"], "labels": { "theirs": "1" }, "annotations": { "theirs": "1" } },
        "spec": { "nodeClassRef": { "group": "kaito.sh", "kind": "KaitoNodeClass", "name": "default" },
            "requirements": [{ "key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["x"] }],
            "resources": { "requests": { "nvidia.com/gpu": 1 } }, "mood": { "good": true } } })
}

pub fn key(name: &str, uid: &str) -> InstanceKey {
    InstanceKey { claim: Uid::new(uid).unwrap(), name: object(name) }
}

pub fn pod_ref(name: &str, uid: &str) -> PodRef {
    PodRef { namespace: Namespace::new("default").unwrap(), name: object(name), uid: Uid::new(uid).unwrap() }
}

pub fn object(name: &str) -> ObjectName {
    ObjectName::new(name).unwrap()
}
