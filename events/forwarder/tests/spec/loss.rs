//! Zero loss: whatever happens to watches, lists, sinks and the process, the last state of every object is acknowledged.

use forwarder::{sink::Told, watch::StreamingLists};
use serde_json::json;
use std::time::Duration;

use crate::scene::{Running, Scene, claim, done, gpu_pod};

const CLAIMS: usize = 12;

/// No resync makes up for what a watch has lost.
const NEVER: Duration = Duration::from_secs(24 * 3600);
const USUAL: Duration = Duration::from_secs(300);

/// Changes claims all the time while `trouble` happens, and then waits until the newest version of each was acknowledged.
async fn live_through(
    lists: StreamingLists,
    resync: Duration,
    trouble: impl AsyncFn(&Scene, usize, &mut Option<Running>),
) {
    let scene = Scene::open().await;
    let forward =
        |scene: &Scene| scene.forward("forwarder", |settings| (settings.lists, settings.resync) = (lists, resync));
    let mut running = Some(forward(&scene));
    for round in 0..60 {
        let name = format!("gpu-{}", round % CLAIMS);
        if round < CLAIMS {
            scene.create("NodeClaim", claim(&name)).await;
        } else {
            scene.merge("NodeClaim", &name, json!({ "metadata": { "labels": { "round": round.to_string() } } })).await;
        }
        trouble(&scene, round, &mut running).await;
        if running.is_none() {
            running = Some(forward(&scene));
        }
        scene.pass(Duration::from_secs(2)).await;
    }
    scene.world.faults.clear();
    scene.post.answer(|_, _| done());
    for number in 0..CLAIMS {
        let name = format!("gpu-{number}");
        let version = scene.version("NodeClaim", &name).await;
        scene
            .until(&format!("the last of {name}"), |scene| {
                let told = scene.post.to("on-nodeclaim");
                told.iter().any(|one| {
                    one.is_acknowledged() && one.event["data"]["claim"]["resourceVersion"] == version.as_str()
                })
            })
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn dropped_watches_and_410_lose_nothing() {
    for lists in [StreamingLists::Always, StreamingLists::Never] {
        live_through(lists, NEVER, async |scene, round, _| {
            if round % 3 == 0 {
                scene.fault(r#"{"user":"forwarder","query":"watch=true","fault":"dropWatch","milliseconds":1500}"#);
            }
            if round % 7 == 0 {
                // Whoever is cut off now comes back to a 410.
                scene.world.objects.store.compact();
            }
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_answers_nothing_but_errors_loses_nothing() {
    live_through(StreamingLists::ByVersion, NEVER, async |scene, round, _| {
        let fault = match round % 8 {
            1 => r#"{"user":"forwarder","times":6,"fault":"answer","status":503}"#,
            3 => r#"{"user":"forwarder","times":4,"fault":"reset","done":false}"#,
            5 => r#"{"user":"forwarder","query":"watch=true","fault":"dropWatch","milliseconds":10}"#,
            6 => r#"{"user":"forwarder","times":2,"fault":"answer","status":429,"retryAfter":3}"#,
            _ => return,
        };
        scene.fault(fault);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn minutes_without_a_sink_lose_nothing() {
    live_through(StreamingLists::ByVersion, USUAL, async |scene, round, _| match round {
        10 => scene.post.answer(|_, _| Told::Unheard { why: "the sink is down".to_owned(), retry_after: None }),
        40 => {
            scene.pass(Duration::from_secs(240)).await;
            scene.post.answer(|_, _| done());
        }
        _ => {}
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn pods_that_wait_and_claims_that_go_while_the_sink_is_down_are_told_when_it_is_back() {
    let scene = Scene::open().await;
    let _running = scene.forward("forwarder", |settings| settings.resync = NEVER);
    scene.create("NodeClaim", claim("gpu-1")).await;
    scene.until("it is told", |scene| !scene.post.to("on-nodeclaim").is_empty()).await;
    scene.post.answer(|_, _| Told::Unheard { why: "the sink is down".to_owned(), retry_after: None });
    scene.create("Pod", gpu_pod("train")).await;
    scene.delete("NodeClaim", "gpu-1").await;
    scene.pass(Duration::from_secs(5)).await;
    scene.merge("NodeClaim", "gpu-1", json!({ "metadata": { "finalizers": null } })).await;
    // Long enough that everything that may be given up has been.
    scene.pass(Duration::from_secs(900)).await;
    scene.post.forget();
    scene.post.answer(|_, _| done());
    let back_at = scene.world.clock.now();
    scene.until("the pod is told", |scene| !scene.post.to("on-pending-pod").is_empty()).await;
    scene
        .until("that the claim is gone is told", |scene| {
            scene.post.to("on-delete").iter().any(|one| one.subject() == "nodeclaim/gpu-1")
        })
        .await;
    let took = scene.world.clock.now().duration_since(back_at).as_secs();
    assert!(took <= 66, "{took} s: the longest back-off, and what it is spread by");
}

#[tokio::test(start_paused = true)]
async fn a_forwarder_that_is_killed_and_started_again_loses_nothing() {
    live_through(StreamingLists::ByVersion, NEVER, async |scene, round, running| {
        if round % 5 == 4
            && let Some(killed) = running.take()
        {
            killed.kill().await;
            scene.pass(Duration::from_secs(round as u64 % 4)).await;
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_goes_while_nobody_watches_is_still_told_as_gone() {
    let scene = Scene::open().await;
    let _running = scene.forward("forwarder", |_| {});
    scene.create("NodeClaim", claim("gpu-1")).await;
    scene.until("it is told", |scene| !scene.post.to("on-nodeclaim").is_empty()).await;
    scene.fault(r#"{"user":"forwarder","times":1000,"query":"watch=true","fault":"answer","status":503}"#);
    scene.fault(r#"{"user":"forwarder","times":1000,"path":"nodeclaims","fault":"answer","status":503}"#);
    // The watch that runs is ended by its time-out; what happens then is seen by nobody.
    scene.pass(Duration::from_secs(400)).await;
    scene.post.forget();
    scene.delete("NodeClaim", "gpu-1").await;
    scene.merge("NodeClaim", "gpu-1", json!({ "metadata": { "finalizers": null } })).await;
    scene.world.objects.store.compact();
    scene.pass(Duration::from_secs(60)).await;
    assert!(scene.post.to("on-delete").is_empty());
    scene.world.faults.clear();
    let about_it = |scene: &Scene| scene.post.to("on-nodeclaim").iter().any(|delivery| delivery.subject() == "gpu-1");
    scene.until("it is told once more", about_it).await;
}

#[tokio::test(start_paused = true)]
async fn one_that_is_stopped_finishes_what_is_under_way() {
    let scene = Scene::open().await;
    scene.post.take(Duration::from_secs(10));
    let running = scene.forward("forwarder", |_| {});
    scene.pass(Duration::from_secs(15)).await;
    scene.post.forget();
    scene.create("NodeClaim", claim("gpu-1")).await;
    scene.pass(Duration::from_secs(1)).await;
    running.stop().await;
    assert_eq!(scene.post.to("on-nodeclaim").len(), 1);
}
