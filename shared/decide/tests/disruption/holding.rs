//! What keeps a node: its own annotation, its pods', and budgets for pods.

use super::fixture::*;
use jiff::SignedDuration;
use model::{
    PodKind,
    disruption::{FixedSize, KeptCode, PodBudget},
};

fn oversized() -> World {
    let mut world = World::new();
    world.node("n", "xlarge").pod("p", 1000);
    world
}

fn check_pod(value: &str, started_minutes_ago: Option<i64>, held: bool) {
    let mut world = oversized();
    world.last_pod().do_not_disrupt = Some(value.to_owned());
    world.last_pod().started_at = started_minutes_ago.map(ago);
    if held {
        let why = stays(&world, "n", KeptCode::PodDoNotDisrupt);
        assert!(why.contains("default/p"), "{why}");
    } else {
        assert_eq!(world.decide().disruptions.len(), 1, "{value}");
    }
}

#[test]
fn a_pod_may_forbid_it_for_ever_or_for_a_time_from_its_start() {
    check_pod("true", Some(600), true);
    check_pod("2h", Some(60), true);
    check_pod("1h", Some(61), false);
    check_pod("90m", Some(60), true);
    check_pod("1h", None, true);
}

#[test]
fn what_no_value_is_forbids_nothing() {
    for value in ["false", "", "yes", "True", "-1h", "0s", "forever", "1x"] {
        check_pod(value, Some(1), false);
    }
}

#[test]
fn a_pod_that_is_on_its_way_out_forbids_nothing() {
    let mut world = oversized();
    world.last_pod().do_not_disrupt = Some("true".into());
    world.last_pod().moves = None;
    world.situation.provision.scene.bound[0].terminating = true;
    assert_eq!(world.decide().disruptions.len(), 1);
}

#[test]
fn a_daemon_may_forbid_it_too() {
    let mut world = World::new();
    world.node("n", "small").daemon("d");
    world.last_pod().do_not_disrupt = Some("true".into());
    stays(&world, "n", KeptCode::PodDoNotDisrupt);
}

#[test]
fn a_node_may_forbid_it_but_not_its_repair() {
    let mut world = oversized();
    world.last_node().do_not_disrupt = true;
    stays(&world, "n", KeptCode::NodeDoNotDisrupt);
}

fn with_budgets(allowed: &[i32]) -> World {
    let mut world = oversized();
    for (at, allowed) in allowed.iter().enumerate() {
        world.situation.inventory.pod_budgets.push(PodBudget {
            namespace: model::Namespace::new("default").unwrap(),
            name: name(&format!("pdb-{at}")),
            allowed: *allowed,
            lets_unready_go: false,
        });
        world.last_pod().budgets.push(at);
    }
    world
}

#[test]
fn a_budget_for_pods_that_lets_none_go_keeps_the_node() {
    let why = stays(&with_budgets(&[0]), "n", KeptCode::PodDisruptionBudget);
    assert!(why.contains("default/pdb-0") && why.contains("default/p"), "{why}");
    assert_eq!(with_budgets(&[1]).decide().disruptions.len(), 1);
}

#[test]
fn two_budgets_on_one_pod_keep_the_node_whatever_they_allow() {
    stays(&with_budgets(&[5, 5]), "n", KeptCode::SeveralPodDisruptionBudgets);
}

#[test]
fn an_unready_pod_goes_where_its_budget_lets_such_go() {
    let mut world = with_budgets(&[0]);
    world.last_pod().unready = true;
    stays(&world, "n", KeptCode::PodDisruptionBudget);
    world.situation.inventory.pod_budgets[0].lets_unready_go = true;
    assert_eq!(world.decide().disruptions.len(), 1);
    world.last_pod().unready = false;
    stays(&world, "n", KeptCode::PodDisruptionBudget);
}

#[test]
fn nobody_asks_budgets_about_what_is_never_evicted() {
    let mut world = with_budgets(&[0]);
    world.last_pod().stays = true;
    assert_eq!(world.decide().disruptions.len(), 1);
    world.last_pod().stays = false;
    world.last_pod().kind = PodKind::Mirror;
    world.last_pod().moves = None;
    assert_eq!(world.decide().disruptions.len(), 1);
}

#[test]
fn a_deadline_of_the_user_does_not_let_savings_disturb_what_must_not_be_disturbed() {
    let mut world = oversized();
    world.last_pod().do_not_disrupt = Some("true".into());
    world.last_claim().termination_grace = Some(SignedDuration::from_hours(1));
    stays(&world, "n", KeptCode::PodDoNotDisrupt);
}

#[test]
fn nodes_that_are_nobodys_or_on_their_way_are_left_alone() {
    let check = |change: &dyn Fn(&mut World), code: KeptCode| {
        let mut world = oversized();
        change(&mut world);
        stays(&world, "n", code);
    };
    check(&|world| world.last_there().pool = None, KeptCode::NotManaged);
    check(&|world| world.last_there().pool = Some(name("other")), KeptCode::PoolNotFound);
    check(&|world| world.last_there().deleting = true, KeptCode::Deleting);
    check(&|world| world.last_there().stage = model::place::NodeStage::Starting, KeptCode::NotInitialized);
    check(&|world| world.last_node().disrupted = true, KeptCode::Disrupting);
    check(&|world| world.last_node().control_plane = true, KeptCode::ControlPlane);
    check(&|world| world.last_node().runs_us = true, KeptCode::RunsUs);
    check(&|world| world.last_node().nominated = Some("pod x".into()), KeptCode::Nominated);
    check(&|world| world.rules().fixed_size = Some(FixedSize::default()), KeptCode::FixedSize);
}
