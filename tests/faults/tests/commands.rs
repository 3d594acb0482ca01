//! Commands that take nodes away or start them anew, on the world: whoever dies on the way, and whatever pod comes.

#![allow(clippy::unwrap_used, clippy::panic)]

use faults::{
    COMMAND, KINDS, Kind, Theatre, condition,
    sweep::{self, Effect},
};
use jiff::SignedDuration;
use serde_json::json;
use std::time::Duration;
use world::{
    faults::{Fault, Mishap},
    history::Exchange,
};

async fn with_claims(kind: Kind, names: &[&str]) -> Theatre {
    let theatre = Theatre::ticking().await;
    for name in names {
        theatre.create(kind.claim(name)).await;
    }
    for name in names {
        theatre.until("the claim is ready", |theatre| theatre.is_ready(name)).await;
    }
    theatre
}

fn assert_open(theatre: &Theatre, claim: &str, node: &str) {
    assert!(!theatre.is_closed(node), "node {node} is open");
    let claim = theatre.claim(claim).unwrap();
    assert!(claim["metadata"]["annotations"][COMMAND].is_null(), "no record is left");
    assert!(condition(&claim, "DisruptionReason").is_none(), "no condition is left");
    assert!(claim["metadata"]["deletionTimestamp"].is_null(), "the claim stays");
}

#[tokio::test(start_paused = true)]
async fn an_idle_node_of_each_provider_is_closed_looked_at_and_gone_and_its_machine_is_off() {
    for kind in KINDS {
        let theatre = with_claims(kind, &["gpu1"]).await;
        theatre.begin(&["gpu1"], &[], json!({"reason": "Empty"})).await;
        theatre.until("the node is closed", |theatre| theatre.is_closed(&theatre.node_of("gpu1"))).await;
        theatre.until("the claim is gone", |theatre| theatre.is_gone("gpu1")).await;
        theatre.ends_dark().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_replacement_is_usable_before_its_candidates_go() {
    let theatre = with_claims(Kind::Scaleway, &["gpu1", "gpu2"]).await;
    theatre.begin(&["gpu1", "gpu2"], &[Kind::Scaleway.claim("new1")], json!({})).await;
    theatre
        .until("the first is to go", |theatre| {
            let gone = theatre.is_going("gpu1") || theatre.is_going("gpu2");
            assert!(!gone || theatre.is_ready("new1"), "the replacement is ready before");
            gone
        })
        .await;
    theatre.until("both are gone", |theatre| theatre.is_gone("gpu1") && theatre.is_gone("gpu2")).await;
    theatre.pass(Duration::from_secs(120)).await;
    assert!(theatre.is_ready("new1"));
    theatre.world.check(SignedDuration::ZERO).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_binds_at_any_step_before_the_deletion_survives() {
    for phase in ["Recorded", "Tainted", "Waiting"] {
        let theatre = with_claims(Kind::Scaleway, &["gpu1"]).await;
        let node = theatre.node_of("gpu1");
        theatre.begin(&["gpu1"], &[Kind::Scaleway.claim("new1")], json!({})).await;
        theatre.until(phase, |theatre| theatre.phase("gpu1").as_deref() == Some(phase)).await;
        theatre.bind_pod("late", &node).await;
        theatre.until("the command is put back", |theatre| theatre.phase("gpu1").is_none()).await;
        assert_open(&theatre, "gpu1", &node);
        theatre.until("the pod runs", |theatre| theatre.runs("late")).await;
        theatre.pass(Duration::from_secs(600)).await;
        assert!(theatre.runs("late"), "bound in phase {phase}");
        assert_open(&theatre, "gpu1", &node);
        theatre.world.check(SignedDuration::ZERO).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn taints_and_records_that_no_command_owns_are_taken_off() {
    let theatre = with_claims(Kind::Aks, &["gpu1"]).await;
    let node = theatre.node_of("gpu1");
    let nobody = json!([{"name": "long-gone", "uid": "00000000-0000-4000-8000-000000000000"}]);
    theatre.begin(&["gpu1"], &[], json!({"candidates": nobody})).await;
    theatre.taint(&node).await;
    theatre.until("it is open", |theatre| theatre.phase("gpu1").is_none() && !theatre.is_closed(&node)).await;
    assert_open(&theatre, "gpu1", &node);
    theatre.taint(&node).await;
    theatre.until("a taint alone goes too", |theatre| !theatre.is_closed(&node)).await;
}

async fn reboots(kind: Kind) {
    let (theatre, claim, node) = Theatre::with_work(kind).await;
    let before = theatre.boot_id(&node);
    theatre.begin(&[&claim], &[], json!({"reason": "Unhealthy", "action": "reboot"})).await;
    theatre.until("it is told", |theatre| theatre.phase(&claim).as_deref() == Some("Rebooted")).await;
    let rebooting = theatre.claim(&claim).unwrap();
    assert_eq!(condition(&rebooting, "Rebooting").unwrap()["reason"], "RebootIssued");
    assert_eq!(condition(&rebooting, "Initialized").unwrap()["status"], "Unknown");
    assert_eq!(rebooting["metadata"]["annotations"]["karpenter.sh/reboot-pre-boot-id"], before.as_str());
    theatre.until("it is back", |theatre| theatre.phase(&claim).is_none()).await;
    assert_ne!(theatre.boot_id(&node), before, "another boot");
    assert_eq!(condition(&theatre.claim(&claim).unwrap(), "Rebooting").unwrap()["reason"], "RebootSucceeded");
    assert_open(&theatre, &claim, &node);
    theatre.until("its pod runs again", |theatre| theatre.runs_any("work-")).await;
    theatre.pass(Duration::from_secs(600)).await;
    assert_eq!(theatre.all_claims().len(), 1, "pods that a reboot displaced get no other node");
    theatre.world.check(SignedDuration::ZERO).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_machine_is_started_anew_and_its_pods_get_no_other_node() {
    for kind in [Kind::Scaleway, Kind::Power] {
        reboots(kind).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_started_anew_is_replaced() {
    let theatre = with_claims(Kind::Aks, &["gpu1"]).await;
    theatre.begin(&["gpu1"], &[], json!({"reason": "Unhealthy", "action": "reboot"})).await;
    theatre.until("the claim is gone", |theatre| theatre.is_gone("gpu1")).await;
    theatre.world.check(SignedDuration::ZERO).unwrap();
}

/// A replacement command from its record to its end, with one fault. Gives back what the functions changed for it.
async fn replaced(kind: Kind, fault: Option<Fault>) -> Vec<Effect> {
    let theatre = with_claims(kind, &["gpu1"]).await;
    theatre.bind_pod("work", &theatre.node_of("gpu1")).await;
    theatre.until("the pod runs", |theatre| theatre.runs("work")).await;
    let (from, node) = (theatre.world.clock.now(), theatre.node_of("gpu1"));
    // Whoever hears that the replacement's name is taken, and finds nobody who has it, gives up and puts everything back.
    let makes_none = fault.as_ref().is_some_and(is_refusal_to_make_a_claim);
    if let Some(fault) = fault {
        theatre.world.faults.add(fault);
    }
    theatre.begin(&["gpu1"], &[kind.claim("new1")], json!({})).await;
    let is_back = |theatre: &Theatre| makes_none && theatre.phase("gpu1").is_none() && !theatre.is_closed(&node);
    theatre.until("the claim is gone", |theatre| theatre.is_gone("gpu1") || is_back(theatre)).await;
    theatre.pass(Duration::from_secs(300)).await;
    let (stays, other) = if theatre.is_gone("gpu1") { ("new1", "gpu1") } else { ("gpu1", "new1") };
    assert!(theatre.is_ready(stays) && theatre.is_gone(other));
    assert_eq!(theatre.all_claims().len(), 1, "nothing is made twice");
    theatre.world.check(SignedDuration::ZERO).unwrap();
    let exchanges = theatre.world.history.exchanges();
    let ours = |one: &&Exchange| {
        let of_us = one.at >= from && one.method != "GET" && one.user.starts_with("pilotlight");
        let about = ["nodeclaims/gpu1", "/nodes/", "leases", "/nodeclaims"].iter().any(|part| one.path.contains(part));
        of_us && about && !one.path.contains("new1")
    };
    sweep::numbered(&exchanges.iter().filter(ours).collect::<Vec<_>>())
}

fn is_refusal_to_make_a_claim(fault: &Fault) -> bool {
    let makes = fault.on.method.as_deref() == Some("POST");
    let claims = fault.on.path.as_deref().is_some_and(|path| path.ends_with("/nodeclaims"));
    makes && claims && matches!(fault.then, Mishap::Answer { status: 409 | 412, .. })
}

/// Crashes, lost answers, conflicts and errors of the API server, each at every change that a command makes.
fn every_fault_at_every_effect_of_a_replacement(kind: Kind) {
    let effects = sweep::on_its_clock(replaced(kind, None));
    assert!(effects.len() > 10, "{effects:?}");
    let (plans, failed) = sweep::sweep_over(&effects, |fault| drop(sweep::on_its_clock(replaced(kind, Some(fault)))));
    println!("{}: {plans} plans were lived, {} did not come out", kind.name(), failed.len());
    assert!(failed.is_empty(), "{} of {plans} plans:\n{}", failed.len(), failed.join("\n"));
}

#[test]
#[ignore = "takes minutes: make lives"]
fn whatever_goes_wrong_once_a_replacement_at_aks_ends_with_one_instance_and_no_pod_killed() {
    every_fault_at_every_effect_of_a_replacement(Kind::Aks);
}

#[test]
#[ignore = "takes minutes: make lives"]
fn whatever_goes_wrong_once_a_replacement_at_scaleway_ends_with_one_instance_and_no_pod_killed() {
    every_fault_at_every_effect_of_a_replacement(Kind::Scaleway);
}

#[test]
#[ignore = "takes minutes: make lives"]
fn whatever_goes_wrong_once_a_replacement_in_a_rack_ends_with_one_machine_and_no_pod_killed() {
    every_fault_at_every_effect_of_a_replacement(Kind::Power);
}
