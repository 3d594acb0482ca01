//! Nodes that are taken away, on the world: what is decided at a tick, carried out by whoever ticks, and what holds it.

#![allow(clippy::unwrap_used, clippy::panic)]

use faults::{KINDS, Kind, Theatre, WITH_TIMER, condition, deployment, gpu_pod};
use jiff::SignedDuration;
use serde_json::{Value, json};
use std::{cell::Cell, time::Duration};
use world::power::{BackEnd, MachineOptions};

#[tokio::test(start_paused = true)]
async fn an_idle_node_of_each_provider_goes_and_then_nobody_writes_any_more() {
    for kind in KINDS {
        let theatre = Theatre::ticking().await;
        theatre.create_pool(kind.pool_that_shrinks("30s", "100%")).await;
        theatre.create_pod(gpu_pod("work", 1)).await;
        theatre.until_all_run(&["work"]).await;
        theatre.pass(Duration::from_secs(1800)).await;
        assert_eq!(theatre.claim_names().len(), 1, "a node with work stays");
        theatre.delete_pod("work").await;
        theatre.until("the claim is gone", |theatre| theatre.all_claims().is_empty()).await;
        theatre.ends_dark().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_drifted_node_is_replaced_first_and_its_pod_is_not_killed() {
    let (theatre, old, _) = Theatre::with_work(Kind::Scaleway).await;
    theatre.change_template().await;
    theatre
        .until("the old one is to go", |theatre| {
            let ready = theatre.claim_names().iter().filter(|name| **name != old).any(|name| theatre.is_ready(name));
            assert!(!theatre.is_going(&old) || ready, "its replacement is ready before");
            theatre.is_going(&old)
        })
        .await;
    theatre.until("the old one is gone", |theatre| theatre.is_gone(&old)).await;
    theatre.until("its pod runs again", |theatre| theatre.runs_any("work-")).await;
    theatre.pass(Duration::from_secs(600)).await;
    assert_eq!(theatre.claim_names().len(), 1);
    theatre.world.check(SignedDuration::ZERO).unwrap();
}

#[tokio::test(start_paused = true)]
async fn of_ten_idle_nodes_a_budget_of_thirty_percent_lets_three_go_at_a_time() {
    let theatre = Theatre::ticking().await;
    let mut pool = Kind::Scaleway.pool_that_shrinks("30s", "30%");
    pool["spec"]["template"]["spec"]["requirements"] =
        json!([{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["L4-1-24G"]}]);
    theatre.create_pool(pool).await;
    let names: Vec<String> = (0..10).map(|number| format!("pod-{number}")).collect();
    for name in &names {
        theatre.create_pod(gpu_pod(name, 1)).await;
    }
    theatre.until_all_run(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    assert_eq!(theatre.claim_names().len(), 10);
    for name in &names {
        theatre.delete_pod(name).await;
    }
    let most = Cell::new(0);
    theatre
        .until("all are gone", |theatre| {
            most.set(most.get().max(theatre.closed_or_going()));
            theatre.all_claims().is_empty()
        })
        .await;
    assert_eq!(most.get(), 3, "three of ten at a time, and later never more");
    theatre.world.check(SignedDuration::ZERO).unwrap();
}

#[tokio::test(start_paused = true)]
async fn three_nodes_with_little_on_them_become_one() {
    let theatre = Theatre::ticking().await;
    theatre.create_pool(Kind::Scaleway.pool_that_shrinks("60s", "100%")).await;
    for name in ["a", "b", "c"] {
        theatre.create_pod(gpu_pod(name, 1)).await;
    }
    theatre.until_all_run(&["a", "b", "c"]).await;
    assert_eq!(theatre.claim_names().len(), 3);
    let mut small = deployment(3);
    small["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "1"}});
    // The node that is not ours has room for them too.
    small["spec"]["template"]["spec"]["nodeSelector"] = json!({"karpenter.sh/nodepool": "gpu"});
    theatre.create_deployment(small).await;
    let on_nodes = |theatre: &Theatre| {
        let names: Vec<String> = theatre.claim_names().iter().map(|claim| theatre.node_of(claim)).collect();
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
    assert_eq!((theatre.claim_names().len(), on_nodes(&theatre)), (1, 1));
    assert_eq!(
        theatre
            .pods_on(&[theatre.node_of(&theatre.claim_names()[0])])
            .iter()
            .filter(|pod| pod["status"]["phase"] == "Running")
            .count(),
        3
    );
    theatre.world.check(SignedDuration::ZERO).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_larger_than_its_work_is_replaced_by_a_cheaper_one() {
    let theatre = Theatre::ticking().await;
    let of = |types: Value| json!([{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": types}]);
    let mut large = Kind::Scaleway.pool_that_shrinks("30s", "100%");
    large["spec"]["template"]["spec"]["requirements"] = of(json!(["L4-2-24G"]));
    theatre.create_pool(large).await;
    theatre.create_deployment(deployment(1)).await;
    let old = theatre.first_claim_at_work().await;
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

#[tokio::test(start_paused = true)]
async fn a_node_that_joins_and_never_becomes_usable_is_replaced_when_its_time_is_over() {
    for kind in [Kind::Scaleway, Kind::Aks] {
        let theatre = Theatre::ticking().await;
        let mut pool = kind.pool_that_shrinks("30s", "100%");
        pool["metadata"]["annotations"]["pilotlight.dev/initialization-timeout"] = "10m".into();
        // Whoever should take it off does not.
        pool["spec"]["template"]["spec"]["startupTaints"] =
            json!([{"key": "example.org/agent", "effect": "NoSchedule"}]);
        theatre.create_pool(pool).await;
        theatre.create_deployment(deployment(1)).await;
        theatre.until("it has joined", |theatre| theatre.all_claims().iter().any(is_registered)).await;
        let first = theatre.claim_names()[0].clone();
        theatre.change_pool("gpu", json!({"spec": {"template": {"spec": {"startupTaints": null}}}})).await;
        theatre.until("it goes", |theatre| theatre.is_gone(&first)).await;
        theatre.until("another one serves its pod", |theatre| theatre.runs_any("work-")).await;
        theatre.pass(Duration::from_secs(120)).await;
        assert_eq!(theatre.claim_names().len(), 1);
        theatre.world.check(SignedDuration::ZERO).unwrap();
    }
}

fn is_registered(claim: &Value) -> bool {
    condition(claim, "Registered").is_some_and(|registered| registered["status"] == "True")
}

#[tokio::test(start_paused = true)]
async fn what_has_drifted_says_so_on_its_claim_and_no_longer_when_it_has_not() {
    let theatre = Theatre::ticking().await;
    let class = json!({"apiVersion": "pilotlight.dev/v1alpha1", "kind": "ScalewayNodeClass", "metadata": {"name": "mine"},
        "spec": {"join": {"method": "kubeadm", "endpoint": "kubernetes.world:6443", "kubernetesVersion": "1.36",
            "caCertHash": format!("sha256:{}", "0f".repeat(32)), "secretRef": {"name": "join", "key": "token"}}}});
    theatre.make("pilotlight.dev/v1alpha1", "ScalewayNodeClass", "scalewaynodeclasses", None, class).await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "join"},
        "stringData": {"token": stage::JOIN_TOKEN}});
    theatre.make("v1", "Secret", "secrets", Some("default"), secret).await;
    // Nothing may go, so that what is said can be looked at.
    let mut pool = Kind::Scaleway.pool_that_shrinks("30s", "0");
    pool["spec"]["template"]["spec"]["nodeClassRef"]["name"] = "mine".into();
    theatre.create_pool(pool).await;
    theatre.create_deployment(deployment(1)).await;
    let claim = theatre.first_claim_at_work().await;
    let said = |theatre: &Theatre| {
        let claim = theatre.claim(&claim).unwrap();
        condition(&claim, "Drifted")
            .map(|found| format!("{} {}", found["status"].as_str().unwrap(), found["reason"].as_str().unwrap()))
    };
    assert_eq!(said(&theatre), None);
    let template = |team: &str| json!({"spec": {"template": {"metadata": {"labels": {"team": team}}}}});
    let classes = theatre.objects("pilotlight.dev/v1alpha1", "ScalewayNodeClass", "scalewaynodeclasses", None);
    let image = async |image: Value| {
        let patch = kube::api::Patch::Merge(json!({"spec": {"image": image}}));
        classes.patch("mine", &Default::default(), &patch).await.unwrap();
    };
    theatre.change_pool("gpu", template("b")).await;
    theatre.until("its pool is another", |theatre| said(theatre).as_deref() == Some("True NodePoolDrifted")).await;
    theatre.change_pool("gpu", template("a")).await;
    theatre.until("its pool is as it was", |theatre| said(theatre).is_none()).await;
    let of = |types: Value| json!({"spec": {"template": {"spec": {"requirements": types}}}});
    let others = json!([{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["H100-1-80G"]}]);
    theatre.change_pool("gpu", of(others)).await;
    theatre
        .until("its type is not wanted", |theatre| said(theatre).as_deref() == Some("True RequirementsDrifted"))
        .await;
    theatre.change_pool("gpu", of(json!([]))).await;
    theatre.until("its type is wanted again", |theatre| said(theatre).is_none()).await;
    image("ubuntu_noble".into()).await;
    theatre.until("its class is another", |theatre| said(theatre).as_deref() == Some("True NodeClassDrifted")).await;
    theatre.pass(Duration::from_secs(120)).await;
    let quiet_from = theatre.world.clock.now();
    theatre.pass(Duration::from_secs(1800)).await;
    theatre.world.check_quiet_since(quiet_from).unwrap();
    image(Value::Null).await;
    theatre.until("its class is as it was", |theatre| said(theatre).is_none()).await;
}

/// A watchdog says that its node is sick: it is started anew in place, proved by another boot ID, and replaced when the watchdog
/// does not take that back.
async fn is_started_anew_and_then_replaced(theatre: &Theatre, claim: &str) {
    let node = theatre.node_of(claim);
    let boot = theatre.boot_id(&node);
    theatre.set_condition(&node, "KernelDeadlock", "True", "DockerHung").await;
    theatre
        .until("it was started anew", |theatre| theatre.boot_id(&node) != boot && theatre.phase(claim).is_none())
        .await;
    let rebooted = theatre.claim(claim).unwrap();
    assert_eq!(condition(&rebooted, "Rebooting").unwrap()["reason"], "RebootSucceeded");
    assert_eq!(theatre.claim_names(), [claim], "in place, and no second node");
    theatre.until("it is replaced", |theatre| theatre.is_gone(claim)).await;
    theatre.until("the work runs", |theatre| theatre.runs_any("work-")).await;
    theatre.world.check(SignedDuration::ZERO).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_sick_node_is_started_anew_and_if_that_did_not_help_replaced() {
    let (theatre, claim, _) = Theatre::with_work(Kind::Scaleway).await;
    is_started_anew_and_then_replaced(&theatre, &claim).await;
}

#[tokio::test(start_paused = true)]
async fn what_must_not_be_repaired_is_left() {
    let (theatre, claim, node) = Theatre::with_work(Kind::Scaleway).await;
    theatre.annotate_node(&node, "karpenter.sh/do-not-repair", "true").await;
    theatre.set_condition(&node, "KernelDeadlock", "True", "DockerHung").await;
    let boot = theatre.boot_id(&node);
    theatre.pass(Duration::from_secs(7200)).await;
    assert_eq!((theatre.claim_names(), theatre.boot_id(&node)), (vec![claim], boot));
}

#[tokio::test(start_paused = true)]
async fn a_spot_notice_is_answered_at_once_with_a_replacement_and_a_drain() {
    let (theatre, claim, node) = Theatre::with_work(Kind::Aks).await;
    let told = theatre.world.clock.now();
    theatre.set_condition(&node, "PreemptionScheduled", "True", "").await;
    theatre
        .until("it is to go, and another one is ordered", |theatre| {
            theatre.is_going(&claim) && theatre.claim_names().iter().any(|name| *name != claim)
        })
        .await;
    let passed = theatre.world.clock.now().duration_since(told);
    assert!(passed <= SignedDuration::from_secs(5), "without waiting for a tick: {passed}");
    theatre.until("it is gone", |theatre| theatre.is_gone(&claim)).await;
    theatre.until("the work runs", |theatre| theatre.runs_any("work-")).await;
    theatre.world.check(SignedDuration::ZERO).unwrap();
}

/// Two machines behind Redfish, described by a PowerNodeClass.
async fn with_redfish() -> Theatre {
    let names = ["bmc-1", "bmc-2"];
    let mut theatre = Theatre::with(|options| {
        let machine = |name: &str| MachineOptions {
            provider_id: format!("power://bmc/{name}"),
            ..MachineOptions::new(name, BackEnd::Redfish, 1)
        };
        options.power.machines = names.map(machine).into();
    })
    .await;
    let system =
        |name: &str| format!("https://rack.world/redfish/v1/Systems/{}", theatre.world.power.system_id(name).unwrap());
    let machine = |name: &str| {
        json!({"name": name, "gpu": {"count": 1}, "capacity": {"cpu": "32", "memory": "240Gi"},
            "backEnd": {"redfish": {"system": system(name)}}, "timing": {"minimumOnSeconds": 0, "coolDownSeconds": 0}})
    };
    let class = json!({"apiVersion": "pilotlight.dev/v1alpha1", "kind": "PowerNodeClass", "metadata": {"name": "bmc"},
        "spec": {"allowedHosts": ["rack.world"], "machines": names.map(machine)}});
    theatre.make("pilotlight.dev/v1alpha1", "PowerNodeClass", "powernodeclasses", None, class).await;
    theatre.play(theatre.messenger_for(&WITH_TIMER));
    let mut pool = Kind::Power.pool_that_shrinks("30s", "100%");
    pool["spec"]["template"]["spec"]["nodeClassRef"]["name"] = "bmc".into();
    theatre.create_pool(pool).await;
    theatre
}

#[tokio::test(start_paused = true)]
async fn a_sick_machine_is_restarted_by_its_controller_and_replaced_if_that_did_not_help() {
    let theatre = with_redfish().await;
    theatre.create_deployment(deployment(1)).await;
    let claim = theatre.first_claim_at_work().await;
    is_started_anew_and_then_replaced(&theatre, &claim).await;
    let resets = theatre.world.history.exchanges();
    let restarts = resets.iter().filter(|one| one.path.ends_with("ComputerSystem.Reset"));
    let restarts = restarts.filter(|one| one.request.to_string().contains("Restart")).count();
    assert_eq!(restarts, 1, "by one command, and not off and on");
}
