//! The safety net: with every event lost, ticks alone bring claims up and down and give pods their nodes.

#![allow(clippy::unwrap_used)]

use faults::{KINDS, Kind, Theatre, WITH_TIMER, gpu_pod};
use jiff::SignedDuration;
use std::time::Duration;

fn only_ticks(theatre: &Theatre) -> stage::Messenger {
    let mut messenger = theatre.messenger_for(&WITH_TIMER);
    messenger.only_ticks = true;
    messenger
}

async fn lives_and_goes_by_ticks(kind: Kind) {
    let mut theatre = Theatre::open().await;
    theatre.play(only_ticks(&theatre));
    theatre.create(kind.claim("gpu1")).await;
    theatre.until("the claim is ready", |theatre| theatre.is_ready("gpu1")).await;
    theatre.pass(Duration::from_secs(120)).await;
    let quiet_from = theatre.world.clock.now();
    theatre.pass(Duration::from_secs(3600)).await;
    theatre.world.check_quiet_since(quiet_from).unwrap();
    theatre.delete("gpu1").await;
    theatre.until("the claim is gone", |theatre| theatre.is_gone("gpu1")).await;
    theatre.world.check(SignedDuration::ZERO).unwrap();
    assert!(theatre.world.instances().iter().all(|instance| instance.until.is_some()), "nothing is left");
}

#[tokio::test(start_paused = true)]
async fn with_all_events_lost_a_claim_of_each_provider_comes_up_and_goes_by_ticks_alone() {
    for kind in KINDS {
        lives_and_goes_by_ticks(kind).await;
    }
}

#[tokio::test(start_paused = true)]
async fn with_all_events_lost_pods_that_wait_get_their_nodes() {
    let mut theatre = Theatre::open().await;
    theatre.play(only_ticks(&theatre));
    theatre.create_pool(Kind::Scaleway.pool("gpu")).await;
    for name in ["a", "b", "c"] {
        theatre.create_pod(gpu_pod(name, 1)).await;
    }
    theatre.until("the pods run", |theatre| ["a", "b", "c"].iter().all(|pod| theatre.runs(pod))).await;
    theatre.world.check(SignedDuration::ZERO).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_node_that_a_person_deleted_goes_with_its_claim_though_nobody_said_so() {
    let mut theatre = Theatre::open().await;
    theatre.play(only_ticks(&theatre));
    theatre.create(Kind::Aks.claim("gpu1")).await;
    theatre.until("the claim is ready", |theatre| theatre.is_ready("gpu1")).await;
    let node = theatre.claim("gpu1").unwrap()["status"]["nodeName"].as_str().unwrap().to_owned();
    let nodes: kube::Api<k8s_openapi::api::core::v1::Node> = kube::Api::all(theatre.world.client("person"));
    nodes.delete(&node, &Default::default()).await.unwrap();
    theatre.until("the claim is gone", |theatre| theatre.is_gone("gpu1")).await;
    theatre.world.check(SignedDuration::ZERO).unwrap();
}
