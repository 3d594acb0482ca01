//! What tests leave behind, as a crash, a person or a lost event would: by the API server and by the clouds themselves.

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use kube::{
    Api,
    api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use world::scaleway::Options;

use crate::Theatre;

/// The UID of a claim that never was.
pub const NOBODY: &str = "00000000-dead-4000-8000-000000000000";

impl Theatre {
    /// Any object, as a person makes it.
    pub async fn make(&self, api_version: &str, kind: &str, plural: &str, namespace: Option<&str>, object: Value) {
        let api = self.objects(api_version, kind, plural, namespace);
        let object: DynamicObject = serde_json::from_value(object).expect("it is an object");
        api.create(&PostParams::default(), &object).await.expect("it is accepted");
    }

    pub fn objects(&self, api_version: &str, kind: &str, plural: &str, namespace: Option<&str>) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        let client = self.world.client("person");
        match namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &resource),
            None => Api::all_with(client, &resource),
        }
    }

    /// Takes every finalizer off a claim, as impatient people do.
    pub async fn strip_finalizers(&self, claim: &str) {
        let patch = json!({"metadata": {"finalizers": null}});
        self.claims().patch(claim, &PatchParams::default(), &Patch::Merge(patch)).await.expect("the claim is there");
    }

    /// A claim goes at once, and nobody takes down what it had.
    pub async fn lose_claim(&self, claim: &str) {
        self.strip_finalizers(claim).await;
        self.claims().delete(claim, &DeleteParams::default()).await.expect("the claim is there");
        self.until("the claim is gone", |theatre| theatre.is_gone(claim)).await;
    }

    /// A Node that says it is of a claim, and has no machine.
    pub async fn make_node(&self, name: &str, labels: Value, finalizers: Value) {
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": labels, "finalizers": finalizers},
            "spec": {"providerID": format!("scaleway://instance/fr-par-2/{name}")},
        });
        self.make("v1", "Node", "nodes", None, node).await;
    }

    pub fn node(&self, name: &str) -> Option<Value> {
        self.world.objects.get(&("".into(), "nodes".into()), "", name).map(|stored| stored.value.clone())
    }

    pub fn lease(&self, name: &str) -> Option<Value> {
        let leases = &("coordination.k8s.io".into(), "leases".into());
        self.world.objects.get(leases, "default", name).map(|stored| stored.value.clone())
    }

    pub fn config_map(&self, name: &str) -> Option<Value> {
        let maps = &("".into(), "configmaps".into());
        self.world.objects.get(maps, "default", name).map(|stored| stored.value.clone())
    }

    /// A request to Scaleway with the key of its owner.
    pub async fn scaleway(&self, method: &str, path: &str, body: Value) -> Value {
        let key = Options::default().keys.first().map(|key| key.secret.clone()).unwrap_or_default();
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let request = Request::builder().method(method).uri(path).header("X-Auth-Token", key);
        let request = request.header("content-type", "application/json").body(body).expect("it is a request");
        let answer = self.world.scaleway().call(request).await.expect("Scaleway answers");
        let status = answer.status();
        let bytes = answer.into_body().collect().await.expect("the answer is whole").to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(status.is_success(), "{method} {path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// A volume that nothing holds.
    pub async fn make_volume(&self, tags: &[String]) {
        let body = json!({"name": "left", "project_id": Options::default().project, "tags": tags,
                          "perf_iops": 5000, "from_empty": {"size": 100_000_000_000_u64}});
        self.scaleway("POST", "/block/v1/zones/fr-par-2/volumes", body).await;
    }

    /// An address that nothing has.
    pub async fn make_address(&self, tags: &[String]) {
        let body = json!({"project": Options::default().project, "type": "routed_ipv4", "tags": tags});
        self.scaleway("POST", "/instance/v1/zones/fr-par-2/ips", body).await;
    }

    /// A server, as Scaleway's console makes it; stopped.
    pub async fn make_server(&self, name: &str, tags: &[String]) {
        let images = "/marketplace/v2/local-images?image_label=ubuntu_jammy_gpu_os_12&zone=fr-par-2&type=instance_sbs";
        let images = self.scaleway("GET", images, Value::Null).await;
        let body = json!({"name": name, "commercial_type": "L4-1-24G", "project": Options::default().project,
                          "tags": tags, "image": images["local_images"][0]["id"], "dynamic_ip_required": false});
        self.scaleway("POST", "/instance/v1/zones/fr-par-2/servers", body).await;
    }

    /// How things of this cluster say whose they are.
    pub fn own_tags(&self, claim: &str) -> Vec<String> {
        let mut tags = tags(claim, "world");
        tags.extend(stage::cluster_uid(&self.world).map(|uid| format!("pilotlight-cluster-uid={uid}")));
        tags
    }

    /// What Scaleway has now: servers, volumes, addresses.
    pub fn held_at_scaleway(&self) -> [usize; 3] {
        let present = self.world.scaleway.snapshot().present();
        [present.servers.len(), present.volumes.len(), present.ips.len()]
    }
}

/// The same, of a cluster that nothing is known of but its name.
pub fn tags(claim: &str, cluster: &str) -> Vec<String> {
    vec![
        "created-by=pilotlight".to_owned(),
        format!("pilotlight-claim-uid={claim}"),
        "pilotlight-claim=gone".to_owned(),
        format!("pilotlight-cluster={cluster}"),
    ]
}
