//! Pools and pods, as their users write them, and what became of them.

use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams},
};
use serde_json::{Value, json};

use crate::{Kind, Theatre};

impl Kind {
    /// A pool of GPU nodes; pods have to tolerate nothing.
    pub fn pool(self, name: &str) -> Value {
        let (group, class, requirements) = match self {
            Kind::Aks => ("karpenter.azure.com", "AKSNodeClass", json!([])),
            Kind::Scaleway => ("pilotlight.dev", "ScalewayNodeClass", json!([])),
            Kind::Power => ("pilotlight.dev", "PowerNodeClass", json!([])),
        };
        json!({
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": name},
            "spec": {"template": {
                "metadata": {"labels": {"team": "a"}},
                "spec": {
                    "nodeClassRef": {"group": group, "kind": class, "name": "default"},
                    "requirements": requirements,
                    "expireAfter": "Never",
                },
            }},
        })
    }
}

/// A pod that asks for so many GPUs, and little else.
pub fn gpu_pod(name: &str, gpus: u32) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [{
            "name": "work",
            "image": "example.org/work",
            "resources": {"requests": {"cpu": "1"}, "limits": {"nvidia.com/gpu": gpus.to_string()}},
        }]},
    })
}

impl Theatre {
    pub async fn create_pool(&self, pool: Value) {
        let kind = GroupVersionKind::gvk("karpenter.sh", "v1", "NodePool");
        let resource = ApiResource::from_gvk_with_plural(&kind, "nodepools");
        let pools: Api<DynamicObject> = Api::all_with(self.world.client("person"), &resource);
        let object = serde_json::from_value(pool).expect("a pool is an object");
        pools.create(&PostParams::default(), &object).await.expect("the pool is accepted");
    }

    pub async fn create_pod(&self, pod: Value) {
        let object: Pod = serde_json::from_value(pod).expect("a pod is an object");
        self.pods().create(&PostParams::default(), &object).await.expect("the pod is accepted");
    }

    pub async fn delete_pod(&self, name: &str) {
        self.pods().delete(name, &DeleteParams::default()).await.expect("the pod is there");
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.world.client("person"), "default")
    }

    pub fn pod(&self, name: &str) -> Option<Value> {
        let pods = &("".into(), "pods".into());
        self.world.objects.get(pods, "default", name).map(|stored| stored.value.clone())
    }

    pub fn runs(&self, pod: &str) -> bool {
        self.pod(pod).is_some_and(|pod| pod["status"]["phase"] == "Running")
    }

    pub fn all_claims(&self) -> Vec<Value> {
        let claims = &("karpenter.sh".into(), "nodeclaims".into());
        self.world.objects.list(claims).iter().map(|stored| stored.value.clone()).collect()
    }

    /// Reason and words of every Event of ours about a pod.
    pub fn said_of(&self, pod: &str) -> Vec<(String, String)> {
        self.said_by("on-pending-pod", pod)
    }

    /// Reason and words of every Event of a function about an object of this name.
    pub fn said_by(&self, function: &str, name: &str) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let speaker = format!("pilotlight.dev/{function}");
        let of_us = |event: &Value| {
            [&event["reportingComponent"], &event["reportingController"]]
                .into_iter()
                .any(|own| *own == speaker.as_str())
        };
        let about = |event: &Value| event["regarding"]["name"] == name || event["involvedObject"]["name"] == name;
        let events = ["events.k8s.io", ""].map(|group| self.world.objects.list(&(group.into(), "events".into())));
        let events = events.iter().flatten().map(|stored| &stored.value).filter(|event| of_us(event) && about(event));
        events
            .map(|event| {
                let note = if event["note"].is_string() { &event["note"] } else { &event["message"] };
                (text(&event["reason"]), text(note))
            })
            .collect()
    }
}
