//! Machines of one's own: the largest idle one first, spared by times, and never replaced by what is not there.

use super::fixture::*;
use jiff::SignedDuration;
use model::disruption::{KeptCode, RackTimes, Reason};

fn rack() -> World {
    let mut world = World::new();
    let mins = SignedDuration::from_mins;
    world.rules().rack = Some(RackTimes { idle: mins(5), on: mins(15), rest: mins(5) });
    world
}

#[test]
fn the_largest_idle_machine_goes_first_then_the_next() {
    let mut world = rack();
    world.node("one", "gpu-1").node("four", "gpu-4").node("none", "xlarge");
    world.rules().budgets = vec![budget("1")];
    check(&world, &["Empty four ->"]);
    world.rules().budgets = vec![budget("100%")];
    check(&world, &["Empty four ->", "Empty one ->", "Empty none ->"]);
}

#[test]
fn of_equal_machines_the_one_that_ran_longest_goes_first() {
    let mut world = rack();
    world.node("a", "gpu-1").last_node().changed_at = Some(ago(60));
    world.node("b", "gpu-1").last_node().changed_at = Some(ago(600));
    world.rules().budgets = vec![budget("1")];
    check(&world, &["Empty b ->"]);
}

#[test]
fn a_machine_is_spared_for_a_while() {
    let check_times = |up: i64, event: Option<i64>, changed: Option<i64>, code: Option<KeptCode>| {
        let mut world = rack();
        world.node("m", "gpu-1");
        world.last_claim().initialized_at = Some(ago(up));
        world.last_claim().last_pod_event = event.map(ago);
        world.last_node().changed_at = changed.map(ago);
        match code {
            Some(code) => drop(stays(&world, "m", code)),
            None => drop(check(&world, &["Empty m ->"])),
        }
    };
    check_times(60, Some(2), None, Some(KeptCode::WithinIdleWindow));
    check_times(10, None, None, Some(KeptCode::WithinMinimumOnTime));
    check_times(60, Some(30), Some(3), Some(KeptCode::CoolingDown));
    check_times(60, Some(30), Some(10), None);
}

#[test]
fn a_machine_that_somebody_works_on_is_not_switched_off() {
    let mut world = rack();
    world.node("m", "gpu-1").last_node().cordoned = true;
    stays(&world, "m", KeptCode::Cordoned);
}

#[test]
fn a_machine_that_works_names_the_pod_that_keeps_it_on() {
    let mut world = rack();
    world.node("m", "gpu-1").pod("train", 1000);
    world.last_pod().moves.as_mut().unwrap().requests.insert(GPU.into(), whole(1));
    let why = stays(&world, "m", KeptCode::GpuWork);
    assert!(why.contains("default/train"), "{why}");
}

#[test]
fn a_machine_that_has_to_be_made_anew_goes_before_anything_can_come() {
    let mut world = rack();
    world.node("m", "gpu-1").pod("p", 7500);
    world.last_claim().created_at = ago(60 * 24 * 40);
    for of in &mut world.situation.provision.scene.catalogues[0].types {
        of.offerings.iter_mut().for_each(|one| one.available = false);
    }
    check(&world, &["Expired m first ->"]);
    assert_eq!(going(&world.decide(), Reason::Expired), 1);
}

#[test]
fn a_machine_that_would_not_hold_its_pods_again_does_not_go_first() {
    let mut world = rack();
    world.node("m", "gpu-1").pod("p", 7500);
    world.last_claim().created_at = ago(60 * 24 * 40);
    world.last_pod().moves.as_mut().unwrap().node_selector.insert("only".into(), "here".into());
    let why = stays(&world, "m", KeptCode::NoOtherPlace);
    assert!(why.contains("default/p"), "{why}");
    // It is not in the rack any more.
    let mut world = rack();
    world.node("m", "gpu-4").pod("p", 1000);
    world.last_pod().moves.as_mut().unwrap().requests.insert(GPU.into(), whole(4));
    world.situation.provision.scene.catalogues[0].types.retain(|one| one.name != "gpu-4");
    stays(&world, "m", KeptCode::NoOtherPlace);
}

#[test]
fn nothing_moves_to_a_machine_that_is_spared_for_a_while() {
    let check_times = |up: i64, event: Option<i64>, changed: Option<i64>, code: KeptCode| {
        let mut world = rack();
        world.node("big", "xlarge").pod("p", 1000);
        world.last_claim().initialized_at = Some(ago(up));
        world.last_claim().last_pod_event = event.map(ago);
        world.last_node().changed_at = changed.map(ago);
        world.node("small", "small").pod("q", 1500);
        stays(&world, "big", code);
        stays(&world, "small", KeptCode::NotCheaper);
    };
    check_times(60, Some(2), None, KeptCode::WithinIdleWindow);
    check_times(10, None, None, KeptCode::WithinMinimumOnTime);
    check_times(60, Some(30), Some(3), KeptCode::CoolingDown);
}
