//! Five hundred pods at once, three copies of each function, and events that come twice, late, or in another order.

#![allow(clippy::unwrap_used)]

use faults::{Kind, Theatre, gpu_pod};
use jiff::SignedDuration;
use serde_json::json;
use std::time::Duration;
use world::{
    WorldOptions,
    deliveries::DeliveryFaults,
    power::{BackEnd, MachineOptions},
};

const PODS: usize = 500;
const GPUS_A_NODE: usize = 8;

/// Room for all of it: quotas are other tests' business.
fn roomy(options: &mut WorldOptions) {
    let gpus = u64::try_from(GPUS_A_NODE).unwrap();
    let machine = |number| MachineOptions::new(&format!("rack-{number}"), BackEnd::Webhook, gpus);
    options.power.machines = (1..=PODS / GPUS_A_NODE + 10).map(machine).collect();
}

async fn all_run(kind: Kind, instance_type: Option<&str>) {
    let mut theatre = Theatre::with(roomy).await;
    let mut messenger = theatre.messenger();
    messenger.copies = 3;
    messenger.faults =
        DeliveryFaults { duplicated: 30, dropped: 10, reordered: 40, delayed: 50, longest_delay_ms: 3_000 };
    theatre.play(messenger);
    let mut pool = kind.pool("gpu");
    if let Some(instance_type) = instance_type {
        pool["spec"]["template"]["spec"]["requirements"] =
            json!([{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [instance_type]}]);
    }
    theatre.create_pool(pool).await;
    let names: Vec<String> = (0..PODS).map(|number| format!("train-{number}")).collect();
    for name in &names {
        theatre.create_pod(gpu_pod(name, 1)).await;
    }
    theatre.until_each("all run", &names, Theatre::runs).await;
    let nodes = PODS.div_ceil(GPUS_A_NODE);
    assert_eq!(theatre.all_claims().len(), nodes, "{}: exactly the nodes that {PODS} pods need", kind.name());
    // Late events of pods that run find nothing to do.
    theatre.pass(Duration::from_secs(600)).await;
    let quiet_from = theatre.world.clock.now();
    theatre.pass(Duration::from_secs(3600)).await;
    theatre.world.check(SignedDuration::ZERO).unwrap();
    theatre.world.check_quiet_since(quiet_from).unwrap();
    assert_eq!(theatre.all_claims().len(), nodes, "{}: and no more since", kind.name());
    for name in &names {
        let said = theatre.said_of(name);
        assert!(said.len() <= 1 && said.iter().all(|(reason, _)| reason == "Nominated"), "{name}: {said:?}");
    }
}

#[tokio::test(start_paused = true)]
#[ignore = "a minute long: make lives"]
async fn five_hundred_pods_get_the_servers_they_need_and_no_more() {
    all_run(Kind::Scaleway, Some("H100-SXM-8-80G")).await;
}

#[tokio::test(start_paused = true)]
#[ignore = "a minute long: make lives"]
async fn five_hundred_pods_wake_the_machines_they_need_and_no_more() {
    all_run(Kind::Power, None).await;
}
