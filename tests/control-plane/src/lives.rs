//! The life of a claim on a real control plane, from its making until nothing of it is left, and what can hold it up.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use faults::Kind;
use serde_json::{Value, json};
use spec::power_peers::Sushy;
use std::collections::BTreeMap;
use world::fleet::{Fleet as _, Machine};

use crate::{
    KWOK_NODE,
    account::NAMESPACE,
    site::Site,
    stagehand::{claim_path, is},
};

/// A claim, and what has to be there for it.
pub struct Life {
    pub name: String,
    pub claim: Value,
    pub beside: Vec<Value>,
}

impl Life {
    /// As KAITO makes it for gpu-provisioner.
    pub fn of_kaito(name: &str) -> Self {
        Life { name: name.to_owned(), claim: Kind::Aks.claim(name), beside: Vec::new() }
    }

    pub fn scaleway(name: &str) -> Self {
        Life { name: name.to_owned(), claim: Kind::Scaleway.claim(name), beside: Vec::new() }
    }

    /// A machine that is switched by webhooks, `number` of the rack.
    pub fn webhook(site: &Site, name: &str, number: usize) -> Self {
        let class = rack_class(site, number);
        let mut claim = Kind::Power.claim(name);
        claim["spec"]["nodeClassRef"]["name"] = class["metadata"]["name"].clone();
        Life { name: name.to_owned(), claim, beside: vec![class] }
    }

    /// As Karpenter makes it from a pool: owned, labelled, with hashes and a taint of its own.
    pub fn of_karpenter(name: &str) -> Self {
        let pool = format!("pool-{name}");
        let class = json!({ "group": "karpenter.azure.com", "kind": "AKSNodeClass", "name": format!("class-{name}") });
        let requirements = json!([
            { "key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"] },
            { "key": "node.kubernetes.io/instance-type", "operator": "In",
              "values": ["Standard_NC24ads_A100_v4", "Standard_NC6s_v3"] },
        ]);
        let claim = json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
            "metadata": {
                "name": name,
                "labels": { "karpenter.sh/nodepool": pool, "karpenter.sh/capacity-type": "on-demand" },
                "annotations": { "karpenter.sh/nodepool-hash": "1", "karpenter.sh/nodepool-hash-version": "v3" },
            },
            "spec": {
                "nodeClassRef": class, "requirements": requirements, "expireAfter": "720h",
                "resources": { "requests": { "nvidia.com/gpu": "1", "cpu": "4" } },
                "taints": [{ "key": "sku", "value": "gpu", "effect": "NoSchedule" }],
                "startupTaints": [{ "key": "example.com/starting", "effect": "NoSchedule" }],
            },
        });
        let pool = json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": { "name": pool },
            "spec": {
                "template": { "spec": { "nodeClassRef": class, "requirements": requirements } },
                "disruption": { "consolidateAfter": "Never" },
            },
        });
        let class = json!({
            "apiVersion": "karpenter.azure.com/v1beta1", "kind": "AKSNodeClass",
            "metadata": { "name": class["name"] }, "spec": { "osDiskSizeGB": 128 },
        });
        Life { name: name.to_owned(), claim, beside: vec![class, pool] }
    }

    /// Makes what has to be there, and then the claim.
    pub async fn begin(&self, site: &Site) {
        for object in &self.beside {
            site.apply(object).await;
        }
        let mut claim = self.claim.clone();
        let pool = self.beside.iter().find(|object| object["kind"] == "NodePool");
        if let Some(pool) = pool {
            let name = pool["metadata"]["name"].as_str().unwrap();
            let there = site.get(&format!("/apis/karpenter.sh/v1/nodepools/{name}")).await.unwrap();
            claim["metadata"]["ownerReferences"] = json!([{ "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
                "name": name, "uid": there["metadata"]["uid"], "blockOwnerDeletion": true }]);
        }
        site.apply(&claim).await;
    }

    pub async fn until_nothing_is_left(&self, site: &Site, node: &str) {
        let of_a_rack = self.claim["spec"]["nodeClassRef"]["kind"] == "PowerNodeClass";
        until_nothing_is_left(site, &self.name, node, of_a_rack).await;
    }
}

/// A class of one machine of the rack with one GPU.
pub fn rack_class(site: &Site, number: usize) -> Value {
    rack_class_of(site, &format!("rack-{number}"), &[(number, 1)])
}

/// A class of machines of the rack, each with so many GPUs; whoever has more draws more. Nobody here waits for discs to spin down.
pub fn rack_class_of(site: &Site, name: &str, machines: &[(usize, u32)]) -> Value {
    let endpoint = |number: usize, verb: &str| &site.clouds[&format!("GPU_NODE_{number}_SCALE_{verb}_ENDPOINT")];
    let machine = |(number, gpus): &(usize, u32)| {
        json!({
            "name": format!("rack-{number}"), "gpu": { "count": gpus }, "capacity": { "cpu": "32", "memory": "256Gi" },
            "energy": { "watts": 400 * gpus, "pricePerKWh": "0.31", "currency": "EUR", "asOf": "2026-11-01" },
            "backEnd": { "seed": { "onURL": endpoint(*number, "UP"), "offURL": endpoint(*number, "DOWN") } },
            "timing": { "minimumOnSeconds": 0, "coolDownSeconds": 0 },
        })
    };
    json!({
        "apiVersion": "pilotlight.dev/v1alpha1", "kind": "PowerNodeClass", "metadata": { "name": name },
        "spec": {
            "allowedHosts": ["127.0.0.0/8"], "allowHTTP": true,
            "machines": machines.iter().map(machine).collect::<Vec<_>>(),
        },
    })
}

/// Made, ready, worked on, drained, gone.
pub async fn from_claim_to_nothing(site: &Site, life: Life) {
    let node = until_usable(site, &life).await;
    let pod = work_on(site, &life.name, &node).await;
    site.delete(&claim_path(&life.name)).await;
    site.until_gone(&pod).await;
    life.until_nothing_is_left(site, &node).await;
}

/// The claim is Ready and its Node says so. Gives back the Node's name.
pub async fn until_usable(site: &Site, life: &Life) -> String {
    life.begin(site).await;
    let removing_startup_taints = site.until_some_node_of(&life.name);
    let first_seen = removing_startup_taints.await;
    site.take_startup_taints_from(&first_seen).await;
    let claim = site.until_ready(&life.name).await;
    let name = claim["status"]["nodeName"].as_str().unwrap().to_owned();
    let node = site.get(&format!("/api/v1/nodes/{name}")).await.unwrap();
    let metadata = &node["metadata"];
    assert_eq!(metadata["labels"]["karpenter.sh/registered"], "true", "{node}");
    assert_eq!(metadata["labels"]["karpenter.sh/initialized"], "true", "{node}");
    assert_eq!(metadata["ownerReferences"][0]["uid"], claim["metadata"]["uid"], "{node}");
    // A machine without a cloud has a Node without a provider ID.
    if node["spec"]["providerID"].is_string() {
        assert_eq!(claim["status"]["providerID"], node["spec"]["providerID"]);
    }
    let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    assert!(taints.iter().any(|taint| taint["key"] == "sku"), "{taints:?}");
    assert!(is(&node, "Ready"), "{node}");
    name
}

/// A pod that the real scheduler binds to the node and that "runs" there. Gives back its path.
pub async fn work_on(site: &Site, name: &str, node: &str) -> String {
    site.apply(&pod(name, Some(node))).await;
    let path = pod_path(name);
    let running = || async {
        let pod = site.get(&path).await?;
        (pod["status"]["phase"] == "Running" && pod["spec"]["nodeName"] == node).then_some(())
    };
    site.until(&format!("pod {name} runs on {node}"), running).await;
    path
}

/// No claim, no Node, no machine that anybody pays for. A machine of a rack stays known to the cluster while it is off;
/// everybody else's Node goes with it.
pub async fn until_nothing_is_left(site: &Site, claim: &str, node: &str, node_stays: bool) {
    site.until_gone(&claim_path(claim)).await;
    if !node_stays {
        site.until_gone(&format!("/api/v1/nodes/{node}")).await;
    }
    let is_alive = || async {
        let alive = site.get("/apis/karpenter.sh/v1/nodeclaims").await?;
        let uid = |claim: &Value| claim["metadata"]["uid"].as_str().map(str::to_owned);
        let uids: Vec<String> = alive["items"].as_array()?.iter().filter_map(uid).collect();
        let billed = site.world.instances().into_iter().filter(|instance| instance.until.is_none());
        let leaked = billed.filter(|instance| instance.claim.as_ref().is_some_and(|uid| !uids.contains(uid)));
        leaked.map(|instance| instance.name).collect::<Vec<_>>().is_empty().then_some(())
    };
    site.until("no instance is left without a claim", is_alive).await;
}

/// The budget lets nothing go while the claim's node has the only pod of it; once another runs elsewhere, the drain goes on.
pub async fn held_by_a_budget(site: &Site) {
    let life = Life::scaleway("budget1");
    let node = until_usable(site, &life).await;
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": { "name": "budget1", "namespace": "default" },
        "spec": { "minAvailable": 1, "selector": { "matchLabels": { "work": "budget1" } } },
    });
    site.apply(&budget).await;
    let path = work_on(site, "budget1", &node).await;
    let counted = || async {
        let now = site.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/budget1").await?;
        (now["status"]["currentHealthy"] == 1).then_some(())
    };
    site.until("the disruption controller has counted the pod", counted).await;
    site.delete(&claim_path("budget1")).await;
    let refused = || async {
        let claim = site.claim("budget1").await?;
        let conditions = claim["status"]["conditions"].as_array()?.clone();
        let drained = conditions.into_iter().find(|one| one["type"] == "Drained")?;
        (drained["status"] != "True" && drained["message"].as_str()?.contains("budget1")).then_some(drained)
    };
    let said = site.until("the claim names the pod that holds it", refused).await;
    assert!(site.get(&path).await.is_some(), "a budget was broken: {said}");
    site.apply(&plain_node("elsewhere")).await;
    let mut second = pod("budget1-second", Some("elsewhere"));
    second["metadata"]["labels"] = json!({ "work": "budget1" });
    site.apply(&second).await;
    site.until_gone(&path).await;
    life.until_nothing_is_left(site, &node).await;
    assert!(site.get(&pod_path("budget1-second")).await.is_some(), "the pod elsewhere is left alone");
}

/// A machine behind a Redfish service that others wrote; its Node comes and goes with its power.
pub async fn redfish(site: &Site) {
    const UUID: &str = "6f1c0d3e-1111-4222-8333-944444444447";
    let sushy = Sushy::start(&[("bmc-1", UUID, false)]).await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "rack", "namespace": NAMESPACE },
        "stringData": { "password": "word", "ca.pem": sushy.certificate },
    });
    let class = json!({
        "apiVersion": "pilotlight.dev/v1alpha1", "kind": "PowerNodeClass", "metadata": { "name": "redfish" },
        "spec": {
            "allowedHosts": ["localhost", "127.0.0.0/8", "::1"],
            "machines": [{
                "name": "bmc-1", "gpu": { "count": 2 }, "capacity": { "cpu": "64", "memory": "512Gi" },
                "backEnd": {
                    "redfish": { "system": sushy.url(UUID) },
                    "auth": { "basic": { "user": "admin", "secretRef": { "name": "rack", "key": "password" } } },
                    "caRef": { "name": "rack", "key": "ca.pem" },
                },
                "timing": { "minimumOnSeconds": 0, "coolDownSeconds": 0 },
            }],
        },
    });
    let mut life =
        Life { name: "redfish1".to_owned(), claim: Kind::Power.claim("redfish1"), beside: vec![secret, class] };
    life.claim["spec"]["nodeClassRef"]["name"] = json!("redfish");
    life.claim["spec"]["resources"]["requests"] = json!({ "nvidia.com/gpu": "2" });
    let power = tokio::spawn(follow_power(site.fleet.clone(), sushy.url(UUID), sushy.certificate.clone()));
    from_claim_to_nothing(site, life).await;
    assert_eq!(power_state(&client(&sushy.certificate), &sushy.url(UUID)).await.as_deref(), Some("Off"));
    power.abort();
}

/// What the machine does by itself: it boots and joins when its power comes, and is silent when it goes.
async fn follow_power(fleet: std::sync::Arc<crate::fleet::JoinsHere>, system: String, certificate: String) {
    let (client, mut was) = (client(&certificate), String::from("Off"));
    loop {
        let now = power_state(&client, &system).await.unwrap_or_else(|| was.clone());
        if now != was {
            if now == "On" {
                fleet.join(bmc())
            } else {
                fleet.leave("bmc-1", false)
            }
            was = now;
        }
        tokio::time::sleep(core::time::Duration::from_millis(300)).await;
    }
}

async fn power_state(client: &reqwest::Client, system: &str) -> Option<String> {
    let answer = client.get(system).basic_auth("admin", Some("word")).send().await.ok()?;
    Some(answer.json::<Value>().await.ok()?["PowerState"].as_str()?.to_owned())
}

fn client(certificate: &str) -> reqwest::Client {
    let certificate = reqwest::Certificate::from_pem(certificate.as_bytes()).unwrap();
    reqwest::Client::builder().tls_certs_only([certificate]).no_proxy().build().unwrap()
}

fn bmc() -> Machine {
    let amounts = [("cpu", "64"), ("memory", "512Gi"), ("pods", "110"), ("ephemeral-storage", "100Gi")];
    Machine {
        node: "bmc-1".to_owned(),
        provider_id: String::new(),
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        taints: Vec::new(),
        capacity: amounts.map(|(name, amount)| (name.to_owned(), amount.to_owned())).into(),
        accelerator: Some(("nvidia.com/gpu".to_owned(), 2)),
        accelerator_after: Some(core::time::Duration::from_secs(30)),
        boot_id: "boot-1".to_owned(),
    }
}

impl Site {
    /// As soon as there is a Node that belongs to the claim. Gives back its path.
    async fn until_some_node_of(&self, claim: &str) -> String {
        let seen = || async {
            let claim = self.claim(claim).await?;
            let name = claim["status"]["nodeName"].as_str()?;
            Some(format!("/api/v1/nodes/{name}"))
        };
        self.until(&format!("NodeClaim {claim} has a Node"), seen).await
    }

    /// What a device plugin's operator does once it is done.
    async fn take_startup_taints_from(&self, node: &str) {
        let Some(found) = self.get(node).await else { return };
        let taints = found["spec"]["taints"].as_array().cloned().unwrap_or_default();
        if !taints.iter().any(|taint| taint["key"] == "example.com/starting") {
            return;
        }
        let left: Vec<Value> = taints.into_iter().filter(|taint| taint["key"] != "example.com/starting").collect();
        let change = json!({ "spec": { "taints": left } });
        let request = http::Request::patch(node).header("content-type", "application/merge-patch+json");
        let request = request.body(serde_json::to_vec(&change).unwrap()).unwrap();
        self.client.request::<Value>(request).await.unwrap();
    }
}

pub fn pod_path(name: &str) -> String {
    format!("/api/v1/namespaces/default/pods/{name}")
}

fn pod(name: &str, node: Option<&str>) -> Value {
    let selector = node.map(|node| json!({ "kubernetes.io/hostname": node })).unwrap_or_else(|| json!({}));
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "namespace": "default", "labels": { "work": name } },
        "spec": {
            "nodeSelector": selector,
            "terminationGracePeriodSeconds": 1,
            "tolerations": [{ "key": "sku", "operator": "Exists" }],
            "containers": [{ "name": "main", "image": "train", "resources": { "requests": { "cpu": "1" } } }],
        },
    })
}

/// A node that is nobody's claim.
pub fn plain_node(name: &str) -> Value {
    let amounts = json!({ "cpu": "8", "memory": "32Gi", "pods": "110" });
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": name,
            "labels": { "kubernetes.io/hostname": name },
            "annotations": { KWOK_NODE.0: KWOK_NODE.1 },
        },
        "status": { "capacity": amounts, "allocatable": amounts },
    })
}
