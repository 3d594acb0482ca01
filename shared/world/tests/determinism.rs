//! One seed, one history: the same requests get the same answers, to the byte.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::machine;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use kube::{
    Api,
    api::{ListParams, PostParams},
};
use serde_json::json;
use std::time::{Duration, Instant};
use world::{World, WorldOptions};

/// A little life: machines join, a deployment runs, time passes.
async fn history(seed: u64) -> (u64, String) {
    let world = World::start(WorldOptions { seed, ..WorldOptions::default() });
    let client = world.client("somebody");
    for index in 0..3 {
        world.fleet().join(machine(&format!("node-{index}")));
    }
    let deployment: Deployment = serde_json::from_value(json!({
        "metadata": { "name": "web" },
        "spec": { "replicas": 5, "selector": { "matchLabels": { "app": "web" } },
            "template": { "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "c", "image": "i" }] } } }
    }))
    .unwrap();
    Api::<Deployment>::default_namespaced(client.clone()).create(&PostParams::default(), &deployment).await.unwrap();
    let pods: Api<Pod> = Api::default_namespaced(client);
    for _ in 0..20 {
        world.clock.sleep(Duration::from_secs(7)).await;
        pods.list(&ListParams::default()).await.unwrap();
    }
    world.history.fingerprint()
}

fn run(seed: u64) -> (u64, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(history(seed))
}

#[test]
fn the_same_seed_gives_the_same_history() {
    let first = run(7);
    assert_eq!(first.0, 21);
    assert_eq!(run(7), first);
    assert_ne!(run(8).1, first.1);
}

#[test]
fn a_quiet_hour_of_fifty_nodes_is_quick() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let started = Instant::now();
    runtime.block_on(async {
        let world = World::start(WorldOptions::default());
        for index in 0..50 {
            world.fleet().join(machine(&format!("node-{index}")));
        }
        world.clock.sleep(Duration::from_secs(3600)).await;
    });
    // The figure itself is printed by `make bench`; this only catches a world that polls.
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}
