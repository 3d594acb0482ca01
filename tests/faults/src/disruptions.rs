//! Pools whose nodes go, work that moves, and what became of both.

use serde_json::{Value, json};
use std::time::Duration;

use crate::{Kind, Theatre, WITH_TIMER, gpu_pod};

impl Kind {
    /// A pool whose nodes may go as soon as nothing happened on them for so long, so many at a time.
    pub fn pool_that_shrinks(self, after: &str, budget: &str) -> Value {
        let mut pool = self.pool("gpu");
        pool["spec"]["disruption"] = json!({"consolidateAfter": after, "consolidationPolicy": "WhenEmptyOrUnderutilized",
            "budgets": [{"nodes": budget}]});
        pool["metadata"]["annotations"] = json!({"pilotlight.dev/consolidate-gpu": "true",
            "pilotlight.dev/idle-window": "60s", "pilotlight.dev/minimum-on-time": "60s", "pilotlight.dev/cool-down": "0s"});
        pool
    }
}

/// Pods that somebody makes again when they are evicted.
pub fn deployment(replicas: u32) -> Value {
    let labels = json!({"app": "work"});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "work", "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": gpu_pod("work", 1)["spec"]}}})
}

pub fn with_annotation(mut object: Value, annotation: &str, value: &str) -> Value {
    object["metadata"]["annotations"][annotation] = value.into();
    object
}

impl Theatre {
    /// A world in which every function is at work, the timer too.
    pub async fn ticking() -> Self {
        let mut theatre = Theatre::open().await;
        theatre.play(theatre.messenger_for(&WITH_TIMER));
        theatre
    }

    /// One node with work of a Deployment on it, in a pool of this kind. Gives back its claim and its node.
    pub async fn with_work(kind: Kind) -> (Self, String, String) {
        let theatre = Theatre::ticking().await;
        theatre.create_pool(kind.pool_that_shrinks("30s", "100%")).await;
        theatre.create_deployment(deployment(1)).await;
        let claim = theatre.first_claim_at_work().await;
        let node = theatre.node_of(&claim);
        (theatre, claim, node)
    }

    /// Waits for the work of a Deployment to run, and for its node to be ready.
    pub async fn first_claim_at_work(&self) -> String {
        self.until("it runs", |theatre| theatre.runs_any("work-")).await;
        self.until("its claim is ready", |theatre| theatre.is_ready(&theatre.claim_names()[0])).await;
        self.claim_names()[0].clone()
    }

    pub async fn until_all_run(&self, pods: &[&str]) {
        self.until("the pods run", |theatre| pods.iter().all(|pod| theatre.runs(pod))).await;
        self.until("the claims are ready", |theatre| theatre.claim_names().iter().all(|name| theatre.is_ready(name)))
            .await;
    }

    pub fn claim_names(&self) -> Vec<String> {
        self.all_claims().iter().map(|claim| claim["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }

    pub fn is_going(&self, claim: &str) -> bool {
        self.claim(claim).is_none_or(|claim| claim["metadata"]["deletionTimestamp"].is_string())
    }

    /// How many nodes of claims are closed or on their way out.
    pub fn closed_or_going(&self) -> usize {
        let names = self.claim_names();
        names.iter().filter(|name| self.is_going(name) || self.is_closed(&self.node_of(name))).count()
    }

    /// Changes the template of the pool, so that its nodes are not what it would make today.
    pub async fn change_template(&self) {
        self.change_pool("gpu", json!({"spec": {"template": {"metadata": {"labels": {"team": "b"}}}}})).await;
    }

    /// A budget for the work of a Deployment.
    pub async fn create_budget(&self, name: &str, spec: Value) {
        let mut budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": {"app": "work"}}}});
        for (field, value) in spec.as_object().into_iter().flatten() {
            budget["spec"][field] = value.clone();
        }
        self.make("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", Some("default"), budget).await;
    }

    /// Nothing is left of anything, and then nobody writes any more.
    pub async fn ends_dark(&self) {
        self.pass(Duration::from_secs(300)).await;
        self.world.check(jiff::SignedDuration::ZERO).unwrap();
        assert!(self.world.instances().iter().all(|instance| instance.until.is_some()), "nothing is left");
        assert!(self.world.power.snapshot().iter().all(|machine| !machine.on), "every machine is off");
        let quiet_from = self.world.clock.now();
        self.pass(Duration::from_secs(3600)).await;
        self.world.check_quiet_since(quiet_from).unwrap();
    }
}
