//! Which changes reach which function, and which reach nobody.

use forwarder::{filter::Wake, keep::Seen, rows::Claim};
use serde_json::json;
use std::{sync::Arc, time::Duration};

use crate::scene::{Scene, claim, gpu_pod};

/// As a watch would bring it.
pub fn some_claim() -> Wake {
    let mut object = claim("gpu-1");
    object["metadata"]["uid"] = json!("6f1c0d3e-5b7a-4c1d-9e2f-0a1b2c3d4e5f");
    let seen: Seen<Claim> = serde_json::from_value(object).expect("a claim");
    Wake::Claim { row: Arc::new(seen.row), gone: false }
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_finds_no_node_is_told_at_once_with_a_picture_of_the_cluster() {
    let scene = Scene::open().await;
    scene.join("small", &[]);
    let _running = scene.forward("one", |_| {});
    scene.pass(Duration::from_secs(5)).await;
    scene.create("Pod", gpu_pod("train")).await;
    scene.until("the pod is told", |scene| !scene.post.to("on-pending-pod").is_empty()).await;
    let delivery = &scene.post.to("on-pending-pod")[0];
    assert_eq!((delivery.subject(), &delivery.event["source"]), ("default/train", &json!("default")));
    let data = &delivery.event["data"];
    assert_eq!(data["pod"]["requests"]["nvidia.com/gpu"], "1");
    let nodes = data["snapshot"]["nodes"].as_array().unwrap();
    let small = nodes.iter().find(|node| node["name"] == "small").unwrap();
    let allocatable = small["allocatable"].as_u64().and_then(|at| usize::try_from(at).ok()).unwrap();
    assert_eq!(data["snapshot"]["resources"][allocatable]["cpu"], "8");
    let pod = scene.api("Pod").get("train").await.unwrap();
    let marked = pod.data["status"]["conditions"][0]["lastTransitionTime"].as_str().unwrap().parse().unwrap();
    let late = delivery.at.duration_since(marked);
    assert!(late.as_millis() < 1_050, "{late}: times in conditions are whole seconds");
}

#[tokio::test(start_paused = true)]
async fn a_claim_is_told_when_it_is_made_changed_on_its_way_out_and_gone() {
    let scene = Scene::open().await;
    let _running = scene.forward("one", |_| {});
    scene.create("NodeClaim", claim("gpu-1")).await;
    scene.until("it is told", |scene| scene.post.to("on-nodeclaim").len() == 1).await;
    scene.merge("NodeClaim", "gpu-1", json!({ "metadata": { "labels": { "a": "b" } } })).await;
    scene.until("its change is told", |scene| scene.post.to("on-nodeclaim").len() == 2).await;
    scene.delete("NodeClaim", "gpu-1").await;
    scene.until("its deletion is told", |scene| scene.post.to("on-delete").len() == 1).await;
    scene.merge("NodeClaim", "gpu-1", json!({ "metadata": { "finalizers": null } })).await;
    scene.until("that it is gone is told", |scene| scene.post.to("on-delete").len() == 2).await;
    assert!(scene.post.to("on-delete").iter().all(|delivery| delivery.subject() == "nodeclaim/gpu-1"));
}

#[tokio::test(start_paused = true)]
async fn what_our_functions_write_on_a_claim_does_not_call_them_again() {
    let scene = Scene::open().await;
    let _running = scene.forward("one", |_| {});
    scene.create("NodeClaim", claim("gpu-1")).await;
    scene.until("it is told", |scene| scene.post.to("on-nodeclaim").len() == 1).await;
    let launch = json!({ "metadata": { "annotations": { "pilotlight.dev/launch": "{}" } } });
    scene.merge("NodeClaim", "gpu-1", launch).await;
    let status = json!({ "status": { "providerID": "world://x", "nodeName": "x" } });
    scene.merge_status("NodeClaim", "gpu-1", status).await;
    scene.pass(Duration::from_secs(20)).await;
    assert_eq!(scene.post.to("on-nodeclaim").len(), 1);
    let condition = |status: &str, message: &str| {
        json!({ "status": { "conditions": [{ "type": "Launched", "status": status, "reason": "Launching",
            "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z" }] } })
    };
    scene.merge_status("NodeClaim", "gpu-1", condition("Unknown", "a")).await;
    scene.until("a new condition is told", |scene| scene.post.to("on-nodeclaim").len() == 2).await;
    scene.merge_status("NodeClaim", "gpu-1", condition("Unknown", "b")).await;
    scene.pass(Duration::from_secs(20)).await;
    assert_eq!(scene.post.to("on-nodeclaim").len(), 2, "another message is no news");
}

#[tokio::test(start_paused = true)]
async fn a_node_of_a_claim_that_joins_wakes_the_claim_and_heartbeats_do_not() {
    let scene = Scene::open().await;
    let _running = scene.forward("one", |settings| settings.resync = Duration::from_secs(24 * 3600));
    scene.create("NodeClaim", claim("gpu-1")).await;
    scene.create("NodeClaim", claim("gpu-2")).await;
    scene.until("both are told", |scene| scene.post.to("on-nodeclaim").len() == 2).await;
    let uid = scene.api("NodeClaim").get("gpu-1").await.unwrap().metadata.uid.unwrap();
    scene.post.forget();
    scene.join("node-1", &[("pilotlight.dev/claim-uid", &uid)]);
    scene.pass(Duration::from_secs(60)).await;
    let told = scene.post.to("on-nodeclaim");
    assert!(!told.is_empty() && told.iter().all(|delivery| delivery.subject() == "gpu-1"), "{told:?}");
    scene.post.forget();
    scene.pass(Duration::from_secs(3600)).await;
    assert_eq!(scene.post.to("on-nodeclaim").len(), 0, "an hour of heartbeats");
}

#[tokio::test(start_paused = true)]
async fn a_notice_that_a_machine_goes_wakes_its_claim_at_once() {
    let scene = Scene::open().await;
    scene.create("NodeClaim", claim("gpu-1")).await;
    let uid = scene.api("NodeClaim").get("gpu-1").await.unwrap().metadata.uid.unwrap();
    scene.join("node-1", &[("pilotlight.dev/claim-uid", &uid)]);
    scene.pass(Duration::from_secs(60)).await;
    let _running = scene.forward("one", |settings| settings.resync = Duration::from_secs(24 * 3600));
    scene.pass(Duration::from_secs(60)).await;
    scene.post.forget();
    scene.say("node-1", "ImagesPulled", "True").await;
    scene.pass(Duration::from_secs(20)).await;
    assert_eq!(scene.post.to("on-nodeclaim").len(), 0, "other conditions are no news");
    scene.say("node-1", "PreemptionScheduled", "True").await;
    scene.pass(Duration::from_secs(1)).await;
    let told = scene.post.to("on-nodeclaim");
    assert!(!told.is_empty() && told.iter().all(|delivery| delivery.subject() == "gpu-1"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_leaves_a_node_on_its_way_out_wakes_on_delete() {
    let scene = Scene::open().await;
    scene.create("NodeClaim", claim("gpu-1")).await;
    let uid = scene.api("NodeClaim").get("gpu-1").await.unwrap().metadata.uid.unwrap();
    scene.join("node-1", &[("pilotlight.dev/claim-uid", &uid)]);
    scene.pass(Duration::from_secs(20)).await;
    let pod =
        json!({ "metadata": { "name": "work" }, "spec": { "containers": [{ "name": "main", "image": "work" }] } });
    scene.create("Pod", pod).await;
    scene.pass(Duration::from_secs(20)).await;
    let _running = scene.forward("one", |settings| settings.resync = Duration::from_secs(24 * 3600));
    scene.pass(Duration::from_secs(5)).await;
    scene.delete("NodeClaim", "gpu-1").await;
    scene.pass(Duration::from_secs(5)).await;
    scene.post.forget();
    scene.delete("Pod", "work").await;
    scene.until("on-delete is told", |scene| !scene.post.to("on-delete").is_empty()).await;
    assert_eq!(scene.post.to("on-delete")[0].subject(), "nodeclaim/gpu-1");
}

#[tokio::test(start_paused = true)]
async fn a_quiet_cluster_hears_nothing_but_the_ticks_of_the_timer() {
    let scene = Scene::open().await;
    for number in 0..5 {
        scene.join(&format!("node-{number}"), &[]);
    }
    scene.pass(Duration::from_secs(60)).await;
    let _running = scene.forward("one", |settings| settings.resync = Duration::from_secs(24 * 3600));
    scene.pass(Duration::from_secs(60)).await;
    scene.post.forget();
    scene.pass(Duration::from_secs(3600)).await;
    let arrived = scene.post.arrived();
    assert!(arrived.iter().all(|delivery| delivery.function == "on-idle-timer"), "{:?}", arrived.first());
    assert!((119..=121).contains(&arrived.len()), "{} ticks in an hour of one each 30 s", arrived.len());
    assert_eq!(arrived[0].event["id"], format!("default/{}", arrived[0].event["data"]["tick"].as_str().unwrap()));
}

#[tokio::test(start_paused = true)]
async fn custom_resources_that_are_not_installed_are_waited_for() {
    let scene = Scene::without_definitions();
    let running = scene.forward("one", |_| {});
    scene.until("it is ready without them", |_| running.health.is_ready()).await;
    scene.create("Pod", gpu_pod("train")).await;
    scene.until("pods are told", |scene| !scene.post.to("on-pending-pod").is_empty()).await;
    scene.define().await;
    scene.create("NodeClaim", claim("gpu-1")).await;
    scene.until("claims are told", |scene| !scene.post.to("on-nodeclaim").is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn a_daemon_and_a_pod_that_has_a_place_are_told_to_nobody() {
    let scene = Scene::open().await;
    scene.join("node-1", &[]);
    scene.pass(Duration::from_secs(60)).await;
    let _running = scene.forward("one", |_| {});
    let mut daemon = gpu_pod("daemon");
    daemon["metadata"]["ownerReferences"] =
        json!([{ "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": true }]);
    scene.create("Pod", daemon).await;
    scene
        .create(
            "Pod",
            json!({ "metadata": { "name": "fits" }, "spec": { "containers": [{ "name": "c", "image": "i" }] } }),
        )
        .await;
    scene.pass(Duration::from_secs(25)).await;
    assert!(scene.post.to("on-pending-pod").is_empty());
}
