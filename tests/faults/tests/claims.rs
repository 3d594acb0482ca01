//! Claims as others make them, and claims that cannot be served: what becomes of each.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use faults::{Kind, Theatre, condition};
use serde_json::{Value, json};
use std::time::Duration;
use world::arm::{Effect, Fault, Shortage, When};

const A100: &str = "Standard_NC24ads_A100_v4";

fn requirement(key: &str, values: &[&str]) -> Value {
    json!({"key": key, "operator": "In", "values": values})
}

fn claim(name: &str, class: (&str, &str, &str), requirements: Vec<Value>) -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": name, "labels": {}, "annotations": {}},
        "spec": {
            "nodeClassRef": {"group": class.0, "kind": class.1, "name": class.2},
            "requirements": requirements,
            "resources": {"requests": {"storage": "120Gi"}},
        },
    })
}

const KAITO: (&str, &str, &str) = ("kaito.sh", "KaitoNodeClass", "default");
const AKS: (&str, &str, &str) = ("karpenter.azure.com", "AKSNodeClass", "default");
const SCALEWAY: (&str, &str, &str) = ("pilotlight.dev", "ScalewayNodeClass", "default");
const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";

async fn becomes_ready(theatre: &Theatre, claim: Value) -> Value {
    let name = claim["metadata"]["name"].as_str().unwrap().to_owned();
    theatre.create(claim).await;
    theatre.until("the claim is ready", |theatre| theatre.is_ready(&name)).await;
    theatre.claim(&name).unwrap()
}

async fn playing() -> Theatre {
    let mut theatre = Theatre::open().await;
    theatre.play(theatre.messenger());
    theatre
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_claim_that_gpu_provisioner_serves_becomes_its_pool() {
    let theatre = playing().await;
    let size = || vec![requirement("karpenter.sh/nodepool", &["kaito"]), requirement(INSTANCE_TYPE, &[A100])];
    let mut workspace = claim("ws1f3a9c2b1", AKS, size());
    workspace["metadata"]["labels"] = json!({"karpenter.sh/nodepool": "kaito", "kaito.sh/workspace": "phi-4"});
    let mut engine = claim("ws2f3a9c2b1", AKS, size());
    engine["metadata"]["labels"] = json!({"kaito.sh/ragengine": ""});
    let class_only = claim("ws3f3a9c2b1", KAITO, size());
    let mut azure_linux = claim("ws4f3a9c2b1", KAITO, size());
    azure_linux["metadata"]["annotations"] = json!({"kaito.sh/node-image-family": "AzureLinux"});
    for claim in [workspace, engine, class_only, azure_linux] {
        let ready = becomes_ready(&theatre, claim).await;
        let name = ready["metadata"]["name"].as_str().unwrap();
        let pools = theatre.world.arm.snapshot().pools;
        let pool = pools.iter().find(|pool| pool.name == name).expect("the pool is called what its claim is called");
        assert_eq!(pool.labels["karpenter.sh/nodepool"], "kaito", "{name}");
        assert_eq!(pool.labels["kaito.sh/machine-type"], "gpu", "{name}");
        assert!(ready["status"]["providerID"].as_str().unwrap().starts_with("azure:///subscriptions/"), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_of_karpenter_takes_the_cheapest_that_it_allows() {
    let theatre = playing().await;
    let mut wanted = claim(
        "default-x7k2p",
        AKS,
        vec![
            requirement(
                INSTANCE_TYPE,
                &["Standard_NC24ads_A100_v4", "Standard_NC4as_T4_v3", "Standard_NC48ads_A100_v4"],
            ),
            requirement("topology.kubernetes.io/zone", &["westeurope-1", "westeurope-2", "eastus-1", "eastus-2"]),
            requirement("karpenter.sh/capacity-type", &["spot", "on-demand"]),
            requirement("kubernetes.io/arch", &["amd64"]),
        ],
    );
    wanted["spec"]["resources"]["requests"] = json!({"nvidia.com/gpu": "1", "cpu": "2"});
    let ready = becomes_ready(&theatre, wanted).await;
    let labels = &ready["metadata"]["labels"];
    assert_eq!(labels[INSTANCE_TYPE], "Standard_NC4as_T4_v3", "{labels}");
    assert_eq!(labels["karpenter.sh/capacity-type"], "spot", "{labels}");
    assert_ne!(labels["topology.kubernetes.io/zone"], "0", "a zone was asked for: {labels}");
}

#[tokio::test(start_paused = true)]
async fn the_claim_of_the_scaleway_readme_becomes_what_its_author_wanted() {
    let theatre = playing().await;
    let mut wanted = claim(
        "gpu-l4",
        ("karpenter.scaleway.com", "ScalewayNodeClass", "default"),
        vec![requirement("karpenter.sh/capacity-type", &["scaleway-gpu"]), requirement(INSTANCE_TYPE, &["l4"])],
    );
    wanted["spec"]["resources"] = json!({});
    let ready = becomes_ready(&theatre, wanted).await;
    let labels = &ready["metadata"]["labels"];
    assert_eq!(
        (&labels[INSTANCE_TYPE], &labels["karpenter.sh/capacity-type"]),
        (&json!("L4-1-24G"), &json!("on-demand"))
    );
    assert!(ready["status"]["providerID"].as_str().unwrap().starts_with("scaleway://instance/"));
    theatre.delete("gpu-l4").await;
    theatre.until("it is gone", |theatre| theatre.is_gone("gpu-l4")).await;
    assert!(theatre.world.scaleway.snapshot().present().servers.is_empty(), "nothing is left that is paid for");
}

#[tokio::test(start_paused = true)]
async fn without_stock_the_next_offering_is_taken_in_the_same_claim_and_the_story_is_told() {
    let mut theatre = Theatre::with(|options| {
        options.arm.faults.push(
            Fault::new(Effect::Refuse { why: Shortage::AllocationFailed, when: When::InOperation })
                .on_size("Standard_NC4as_T4_v3"),
        );
    })
    .await;
    theatre.play(theatre.messenger());
    let sizes = ["Standard_NC4as_T4_v3", A100];
    let mut wanted = claim("gpu1", AKS, vec![requirement(INSTANCE_TYPE, &sizes)]);
    wanted["spec"]["resources"]["requests"] = json!({"nvidia.com/gpu": "1"});
    let ready = becomes_ready(&theatre, wanted).await;
    assert_eq!(ready["metadata"]["labels"][INSTANCE_TYPE], A100);
    let message = condition(&ready, "Launched").unwrap()["message"].as_str().unwrap();
    assert!(message.contains("tried") && message.contains("Standard_NC4as_T4_v3"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn the_same_machine_serves_one_claim_after_the_other() {
    let mut theatre = Theatre::with(|options| options.power.machines.truncate(1)).await;
    theatre.play(theatre.messenger());
    for name in ["first", "second", "third"] {
        becomes_ready(&theatre, Kind::Power.claim(name)).await;
        theatre.delete(name).await;
        theatre.until("it is gone", |theatre| theatre.is_gone(name)).await;
        assert!(theatre.world.power.snapshot().iter().all(|machine| !machine.on), "it is off after {name}");
    }
}

/// What cannot be served makes no request to a cloud, and says why and what to change.
async fn stays(claim: Value, reason: &str, words: &[&str]) {
    let theatre = playing().await;
    let name = claim["metadata"]["name"].as_str().unwrap().to_owned();
    theatre.create(claim).await;
    theatre.pass(Duration::from_secs(600)).await;
    let found = theatre.claim(&name).unwrap();
    let launched = condition(&found, "Launched").unwrap_or_else(|| panic!("no condition: {found:#}"));
    assert_eq!(launched["reason"], reason, "{launched:#}");
    let message = launched["message"].as_str().unwrap();
    for word in words {
        assert!(message.contains(word), "{word:?} is not in {message:?}");
    }
    let events = theatre.world.objects.list(&("events.k8s.io".into(), "events".into()));
    let events = events.into_iter().chain(theatre.world.objects.list(&("".into(), "events".into())));
    let about = events.filter(|event| event.value.to_string().contains(&name) && event.value["reason"] == reason);
    assert!(about.count() >= 1, "an Event says it too");
    let changed = theatre.world.history.exchanges().into_iter().find(|exchange| {
        exchange.to.as_str() != "kubernetes" && exchange.method != "GET" && !exchange.path.ends_with("/token")
    });
    assert!(changed.is_none(), "a cloud was asked to change something: {changed:?}");
    assert!(found["metadata"]["finalizers"].is_null(), "nothing was begun, so nothing holds it");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_served_says_why_and_changes_nothing() {
    stays(
        claim("typo", KAITO, vec![requirement(INSTANCE_TYPE, &["Standard_NC24ads_A100_v5"])]),
        "NoOfferingFits",
        &["Standard_NC24ads_A100_v5", "Standard_NC24ads_A100_v4"],
    )
    .await;
    let mut greedy = claim("greedy", SCALEWAY, vec![requirement(INSTANCE_TYPE, &["l4"])]);
    greedy["spec"]["resources"]["requests"] = json!({"nvidia.com/gpu": "8"});
    stays(greedy, "NoOfferingFits", &["nvidia.com/gpu"]).await;
    let lost =
        claim("lost", ("karpenter.azure.com", "AKSNodeClass", "nobody"), vec![requirement(INSTANCE_TYPE, &[A100])]);
    stays(lost, "NodeClassNotFound", &["AKSNodeClass nobody"]).await;
}

#[tokio::test(start_paused = true)]
async fn claims_of_others_are_left_alone() {
    let theatre = playing().await;
    let mut kaitos = claim("kaitos", AKS, vec![requirement(INSTANCE_TYPE, &[A100])]);
    kaitos["metadata"]["labels"] = json!({"karpenter.kaito.sh/workspace": "phi-4"});
    let amazons = claim(
        "amazons",
        ("karpenter.k8s.aws", "EC2NodeClass", "default"),
        vec![requirement(INSTANCE_TYPE, &["p5.48xlarge"])],
    );
    for (name, claim) in [("kaitos", kaitos), ("amazons", amazons)] {
        theatre.create(claim).await;
        theatre.pass(Duration::from_secs(60)).await;
        let found = theatre.claim(name).unwrap();
        assert!(found["status"].is_null() && found["metadata"]["finalizers"].is_null(), "{found:#}");
        let answer = theatre.answers.lock().unwrap()[name].clone().unwrap();
        assert!(answer.reason().contains("is left alone"), "{}", answer.reason());
    }
    assert!(theatre.world.history.exchanges().iter().all(|exchange| exchange.to.as_str() == "kubernetes"));
}
