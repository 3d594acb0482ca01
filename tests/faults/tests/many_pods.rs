//! Many pods at once, three copies of each function, and events that come twice, late, or in another order.
//!
//! Five hundred go the whole way: watched by the forwarder, gathered, sent, decided, bought, run. Sixty have an event each, in the
//! hands of every copy: nobody gathers them, so the Lease alone keeps the copies apart.

#![allow(clippy::unwrap_used)]

use faults::{Kind, Theatre, gpu_pod};
use jiff::SignedDuration;
use serde_json::json;
use std::{collections::BTreeMap, time::Duration};
use world::{
    WorldOptions,
    deliveries::DeliveryFaults,
    power::{BackEnd, MachineOptions},
};

const GPUS_A_NODE: usize = 8;
const FAULTS: DeliveryFaults =
    DeliveryFaults { duplicated: 30, dropped: 10, reordered: 40, delayed: 50, longest_delay_ms: 3_000 };
/// Of those that are sent: the first at once, followers together, what was lost or failed again, and one each ten seconds while
/// somebody waits. With one event a pod there would be more than five hundred.
const MOST_PLACINGS: usize = 250;

/// Room for all of it: quotas are other tests' business. The last thousand exchanges are enough for what is checked here.
async fn theatre(pods: usize) -> Theatre {
    let roomy = |options: &mut WorldOptions| {
        let gpus = u64::try_from(GPUS_A_NODE).unwrap();
        let machine = |number| MachineOptions::new(&format!("rack-{number}"), BackEnd::Webhook, gpus);
        options.power.machines = (1..=pods / GPUS_A_NODE + 10).map(machine).collect();
        options.most_exchanges = 1_000;
    };
    Theatre::with(roomy).await
}

async fn all_run(theatre: &Theatre, kind: Kind, instance_type: Option<&str>, pods: usize) {
    let mut pool = kind.pool("gpu");
    if let Some(instance_type) = instance_type {
        pool["spec"]["template"]["spec"]["requirements"] =
            json!([{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [instance_type]}]);
    }
    theatre.create_pool(pool).await;
    let names: Vec<String> = (0..pods).map(|number| format!("train-{number}")).collect();
    for name in &names {
        theatre.create_pod(gpu_pod(name, 1)).await;
    }
    theatre.until_each("all run", &names, Theatre::runs).await;
    let nodes = pods.div_ceil(GPUS_A_NODE);
    assert_eq!(theatre.all_claims().len(), nodes, "{}: exactly the nodes that {pods} pods need", kind.name());
    // Late events of pods that run find nothing to do.
    theatre.pass(Duration::from_secs(600)).await;
    let quiet_from = theatre.world.clock.now();
    theatre.pass(Duration::from_secs(1800)).await;
    theatre.world.check(SignedDuration::ZERO).unwrap();
    theatre.world.check_quiet_since(quiet_from).unwrap();
    assert_eq!(theatre.all_claims().len(), nodes, "{}: and no more since", kind.name());
    let mut said = BTreeMap::<String, usize>::new();
    for name in &names {
        let words = theatre.said_of(name);
        assert!(words.len() <= 1, "{name}: {words:?}");
        words.into_iter().for_each(|(reason, _)| *said.entry(reason).or_default() += 1);
    }
    assert!(said.keys().all(|reason| reason == "Nominated"), "{said:?}");
}

async fn the_whole_way(kind: Kind, instance_type: Option<&str>) {
    const PODS: usize = 500;
    let mut theatre = theatre(PODS).await;
    let placings = theatre.forward(3, FAULTS);
    all_run(&theatre, kind, instance_type, PODS).await;
    let count = placings.count();
    println!("{}: {PODS} pods were {count} events of pods", kind.name());
    assert!(count <= MOST_PLACINGS, "{count} events");
}

async fn an_event_each(kind: Kind, instance_type: Option<&str>) {
    const PODS: usize = 60;
    let mut theatre = theatre(PODS).await;
    let mut messenger = theatre.messenger();
    messenger.copies = 3;
    messenger.faults = FAULTS;
    theatre.play(messenger);
    all_run(&theatre, kind, instance_type, PODS).await;
}

#[tokio::test(start_paused = true)]
#[ignore = "a minute long: make lives"]
async fn five_hundred_pods_get_the_servers_they_need_and_no_more() {
    the_whole_way(Kind::Scaleway, Some("H100-SXM-8-80G")).await;
}

#[tokio::test(start_paused = true)]
#[ignore = "a minute long: make lives"]
async fn five_hundred_pods_wake_the_machines_they_need_and_no_more() {
    the_whole_way(Kind::Power, None).await;
}

#[tokio::test(start_paused = true)]
#[ignore = "a minute long: make lives"]
async fn sixty_pods_with_an_event_each_get_the_servers_they_need_and_no_more() {
    an_event_each(Kind::Scaleway, Some("H100-SXM-8-80G")).await;
}
