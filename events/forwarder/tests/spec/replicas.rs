//! Two replicas: one sends, the other takes over, and never do both.

use serde_json::json;
use std::time::Duration;

use crate::scene::{Running, Scene, claim};

fn replica(scene: &Scene, name: &str) -> Running {
    scene.forward(name, |settings| {
        settings.lease = Some(Duration::from_secs(15));
        settings.namespace = Some("default".to_owned());
        settings.tick = Duration::from_secs(1);
    })
}

/// The senders in the order of what they sent, each once.
fn senders(scene: &Scene) -> Vec<String> {
    let mut senders: Vec<String> = scene.post.arrived().into_iter().map(|delivery| delivery.from).collect();
    senders.dedup();
    senders
}

#[tokio::test(start_paused = true)]
async fn one_sends_and_when_it_is_killed_the_other_takes_over_within_the_leases_time() {
    let scene = Scene::open().await;
    let first = replica(&scene, "first");
    scene.until("the first leads", |_| first.health.leads()).await;
    let second = replica(&scene, "second");
    scene.create("NodeClaim", claim("gpu-1")).await;
    scene.pass(Duration::from_secs(60)).await;
    assert_eq!(senders(&scene), ["first"]);
    assert!(second.health.is_ready() && !second.health.leads(), "it could take over");
    let killed_at = scene.world.clock.now();
    first.kill().await;
    scene.until("the second leads", |_| second.health.leads()).await;
    let took = scene.world.clock.now().duration_since(killed_at).as_secs_f64();
    assert!(took <= 20.0, "{took}");
    scene.pass(Duration::from_secs(5)).await;
    assert_eq!(senders(&scene), ["first", "second"]);
    let again = scene.post.to("on-nodeclaim").iter().any(|delivery| delivery.from == "second");
    assert!(again, "the second does not know what the first had told");
}

#[tokio::test(start_paused = true)]
async fn one_that_is_stopped_gives_the_lease_back_at_once() {
    let scene = Scene::open().await;
    let first = replica(&scene, "first");
    scene.until("the first leads", |_| first.health.leads()).await;
    let second = replica(&scene, "second");
    scene.pass(Duration::from_secs(20)).await;
    let stopped_at = scene.world.clock.now();
    first.stop().await;
    scene.until("the second leads", |_| second.health.leads()).await;
    let took = scene.world.clock.now().duration_since(stopped_at).as_secs_f64();
    assert!(took <= 4.0, "{took}");
}

#[tokio::test(start_paused = true)]
async fn one_that_cannot_renew_stops_before_the_other_begins() {
    let scene = Scene::open().await;
    let first = replica(&scene, "first");
    scene.until("the first leads", |_| first.health.leads()).await;
    let second = replica(&scene, "second");
    scene.pass(Duration::from_secs(20)).await;
    // It still hears the cluster, so it has something to send; only the Lease is out of its reach.
    scene.fault(r#"{"user":"first","path":"leases","times":100000,"fault":"timeOut","done":false}"#);
    let (mut both, mut gap) = (false, false);
    for _ in 0..600 {
        scene.pass(Duration::from_millis(100)).await;
        both |= first.health.leads() && second.health.leads();
        gap |= !first.health.leads() && !second.health.leads();
    }
    assert!(!both && gap && second.health.leads());
    assert_eq!(senders(&scene), ["first", "second"]);
    scene.world.faults.clear();
    scene.pass(Duration::from_secs(60)).await;
    assert!(!first.health.leads(), "it does not come back by itself");
}

#[tokio::test(start_paused = true)]
async fn changes_in_the_gap_between_two_leaders_are_told() {
    let scene = Scene::open().await;
    let first = replica(&scene, "first");
    scene.until("the first leads", |_| first.health.leads()).await;
    let second = replica(&scene, "second");
    scene.create("NodeClaim", claim("gpu-1")).await;
    scene.pass(Duration::from_secs(20)).await;
    first.kill().await;
    scene.merge("NodeClaim", "gpu-1", json!({ "metadata": { "labels": { "in": "the-gap" } } })).await;
    let version = scene.version("NodeClaim", "gpu-1").await;
    scene.until("the second leads", |_| second.health.leads()).await;
    scene
        .until("it is told", |scene| {
            let told = scene.post.to("on-nodeclaim");
            told.iter().any(|one| one.event["data"]["claim"]["resourceVersion"] == version.as_str())
        })
        .await;
}
