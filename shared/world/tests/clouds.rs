//! Cloud and cluster together: what is made in a cloud becomes a node, and what goes there goes here.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Node;
use kube::{Api, ResourceExt as _, api::ListParams};
use serde_json::{Value, json};
use std::time::Duration;
use world::{
    World, WorldOptions,
    door::{Door, Respond},
    history::Place,
};

async fn ask<R: Respond>(
    door: &Door<R>,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, Value) {
    let mut request = Request::builder().method(method).uri(path).header("host", "cloud");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = door.call(request.body(Bytes::from(body.to_owned())).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

/// Waits in the world's time until a node is there (or gone) that the test knows by a word in its provider id.
async fn node(world: &World, word: &str, wanted: bool) -> Option<Node> {
    let nodes: Api<Node> = Api::all(world.client("test"));
    for _ in 0..3600 {
        let list = nodes.list(&ListParams::default()).await.unwrap();
        let found = list.into_iter().find(|node| {
            let provider = node.spec.as_ref().and_then(|spec| spec.provider_id.as_ref());
            provider.is_some_and(|provider| provider.contains(word))
        });
        if found.is_some() == wanted {
            return found;
        }
        world.clock.sleep(Duration::from_secs(1)).await;
    }
    panic!("no node with {word} came or went within an hour");
}

fn allocatable(node: &Node, resource: &str) -> String {
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    allocatable.and_then(|all| all.get(resource)).map(|quantity| quantity.0.clone()).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn an_agent_pool_becomes_a_gpu_node_and_takes_it_away_again() {
    let world = World::start(WorldOptions::default());
    let options = WorldOptions::default().arm;
    let identity = &options.identities[0];
    let secret = identity.secret.clone().unwrap();
    let form = format!(
        "grant_type=client_credentials&client_id={}&client_secret={secret}&scope=https%3A%2F%2Fmanagement.azure.com%2F.default",
        identity.client_id
    );
    let token_path = format!("/{}/oauth2/v2.0/token", options.tenant);
    let form_type = [("content-type", "application/x-www-form-urlencoded")];
    let (status, token) = ask(&world.aks(), "POST", &token_path, &form_type, &form).await;
    assert_eq!(status, 200, "{token}");
    let bearer = format!("Bearer {}", token["access_token"].as_str().unwrap());
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json"), ("if-none-match", "*")];
    let pool = format!(
        "/subscriptions/{}/resourceGroups/{}/providers/Microsoft.ContainerService/managedClusters/{}/agentPools/gpu1?api-version=2025-05-01",
        options.subscription, options.resource_group, options.cluster
    );
    let body = json!({ "properties": { "count": 1, "vmSize": "Standard_NC24ads_A100_v4", "osType": "Linux", "mode": "User",
        "type": "VirtualMachineScaleSets", "nodeLabels": { "pilotlight.dev/claim-uid": "uid-1" } } });
    let (status, answer) = ask(&world.aks(), "PUT", &pool, &headers, &body.to_string()).await;
    assert_eq!(status, 201, "{answer}");
    let (status, _) = ask(&world.aks(), "PUT", &pool, &headers, &body.to_string()).await;
    assert!(status == 412 || status == 409, "made only once: {status}");

    let found = node(&world, "aks-gpu1", true).await.unwrap();
    assert_eq!(found.labels().get("pilotlight.dev/claim-uid").map(String::as_str), Some("uid-1"));
    world.clock.sleep(Duration::from_secs(600)).await;
    let found = node(&world, "aks-gpu1", true).await.unwrap();
    assert_eq!(allocatable(&found, "nvidia.com/gpu"), "1");
    assert_eq!(world.instances().iter().filter(|one| one.claim.as_deref() == Some("uid-1")).count(), 1);
    let leak = world.check(SignedDuration::ZERO).unwrap_err();
    assert_eq!(leak.invariant, 3, "a pool whose claim nobody has is a leak: {leak}");

    let headers = [("authorization", bearer.as_str())];
    assert_eq!(ask(&world.aks(), "DELETE", &pool, &headers, "").await.0, 202);
    node(&world, "aks-gpu1", false).await;
    world.clock.sleep(Duration::from_secs(600)).await;
    world.check(SignedDuration::ZERO).unwrap();
    assert!(world.history.exchanges().iter().any(|exchange| exchange.to == Place::Aks && exchange.method == "DELETE"));
}

#[tokio::test(start_paused = true)]
async fn a_machine_in_the_rack_is_switched_on_and_off_by_its_webhook() {
    let world = World::start(WorldOptions::default());
    let json_type = [("content-type", "application/json")];
    let (status, _) = ask(&world.power(), "POST", "/webhook/rack-2/up", &json_type, "{}").await;
    assert!((200..300).contains(&status), "{status}");
    node(&world, "rack-2", true).await;
    world.clock.sleep(Duration::from_secs(300)).await;
    let found = node(&world, "rack-2", true).await.unwrap();
    assert_eq!(allocatable(&found, "nvidia.com/gpu"), "4");
    ask(&world.power(), "POST", "/webhook/rack-2/down", &json_type, "{}").await;
    world.clock.sleep(Duration::from_secs(300)).await;
    let found = node(&world, "rack-2", true).await.expect("a machine that is off keeps its Node");
    let ready = found.status.unwrap().conditions.unwrap().into_iter().find(|one| one.type_ == "Ready").unwrap();
    assert_eq!(ready.status, "Unknown");
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_clouds_the_same_history() {
    let mut hashes = Vec::new();
    for _ in 0..2 {
        let world = World::start(WorldOptions { seed: 3, ..WorldOptions::default() });
        let headers = [("x-auth-token", "11111111-2222-4333-8444-555555555555")];
        let (status, _) =
            ask(&world.scaleway(), "GET", "/instance/v1/zones/fr-par-2/products/servers", &headers, "").await;
        assert_eq!(status, 200);
        hashes.push(world.history.fingerprint());
    }
    assert_eq!(hashes[0], hashes[1]);
}
