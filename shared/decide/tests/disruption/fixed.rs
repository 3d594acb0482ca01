//! Pools with a fixed number of nodes: never smaller to save money, and what has to leave is replaced one for one.

use super::fixture::*;
use decide::disruption::drifts;
use jiff::SignedDuration;
use model::{
    Operator, Requirement,
    disruption::{FixedSize, Hash, KeptCode, Reason, Remedy, To, Unhealthy},
    names,
};

fn hash(value: &str) -> Option<Hash> {
    Some(Hash { value: value.to_owned(), version: "v3".to_owned() })
}

/// Two pools: `default`, which is empty, and `fixed` with so many medium nodes, all drifted.
fn drifted(nodes: usize) -> World {
    let mut world = World::new();
    world.pool("fixed");
    for at in 0..nodes {
        world.node(&format!("fixed/n{at}"), "medium");
        world.last_claim().pool_hash = hash("old");
    }
    world.rules().hash = hash("new");
    is_fixed(&mut world, nodes);
    world
}

fn is_fixed(world: &mut World, replicas: usize) {
    world.rules().fixed_size = Some(FixedSize { replicas: replicas as u64, closed: None });
    world.last_pool().closed = Some("it has a fixed number of nodes".to_owned());
}

#[test]
fn a_drifted_node_of_a_fixed_pool_is_replaced_by_one_of_its_pool_though_nothing_runs_on_it() {
    let world = drifted(1);
    assert_eq!(drifts(&world.situation)["n0"].as_ref().map(|drift| drift.reason.as_str()), Some("NodePoolDrifted"));
    let decision = check(&world, &["Drifted n0 -> tiny"]);
    let made = &decision.disruptions[0].replacements[0];
    assert_eq!(made.claim.labels[names::NODE_POOL], "fixed");
    assert!(made.planned.pods.is_empty() && made.claim.requests.is_empty(), "{:?}", made.claim.requests);
    assert!(decision.disruptions[0].moves.is_empty());
}

#[test]
fn the_pods_of_such_a_node_come_to_its_replacement_and_open_nothing_else() {
    let mut world = drifted(1);
    world.pod("p", 3000).pod("q", 500);
    let decision = check(&world, &["Drifted n0 -> medium"]);
    let to: Vec<_> = decision.disruptions[0].moves.iter().map(|one| (one.pod.name.as_str(), &one.to)).collect();
    assert_eq!(to, [("p", &To::Replacement(0)), ("q", &To::Replacement(0))]);
    assert_eq!(decision.disruptions[0].replacements[0].planned.pods.len(), 2);
}

#[test]
fn as_many_are_replaced_at_a_time_as_budgets_and_the_limit_of_nodes_let() {
    assert_eq!(going(&drifted(4).decide(), Reason::Drifted), 4);
    let mut world = drifted(4);
    world.rules().budgets = vec![budget("50%")];
    assert_eq!(going(&world.decide(), Reason::Drifted), 2);
    let mut world = drifted(4);
    world.last_pool().limits.insert("nodes".to_owned(), whole(5));
    assert_eq!(going(&world.decide(), Reason::Drifted), 1);
    world.last_pool().limits.insert("nodes".to_owned(), whole(4));
    assert!(stays(&world, "n0", KeptCode::FixedSize).contains("limit of 4 nodes"));
}

#[test]
fn a_fixed_pool_with_more_nodes_than_it_wants_waits() {
    let mut world = drifted(3);
    is_fixed(&mut world, 2);
    assert!(stays(&world, "n0", KeptCode::FixedSize).contains("has 3 nodes and wants 2"));
    // What a command has is on its way out.
    world.last_node().disrupted = true;
    assert_eq!(going(&world.decide(), Reason::Drifted), 2);
}

#[test]
fn a_fixed_pool_that_is_not_ready_replaces_nothing() {
    let mut world = drifted(1);
    world.rules().fixed_size = Some(FixedSize { replicas: 1, closed: Some("its class is not ready".to_owned()) });
    assert!(stays(&world, "n0", KeptCode::FixedSize).contains("its class is not ready"));
}

#[test]
fn old_and_sick_nodes_of_a_fixed_pool_are_replaced_alike() {
    let mut world = drifted(1);
    world.rules().hash = None;
    world.last_claim().expire_after = Some(SignedDuration::from_hours(1));
    check(&world, &["Expired n0 -> tiny"]);
    let mut world = drifted(1);
    world.rules().hash = None;
    world.last_node().unhealthy = Some(Unhealthy {
        what: "Ready is Unknown".to_owned(),
        since: ago(30),
        priority: 50,
        remedy: Remedy::Replace,
        drain_within: None,
        urgent: false,
    });
    check(&world, &["Unhealthy n0 -> tiny"]);
}

#[test]
fn nothing_else_is_put_into_a_fixed_pool_while_it_replaces_a_node() {
    let mut world = drifted(1);
    // An old node of the other pool, whose pod a claim of the fixed one could hold as well.
    let default = world.situation.inventory.pools[0].clone();
    world.node("other", "large").pod("p", 6000);
    world.last_claim().expire_after = Some(SignedDuration::from_hours(1));
    assert!(default.fixed_size.is_none());
    let decision = world.decide();
    let pools: Vec<_> =
        decision.disruptions.iter().flat_map(|one| &one.replacements).map(|one| one.planned.pool).collect();
    assert_eq!(told(&decision, &world), ["Expired other -> large", "Drifted n0 -> tiny"]);
    assert_eq!(pools, [0, 1]);
}

#[test]
fn a_fixed_pool_is_neither_emptied_nor_consolidated() {
    let mut world = drifted(2);
    world.rules().hash = None;
    world.pod("p", 100);
    assert_eq!(stays(&world, "n0", KeptCode::FixedSize), stays(&world, "n1", KeptCode::FixedSize));
}

#[test]
fn a_node_of_a_type_that_its_fixed_pool_no_longer_makes_has_a_place_to_give_back() {
    let mut world = drifted(1);
    world.rules().hash = None;
    let required =
        Requirement { key: names::INSTANCE_TYPE.into(), operator: Operator::In, values: vec!["large".into()] };
    world.last_pool().requirements.push(required.into());
    check(&world, &["Drifted n0 -> large"]);
}
