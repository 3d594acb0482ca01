//! Nodes that nobody uses: taken away, unless somebody needs them after all.

use super::fixture::*;
use jiff::SignedDuration;
use model::disruption::{After, Budget, KeptCode, Policy, RackTimes, To};

fn old(world: &mut World) {
    world.last_claim().created_at = ago(60 * 24 * 40);
}

/// Where a pod goes.
fn place_of(decision: &model::disruption::Decision, pod: &str) -> Option<To> {
    let mut moves = decision.disruptions.iter().flat_map(|one| &one.moves);
    moves.find(|one| one.pod.name.as_str() == pod).map(|one| one.to.clone())
}

#[test]
fn an_idle_node_holds_the_pods_of_one_that_has_to_leave_and_gets_no_replacement() {
    for limit in ["cpu", "nodes"] {
        let mut world = World::new();
        world.node("a", "medium").pod("p", 3000);
        old(&mut world);
        world.node("b", "medium");
        let most = if limit == "cpu" { 8 } else { 2 };
        world.last_pool().limits.insert(limit.to_owned(), whole(most));
        let decision = check(&world, &["Expired a ->"]);
        assert_eq!(place_of(&decision, "p"), Some(To::Node(name("b"))));
        stays(&world, "b", KeptCode::Destination);
    }
}

#[test]
fn an_idle_machine_of_a_rack_holds_the_pods_of_one_that_has_to_leave() {
    let mut world = World::new();
    let mins = SignedDuration::from_mins;
    world.rules().rack = Some(RackTimes { idle: mins(5), on: mins(15), rest: mins(5) });
    world.node("a", "gpu-1").pod("p", 1000);
    old(&mut world);
    world.node("b", "gpu-1").node("c", "gpu-1");
    for of in &mut world.situation.provision.scene.catalogues[0].types {
        of.offerings.iter_mut().for_each(|one| one.available = false);
    }
    let decision = check(&world, &["Empty c ->", "Expired a ->"]);
    assert_eq!(place_of(&decision, "p"), Some(To::Node(name("b"))));
}

#[test]
fn with_room_for_a_replacement_an_idle_node_goes() {
    let mut world = World::new();
    world.node("a", "medium").pod("p", 3000);
    old(&mut world);
    world.node("b", "medium");
    check(&world, &["Empty b ->", "Expired a -> medium"]);
}

#[test]
fn what_pods_of_a_sick_node_come_to_is_not_idle_any_more() {
    let mut world = World::new();
    world.node("a", "medium").pod("p", 3000);
    world.last_node().ready = false;
    world.last_node().unhealthy = Some(model::disruption::Unhealthy {
        what: "Ready is False".into(),
        since: ago(30),
        priority: 50,
        remedy: model::disruption::Remedy::Replace,
        drain_within: None,
        urgent: false,
    });
    world.node("b", "medium");
    check(&world, &["Unhealthy a ->"]);
    stays(&world, "b", KeptCode::Destination);
}

#[test]
fn nothing_moves_to_an_idle_node_that_only_a_budget_holds() {
    for milli in [1500, 1900] {
        let mut world = World::new();
        world.node("a", "xlarge").node("b", "small").pod("p", milli);
        world.rules().budgets = vec![Budget { nodes: "0".into(), reasons: vec!["Empty".into()], ..Budget::default() }];
        stays(&world, "a", KeptCode::Budget);
        stays(&world, "b", KeptCode::NotCheaper);
    }
}

#[test]
fn a_node_with_gpu_work_is_not_idle_whatever_that_costs_to_disturb() {
    for policy in [Policy::WhenEmptyOrUnderutilized, Policy::WhenEmpty] {
        let mut world = World::new();
        for (node, of) in [("a", "gpu-4"), ("b", "gpu-1")] {
            world.node(node, of).pod(&format!("p-{node}"), 1000);
            world.last_pod().moves.as_mut().unwrap().requests.insert(GPU.into(), whole(1));
        }
        world.last_pod().priority = -2_000_000_000;
        world.rules().policy = policy;
        let code = if policy == Policy::WhenEmpty { KeptCode::NotEmpty } else { KeptCode::GpuWork };
        stays(&world, "b", code);
    }
}

#[test]
fn of_two_nodes_that_have_room_only_for_each_others_pods_of_no_cost_one_goes() {
    let mut world = World::new();
    for node in ["a", "b"] {
        world.node(node, "medium").pod(&format!("p-{node}"), 1000);
        world.last_pod().cost = i32::MIN;
    }
    world.rules().policy = Policy::WhenEmpty;
    check(&world, &["Empty a ->"]);
    stays(&world, "b", KeptCode::Destination);
}

#[test]
fn the_pods_of_a_rack_are_noted_for_its_idle_window_whatever_its_pool_waits() {
    let mut world = World::new();
    let mins = jiff::SignedDuration::from_mins;
    let seconds = |count| After::Time(jiff::SignedDuration::from_secs(count));
    world.rules().consolidate_after = seconds(0);
    assert_eq!(world.rules().counts_from_pods(), seconds(0));
    world.rules().rack = Some(RackTimes { idle: mins(5), on: mins(15), rest: mins(5) });
    assert_eq!(world.rules().counts_from_pods(), seconds(300));
    world.rules().consolidate_after = seconds(600);
    assert_eq!(world.rules().counts_from_pods(), seconds(600));
    world.rules().consolidate_after = After::Never;
    assert_eq!(world.rules().counts_from_pods(), After::Never);
}
