//! Caps on what is spent an hour: they hold however many want a machine at once, and whoever is refused is told why.

#![allow(clippy::unwrap_used)]

use faults::{FUNCTIONS, Kind, Theatre, WITH_TIMER, condition, gpu_pod};
use jiff::SignedDuration;
use model::Cap;
use serde_json::{Value, json};
use std::time::Duration;
use world::{check::most_spent, deliveries::DeliveryFaults};

/// What an L4-1-24G costs, in millionths of a euro an hour.
const L4: u64 = 787_500;

fn claim_of_pool(name: &str) -> Value {
    let mut claim = Kind::Scaleway.claim(name);
    claim["metadata"]["labels"] = json!({"karpenter.sh/nodepool": "gpu"});
    claim
}

fn pool(cap: &str) -> Value {
    let mut pool = Kind::Scaleway.pool("gpu");
    pool["metadata"]["annotations"] = json!({"pilotlight.dev/max-price-per-hour": cap});
    // Machines without work stay: money alone is what these tests are about.
    pool["spec"]["disruption"] = json!({"consolidateAfter": "Never", "budgets": [{"nodes": "0"}]});
    pool["spec"]["template"]["spec"]["requirements"] =
        json!([{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["L4-1-24G"]}]);
    pool
}

fn spent(theatre: &Theatre) -> u64 {
    most_spent(&theatre.world.instances(), |_| L4)
}

fn ready(theatre: &Theatre, names: &[String]) -> usize {
    names.iter().filter(|name| theatre.is_ready(name)).count()
}

fn launched(theatre: &Theatre, name: &str) -> Value {
    condition(&theatre.claim(name).unwrap(), "Launched").cloned().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
#[ignore = "takes minutes: make lives"]
async fn many_claims_at_once_three_copies_and_bad_deliveries_never_pass_the_cap_of_a_pool() {
    let mut theatre = Theatre::open().await;
    theatre.create_pool(pool("2.5 EUR")).await;
    let mut messenger = theatre.messenger_for(&WITH_TIMER);
    messenger.copies = 3;
    messenger.faults = DeliveryFaults { duplicated: 30, reordered: 30, ..DeliveryFaults::default() };
    theatre.play(messenger);
    let names: Vec<String> = (0..12).map(|number| format!("gpu{number}")).collect();
    for name in &names {
        theatre.create(claim_of_pool(name)).await;
    }
    theatre.until("three run", |theatre| ready(theatre, &names) == 3).await;
    theatre.pass(Duration::from_secs(200)).await;
    assert_eq!(ready(&theatre, &names), 3);
    assert_eq!(spent(&theatre), 3 * L4);
    let waiting = names.iter().find(|name| !theatre.is_ready(name)).unwrap();
    let told = launched(&theatre, waiting);
    assert_eq!((told["status"].as_str(), told["reason"].as_str()), (Some("Unknown"), Some("PriceCapReached")));
    let message = told["message"].as_str().unwrap();
    assert!(
        message.contains("NodePool gpu may spend 2.5 EUR/h; it spends 2.3625/h, and this one costs 0.7875 EUR/h more"),
        "{message}"
    );
    // When one goes, its money is another's; and still nobody passes the cap.
    let first = names.iter().find(|name| theatre.is_ready(name)).unwrap();
    theatre.delete(first).await;
    theatre.until("another one runs", |theatre| theatre.is_gone(first) && ready(theatre, &names) == 3).await;
    theatre.pass(Duration::from_secs(120)).await;
    assert_eq!((ready(&theatre, &names), spent(&theatre)), (3, 3 * L4));
    theatre.world.check(SignedDuration::ZERO).unwrap();
}

#[tokio::test(start_paused = true)]
#[ignore = "takes minutes: make lives"]
async fn the_cap_of_the_cluster_counts_every_pool_and_a_machine_that_lost_its_claim() {
    let mut theatre = Theatre::open().await;
    let mut messenger = theatre.messenger_for(&WITH_TIMER);
    messenger.cap = Some(Cap::read("1.60").unwrap());
    theatre.play(messenger.clone());
    for name in ["a", "b", "c"] {
        theatre.create(Kind::Scaleway.claim(name)).await;
    }
    let names: Vec<String> = ["a", "b", "c"].map(str::to_owned).into();
    theatre.until("two run", |theatre| ready(theatre, &names) == 2).await;
    let torn = names.iter().find(|name| theatre.is_ready(name)).unwrap();
    theatre.lose_claim(torn).await;
    theatre.until("the third runs", |theatre| ready(theatre, &names) == 2).await;
    assert_eq!(spent(&theatre), 2 * L4);
}

#[tokio::test(start_paused = true)]
#[ignore = "takes minutes: make lives"]
async fn a_cap_that_cannot_be_read_lets_nothing_through_and_says_what_to_write() {
    let mut theatre = Theatre::open().await;
    theatre.create_pool(pool("a lot")).await;
    theatre.play(theatre.messenger_for(&FUNCTIONS));
    theatre.create(claim_of_pool("gpu1")).await;
    theatre.pass(Duration::from_secs(300)).await;
    let told = launched(&theatre, "gpu1");
    let message = told["message"].as_str().unwrap();
    assert!(message.contains("write a number, as in '12.50' or '12.50 EUR'"), "{message}");
    assert!(theatre.world.instances().is_empty());
}

#[tokio::test(start_paused = true)]
#[ignore = "takes minutes: make lives"]
async fn the_next_offering_that_fits_under_the_cap_is_taken() {
    let mut theatre = Theatre::open().await;
    theatre.create_pool(pool("1")).await;
    theatre.play(theatre.messenger_for(&FUNCTIONS));
    let mut claim = claim_of_pool("gpu1");
    claim["metadata"]["annotations"] = json!({"pilotlight.dev/prefer": "listed"});
    claim["spec"]["requirements"][0]["values"] = json!(["L40S-1-48G", "L4-1-24G"]);
    theatre.create(claim).await;
    theatre.until("the claim is ready", |theatre| theatre.is_ready("gpu1")).await;
    let servers = theatre.world.scaleway.snapshot().servers;
    assert!(servers.iter().all(|server| server.commercial_type == "L4-1-24G"), "{servers:?}");
}

#[tokio::test(start_paused = true)]
#[ignore = "takes minutes: make lives"]
async fn pods_for_which_there_is_no_money_are_told_so_and_the_others_run() {
    let mut theatre = Theatre::open().await;
    theatre.create_pool(pool("1.60 EUR")).await;
    theatre.play(theatre.messenger_for(&WITH_TIMER));
    let names = ["a", "b", "c", "d"];
    for name in names {
        theatre.create_pod(gpu_pod(name, 1)).await;
    }
    theatre.until("two run", |theatre| names.iter().filter(|pod| theatre.runs(pod)).count() == 2).await;
    theatre.pass(Duration::from_secs(600)).await;
    assert_eq!(spent(&theatre), 2 * L4);
    assert_eq!(theatre.all_claims().len(), 2, "no claim is made that could not be paid");
    let waits = names.iter().find(|pod| !theatre.runs(pod)).unwrap();
    let said = theatre.said_of(waits);
    assert!(said.iter().any(|(_, text)| text.contains("NodePool gpu may spend 1.6 EUR/h")), "{said:?}");
}
