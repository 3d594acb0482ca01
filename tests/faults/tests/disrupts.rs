//! Nodes that are taken away, on the world: what is decided at a tick, carried out by whoever ticks, and what holds it.

#![allow(clippy::unwrap_used, clippy::panic)]

use faults::{Kind, Theatre, WITH_TIMER, condition, gpu_pod};
use jiff::SignedDuration;
use serde_json::{Value, json};
use std::time::Duration;

async fn open() -> Theatre {
    let mut theatre = Theatre::open().await;
    theatre.play(theatre.messenger_for(&WITH_TIMER));
    theatre
}

/// A pool whose nodes may go as soon as nothing happened on them for a while.
fn pool(kind: Kind, after: &str, budget: &str) -> Value {
    let mut pool = kind.pool("gpu");
    pool["spec"]["disruption"] = json!({"consolidateAfter": after, "consolidationPolicy": "WhenEmptyOrUnderutilized", "budgets": [{"nodes": budget}]});
    pool["metadata"]["annotations"] = json!({"pilotlight.dev/consolidate-gpu": "true", "pilotlight.dev/idle-window": "60s", "pilotlight.dev/minimum-on-time": "60s",
            "pilotlight.dev/cool-down": "0s"});
    pool
}

async fn runs(theatre: &Theatre, pods: &[&str]) {
    theatre.until("the pods run", |theatre| pods.iter().all(|pod| theatre.runs(pod))).await;
    theatre
        .until("the claims are ready", |theatre| {
            theatre.all_claims().iter().all(|claim| theatre.is_ready(claim["metadata"]["name"].as_str().unwrap()))
        })
        .await;
}

fn claims(theatre: &Theatre) -> Vec<String> {
    theatre.all_claims().iter().map(|claim| claim["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

fn with(mut pod: Value, annotation: &str, value: &str) -> Value {
    pod["metadata"]["annotations"][annotation] = value.into();
    pod
}

#[tokio::test(start_paused = true)]
#[ignore = "takes minutes: make lives"]
async fn an_idle_node_of_each_provider_goes_and_then_nobody_writes_any_more() {
    for kind in [Kind::Aks, Kind::Scaleway, Kind::Power] {
        let theatre = open().await;
        theatre.create_pool(pool(kind, "30s", "100%")).await;
        theatre.create_pod(gpu_pod("work", 1)).await;
        runs(&theatre, &["work"]).await;
        theatre.pass(Duration::from_secs(1800)).await;
        assert_eq!(claims(&theatre).len(), 1, "a node with work stays");
        theatre.delete_pod("work").await;
        theatre.until("the claim is gone", |theatre| theatre.all_claims().is_empty()).await;
        theatre.pass(Duration::from_secs(300)).await;
        theatre.world.check(SignedDuration::ZERO).unwrap();
        assert!(theatre.world.instances().iter().all(|instance| instance.until.is_some()), "nothing is left");
        assert!(theatre.world.power.snapshot().iter().all(|machine| !machine.on), "every machine is off");
        let quiet_from = theatre.world.clock.now();
        theatre.pass(Duration::from_secs(3600)).await;
        theatre.world.check_quiet_since(quiet_from).unwrap();
    }
}

#[tokio::test(start_paused = true)]
#[ignore = "takes minutes: make lives"]
async fn a_stable_cluster_is_left_alone_for_a_day() {
    let theatre = open().await;
    theatre.create_pool(pool(Kind::Scaleway, "30s", "100%")).await;
    for name in ["a", "b"] {
        theatre.create_pod(gpu_pod(name, 1)).await;
    }
    runs(&theatre, &["a", "b"]).await;
    theatre.pass(Duration::from_secs(1800)).await;
    let (before, quiet_from) = (claims(&theatre), theatre.world.clock.now());
    theatre.pass(Duration::from_secs(24 * 3600)).await;
    assert_eq!(claims(&theatre), before);
    theatre.world.check_quiet_since(quiet_from).unwrap();
    theatre.world.check(SignedDuration::ZERO).unwrap();
}

#[tokio::test(start_paused = true)]
#[ignore = "takes minutes: make lives"]
async fn do_not_disrupt_and_budgets_of_zero_hold_a_drifted_node() {
    for held_by_pod in [true, false] {
        let theatre = open().await;
        theatre.create_pool(pool(Kind::Scaleway, "30s", if held_by_pod { "100%" } else { "0" })).await;
        let pod = gpu_pod("work", 1);
        let pod = if held_by_pod { with(pod, "karpenter.sh/do-not-disrupt", "true") } else { pod };
        theatre.create_pod(pod).await;
        runs(&theatre, &["work"]).await;
        let before = claims(&theatre);
        theatre.change_pool("gpu", json!({"spec": {"template": {"metadata": {"labels": {"team": "b"}}}}})).await;
        theatre.pass(Duration::from_secs(3600)).await;
        assert_eq!(claims(&theatre), before, "held by pod: {held_by_pod}");
        assert!(theatre.runs("work"));
    }
}

#[tokio::test(start_paused = true)]
#[ignore = "takes minutes: make lives"]
async fn a_drifted_node_is_replaced_first_and_its_pod_is_not_killed() {
    let theatre = open().await;
    theatre.create_pool(pool(Kind::Scaleway, "30s", "100%")).await;
    theatre.create_deployment(deployment(1)).await;
    theatre.until("it runs", |theatre| theatre.runs_any("work-")).await;
    theatre
        .until("ready", |theatre| {
            theatre.all_claims().iter().all(|one| theatre.is_ready(one["metadata"]["name"].as_str().unwrap()))
        })
        .await;
    let old = claims(&theatre)[0].clone();
    theatre.change_pool("gpu", json!({"spec": {"template": {"metadata": {"labels": {"team": "b"}}}}})).await;
    theatre
        .until("the old one is to go", |theatre| {
            let going = theatre.claim(&old).is_none_or(|claim| claim["metadata"]["deletionTimestamp"].is_string());
            let ready = claims(theatre).iter().filter(|name| **name != old).any(|name| theatre.is_ready(name));
            assert!(!going || ready, "its replacement is ready before");
            going
        })
        .await;
    theatre.until("the old one is gone", |theatre| theatre.is_gone(&old)).await;
    theatre.until("its pod runs again", |theatre| theatre.runs_any("work-")).await;
    theatre.pass(Duration::from_secs(600)).await;
    assert_eq!(claims(&theatre).len(), 1);
    theatre.world.check(SignedDuration::ZERO).unwrap();
}

#[tokio::test(start_paused = true)]
#[ignore = "takes minutes: make lives"]
async fn of_ten_idle_nodes_a_budget_of_thirty_percent_lets_three_go_at_a_time() {
    let theatre = open().await;
    theatre.create_pool(pool(Kind::Scaleway, "30s", "30%")).await;
    let names: Vec<String> = (0..10).map(|number| format!("pod-{number}")).collect();
    for name in &names {
        theatre.create_pod(gpu_pod(name, 1)).await;
    }
    runs(&theatre, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let all = claims(&theatre).len();
    for name in &names {
        theatre.delete_pod(name).await;
    }
    theatre
        .until("all are gone", |theatre| {
            let claims = theatre.all_claims();
            let closed = claims.iter().filter(|claim| {
                let node = claim["status"]["nodeName"].as_str().unwrap_or_default();
                claim["metadata"]["deletionTimestamp"].is_string() || theatre.is_closed(node)
            });
            let (closed, left) = (closed.count(), claims.len());
            assert!(
                closed <= (left * 30).div_ceil(100).max(1) + 1 && closed <= (all * 30).div_ceil(100),
                "{closed} of {left} at once"
            );
            left == 0
        })
        .await;
    theatre.world.check(SignedDuration::ZERO).unwrap();
}

#[tokio::test(start_paused = true)]
#[ignore = "takes minutes: make lives"]
async fn three_nodes_with_little_on_them_become_one() {
    let theatre = open().await;
    theatre.create_pool(pool(Kind::Scaleway, "60s", "100%")).await;
    for name in ["a", "b", "c"] {
        theatre.create_pod(gpu_pod(name, 1)).await;
    }
    runs(&theatre, &["a", "b", "c"]).await;
    assert_eq!(claims(&theatre).len(), 3);
    let mut small = deployment(3);
    small["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "1"}});
    // The node that is not ours has room for them too.
    small["spec"]["template"]["spec"]["nodeSelector"] = json!({"karpenter.sh/nodepool": "gpu"});
    theatre.create_deployment(small).await;
    let on_nodes = |theatre: &Theatre| {
        let names: Vec<String> = claims(theatre).iter().map(|claim| theatre.node_of(claim)).collect();
        names
            .into_iter()
            .filter(|node| {
                let pods = theatre.pods_on(std::slice::from_ref(node));
                pods.iter().any(|pod| pod["metadata"]["labels"]["app"] == "work")
            })
            .count()
    };
    theatre.until("the small ones are spread", |theatre| on_nodes(theatre) == 3).await;
    for name in ["a", "b", "c"] {
        theatre.delete_pod(name).await;
    }
    theatre.until("one node is left", |theatre| theatre.all_claims().len() == 1).await;
    theatre.pass(Duration::from_secs(900)).await;
    assert_eq!((claims(&theatre).len(), on_nodes(&theatre)), (1, 1));
    assert_eq!(
        theatre
            .pods_on(&[theatre.node_of(&claims(&theatre)[0])])
            .iter()
            .filter(|pod| pod["status"]["phase"] == "Running")
            .count(),
        3
    );
    theatre.world.check(SignedDuration::ZERO).unwrap();
}

#[tokio::test(start_paused = true)]
#[ignore = "takes minutes: make lives"]
async fn a_node_that_is_larger_than_its_work_is_replaced_by_a_cheaper_one() {
    let theatre = open().await;
    let of = |types: Value| json!([{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": types}]);
    let mut large = pool(Kind::Scaleway, "30s", "100%");
    large["spec"]["template"]["spec"]["requirements"] = of(json!(["L4-2-24G"]));
    theatre.create_pool(large).await;
    theatre.create_deployment(deployment(1)).await;
    theatre.until("it runs", |theatre| theatre.runs_any("work-")).await;
    let old = claims(&theatre)[0].clone();
    theatre.until("ready", |theatre| theatre.is_ready(&old)).await;
    let both = of(json!(["L4-2-24G", "L4-1-24G"]));
    theatre.change_pool("gpu", json!({"spec": {"template": {"spec": {"requirements": both}}}})).await;
    theatre.until("the large one is gone", |theatre| theatre.is_gone(&old)).await;
    theatre.until("it runs again", |theatre| theatre.runs_any("work-")).await;
    theatre.pass(Duration::from_secs(900)).await;
    let left = theatre.all_claims();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0]["metadata"]["labels"]["node.kubernetes.io/instance-type"], "L4-1-24G");
    theatre.world.check(SignedDuration::ZERO).unwrap();
}

fn deployment(replicas: u32) -> Value {
    let labels = json!({"app": "work"});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "work", "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": gpu_pod("work", 1)["spec"]}}})
}

/// A node with work of a Deployment on it, in a pool of this kind.
async fn with_work(kind: Kind) -> (Theatre, String, String) {
    let theatre = open().await;
    theatre.create_pool(pool(kind, "30s", "100%")).await;
    theatre.create_deployment(deployment(1)).await;
    theatre.until("it runs", |theatre| theatre.runs_any("work-")).await;
    theatre.until("ready", |theatre| theatre.is_ready(&claims(theatre)[0])).await;
    let claim = claims(&theatre)[0].clone();
    let node = theatre.node_of(&claim);
    (theatre, claim, node)
}

#[tokio::test(start_paused = true)]
#[ignore = "takes minutes: make lives"]
async fn a_sick_node_is_started_anew_and_if_that_did_not_help_replaced() {
    let (theatre, claim, node) = with_work(Kind::Scaleway).await;
    let boot = theatre.boot_id(&node);
    theatre.set_condition(&node, "KernelDeadlock", "True", "DockerHung").await;
    theatre
        .until("it was started anew", |theatre| theatre.boot_id(&node) != boot && theatre.phase(&claim).is_none())
        .await;
    let rebooting = theatre.claim(&claim).unwrap();
    assert_eq!(condition(&rebooting, "Rebooting").unwrap()["reason"], "RebootSucceeded");
    assert_eq!(claims(&theatre), std::slice::from_ref(&claim), "in place, and no second node");
    // The condition is still there: nobody took it off, so it did not help.
    theatre.until("it is replaced", |theatre| theatre.is_gone(&claim)).await;
    theatre.until("the work runs", |theatre| theatre.runs_any("work-")).await;
    theatre.world.check(SignedDuration::ZERO).unwrap();
}

#[tokio::test(start_paused = true)]
#[ignore = "takes minutes: make lives"]
async fn what_must_not_be_repaired_is_left() {
    let (theatre, claim, node) = with_work(Kind::Scaleway).await;
    theatre.annotate_node(&node, "karpenter.sh/do-not-repair", "true").await;
    theatre.set_condition(&node, "KernelDeadlock", "True", "DockerHung").await;
    let boot = theatre.boot_id(&node);
    theatre.pass(Duration::from_secs(7200)).await;
    assert_eq!((claims(&theatre), theatre.boot_id(&node)), (vec![claim], boot));
}

#[tokio::test(start_paused = true)]
#[ignore = "takes minutes: make lives"]
async fn a_spot_notice_is_answered_at_once_with_a_replacement_and_a_drain() {
    let (theatre, claim, node) = with_work(Kind::Aks).await;
    let told = theatre.world.clock.now();
    theatre.set_condition(&node, "PreemptionScheduled", "True", "").await;
    theatre
        .until("it is to go, and another one is ordered", |theatre| {
            let going = theatre.claim(&claim).is_none_or(|claim| claim["metadata"]["deletionTimestamp"].is_string());
            going && claims(theatre).iter().any(|name| *name != claim)
        })
        .await;
    let passed = theatre.world.clock.now().duration_since(told);
    assert!(passed <= SignedDuration::from_secs(31), "within one tick: {passed}");
    theatre.until("it is gone", |theatre| theatre.is_gone(&claim)).await;
    theatre.until("the work runs", |theatre| theatre.runs_any("work-")).await;
    theatre.world.check(SignedDuration::ZERO).unwrap();
}
