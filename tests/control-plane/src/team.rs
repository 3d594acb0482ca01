//! Pods that a real ReplicaSet keeps and a real PodDisruptionBudget protects: what is evicted is made again, one at a time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use faults::gpu_pod;
use serde_json::{Value, json};

use crate::{
    audit,
    site::Site,
    stagehand::{is, path_of},
};

/// A scheduler looks at no pod that has one.
const GATE: &str = "example.com/not-yet";
const TOO_MANY_REQUESTS: u16 = 429;

/// Two pods with a GPU each, for nodes of one pool; one of them may be missing at a time.
pub struct Team {
    pub name: String,
    set: Value,
    budget: Value,
}

impl Team {
    pub const SIZE: usize = 2;

    pub fn new(pool: &str) -> Self {
        let name = format!("{pool}-team");
        let labels = json!({ "team": name });
        let mut pod = gpu_pod("any", 1)["spec"].clone();
        pod["nodeSelector"] = json!({ "karpenter.sh/nodepool": pool });
        pod["terminationGracePeriodSeconds"] = json!(1);
        let metadata = json!({ "name": name, "namespace": "default" });
        let set = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata,
            "spec": { "replicas": Self::SIZE, "selector": { "matchLabels": labels },
                "template": { "metadata": { "labels": labels }, "spec": pod } },
        });
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata,
            "spec": { "maxUnavailable": 1, "selector": { "matchLabels": labels } },
        });
        Team { name, set, budget }
    }

    /// Until they run on this node, and the disruption controller has counted them.
    pub async fn begin(&self, site: &Site, node: &str) {
        site.apply(&self.budget).await;
        site.apply(&self.set).await;
        self.until_running_on(site, node).await;
        let counted = || async {
            let budget = site.get(&path_of(&self.budget)).await?;
            (budget["status"]["disruptionsAllowed"] == 1).then_some(())
        };
        site.until(&format!("{}: one may be missing", self.name), counted).await;
    }

    pub async fn until_running_on(&self, site: &Site, node: &str) {
        let running = || async {
            let pods = self.pods(site).await;
            let runs = |pod: &&Value| pod["spec"]["nodeName"] == node && is(pod, "Ready");
            (pods.len() == Self::SIZE && pods.iter().filter(runs).count() == Self::SIZE).then_some(())
        };
        site.until(&format!("all of {} run on {node}", self.name), running).await;
    }

    /// All that are there and stay.
    pub async fn pods(&self, site: &Site) -> Vec<Value> {
        let path = format!("/api/v1/namespaces/default/pods?labelSelector=team%3D{}", self.name);
        let pods = site.get(&path).await.unwrap_or_default()["items"].as_array().cloned().unwrap_or_default();
        pods.into_iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null()).collect()
    }

    /// Whoever is made from now on waits, so the budget lets only one more go.
    pub async fn hold_successors(&self, site: &Site) {
        let gates = json!({ "spec": { "template": { "spec": { "schedulingGates": [{ "name": GATE }] } } } });
        site.patch(&path_of(&self.set), &gates).await;
    }

    /// Whoever makes them may not have heard yet, so each is looked at until all are free.
    pub async fn let_successors_go(&self, site: &Site) {
        let open = json!({ "spec": { "schedulingGates": [] } });
        site.patch(&path_of(&self.set), &json!({ "spec": { "template": open } })).await;
        let all_free = || async {
            let pods = self.pods(site).await;
            let held: Vec<&Value> = pods.iter().filter(|pod| pod["spec"]["schedulingGates"].is_array()).collect();
            let free = held.is_empty() && pods.len() == Self::SIZE;
            for pod in held {
                let path = format!("/api/v1/namespaces/default/pods/{}", pod["metadata"]["name"].as_str().unwrap());
                site.patch(&path, &open).await;
            }
            free.then_some(())
        };
        site.until(&format!("no pod of {} is held any more", self.name), all_free).await;
    }

    /// One of them is away, and the API server has refused to let the other go. How the first was let go is not asked: whoever asked for it
    /// may have been killed before the answer.
    pub async fn until_one_is_away_and_one_is_refused(&self, site: &Site, node: &str) {
        let refused = || async {
            let pods = self.pods(site).await;
            let mut here = pods.iter().filter(|pod| pod["spec"]["nodeName"] == node);
            let (Some(stays), None) = (here.next(), here.next()) else { return None };
            let name = stays["metadata"]["name"].as_str().unwrap();
            let answers = audit::evictions(&site.control_plane.facts.audit_log, name).unwrap();
            answers.contains(&TOO_MANY_REQUESTS).then_some(())
        };
        site.until(&format!("one of {} is away and one is refused", self.name), refused).await;
    }

    pub async fn end(&self, site: &Site) {
        site.delete(&path_of(&self.set)).await;
        site.delete(&path_of(&self.budget)).await;
    }
}
