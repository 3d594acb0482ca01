//! Commands on claims, as a tick writes them down, and what a node looks like meanwhile.

use k8s_openapi::api::{apps::v1::Deployment, core::v1::Node};
use kube::{
    Api,
    api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::Theatre;

pub const COMMAND: &str = "pilotlight.dev/disruption";

impl Theatre {
    /// Writes a command down, as if it had been decided on what is there now. `change` makes it another one.
    pub async fn begin(&self, claims: &[&str], replacements: &[Value], change: Value) {
        let key = |name: &&str| json!({"name": name, "uid": self.claim(name).unwrap_or_default()["metadata"]["uid"]});
        let nodes: Vec<String> = claims.iter().map(|name| self.node_of(name)).collect();
        let pods: Vec<Value> = self.pods_on(&nodes).iter().map(|pod| pod["metadata"]["uid"].clone()).collect();
        let names: Vec<&Value> = replacements.iter().map(|claim| &claim["metadata"]["name"]).collect();
        let now = self.world.clock.now().to_string();
        let mut record = json!({
            "v": 1, "id": "0123456789", "reason": "Underutilized", "action": "delete", "order": "replaceFirst",
            "phase": "Recorded", "since": now, "begunAt": now, "why": "it is cheaper",
            "candidates": claims.iter().map(key).collect::<Vec<_>>(), "pods": pods,
            "replacements": names, "make": replacements,
        });
        for (field, value) in change.as_object().into_iter().flatten() {
            record[field] = value.clone();
        }
        let first = claims.first().copied().unwrap_or_default();
        let patch = json!({"metadata": {"annotations": {COMMAND: record.to_string()}}});
        self.claims().patch(first, &PatchParams::default(), &Patch::Merge(&patch)).await.expect("the claim is there");
    }

    /// The phase of the command on this claim; none if there is no command.
    pub fn phase(&self, claim: &str) -> Option<String> {
        let claim = self.claim(claim)?;
        let record: Value = serde_json::from_str(claim["metadata"]["annotations"][COMMAND].as_str()?).ok()?;
        record["phase"].as_str().map(str::to_owned)
    }

    pub fn node_of(&self, claim: &str) -> String {
        let claim = self.claim(claim).unwrap_or_default();
        claim["status"]["nodeName"].as_str().unwrap_or_default().to_owned()
    }

    pub fn is_closed(&self, node: &str) -> bool {
        let node = self.node(node).unwrap_or_default();
        let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
        taints.iter().any(|taint| taint["key"] == "karpenter.sh/disrupted")
    }

    pub fn boot_id(&self, node: &str) -> String {
        let node = self.node(node).unwrap_or_default();
        node["status"]["nodeInfo"]["bootID"].as_str().unwrap_or_default().to_owned()
    }

    pub fn pods_on(&self, nodes: &[String]) -> Vec<Value> {
        let pods = self.world.objects.list(&("".into(), "pods".into()));
        let on = |pod: &&Value| nodes.iter().any(|node| pod["spec"]["nodeName"] == node.as_str());
        pods.iter().map(|stored| &stored.value).filter(on).cloned().collect()
    }

    /// A pod that the scheduler chose this node for, a moment ago.
    pub async fn bind_pod(&self, name: &str, node: &str) {
        self.bind_pod_that_tolerates(name, node, json!({"key": "sku", "operator": "Exists"})).await;
    }

    pub async fn bind_pod_that_tolerates(&self, name: &str, node: &str, toleration: Value) {
        let mut pod = crate::gpu_pod(name, 1);
        pod["spec"]["nodeName"] = node.into();
        pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "10m"}});
        pod["spec"]["tolerations"] = json!([toleration]);
        self.create_pod(pod).await;
    }

    /// Puts the taint of a command onto a node.
    pub async fn taint(&self, node: &str) {
        let nodes: Api<Node> = Api::all(self.world.client("person"));
        let mut taints = self.node(node).unwrap_or_default()["spec"]["taints"].as_array().cloned().unwrap_or_default();
        taints.push(json!({"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}));
        let patch = json!({"spec": {"taints": taints}});
        nodes.patch(node, &PatchParams::default(), &Patch::Merge(&patch)).await.expect("the node is there");
    }

    pub async fn create_deployment(&self, deployment: Value) {
        let all: Api<Deployment> = Api::namespaced(self.world.client("person"), "default");
        let object = serde_json::from_value(deployment).expect("a deployment is an object");
        all.create(&PostParams::default(), &object).await.expect("the deployment is accepted");
    }

    /// Whether a pod runs whose name begins so.
    pub fn runs_any(&self, prefix: &str) -> bool {
        let pods = self.world.objects.list(&("".into(), "pods".into()));
        pods.iter().any(|stored| {
            let name = stored.value["metadata"]["name"].as_str().unwrap_or_default();
            name.starts_with(prefix)
                && stored.value["status"]["phase"] == "Running"
                && stored.value["metadata"]["deletionTimestamp"].is_null()
        })
    }

    pub async fn annotate_node(&self, node: &str, key: &str, value: &str) {
        let nodes: Api<Node> = Api::all(self.world.client("person"));
        let patch = json!({"metadata": {"annotations": {key: value}}});
        nodes.patch(node, &PatchParams::default(), &Patch::Merge(&patch)).await.expect("the node is there");
    }

    pub async fn change_pool(&self, name: &str, patch: Value) {
        let kind = GroupVersionKind::gvk("karpenter.sh", "v1", "NodePool");
        let resource = ApiResource::from_gvk_with_plural(&kind, "nodepools");
        let pools: Api<DynamicObject> = Api::all_with(self.world.client("person"), &resource);
        pools.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await.expect("the pool is there");
    }

    /// Writes a condition of a Node, as a watchdog does.
    pub async fn set_condition(&self, node: &str, kind: &str, status: &str, reason: &str) {
        let nodes: Api<Node> = Api::all(self.world.client("person"));
        let now = self.world.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let condition = json!({"type": kind, "status": status, "reason": reason, "message": "said by a test",
            "lastTransitionTime": now, "lastHeartbeatTime": now});
        let patch = json!({"status": {"conditions": [condition]}});
        nodes.patch_status(node, &PatchParams::default(), &Patch::Strategic(&patch)).await.expect("the node is there");
    }
}
