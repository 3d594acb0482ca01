//! Nodes that have to leave: too old, drifted, unhealthy. Replaced first, or, where there is no room for that, gone first.

use super::fixture::*;
use decide::disruption::drifts;
use jiff::SignedDuration;
use model::{
    Operator, Requirement,
    disruption::{Drift, Hash, KeptCode, Order, Paused, Reason, Remedy, Unhealthy},
    names,
};

fn full() -> World {
    let mut world = World::new();
    world.node("n", "medium").pod("p", 3500);
    world
}

fn hash(value: &str, version: &str) -> Option<Hash> {
    Some(Hash { value: value.to_owned(), version: version.to_owned() })
}

fn check_drift(change: &dyn Fn(&mut World), drifts: bool) {
    let mut world = full();
    change(&mut world);
    let expected: &[&str] = if drifts { &["Drifted n -> medium"] } else { &[] };
    check(&world, expected);
}

#[test]
fn a_type_that_is_not_listed_is_gone_only_if_all_types_are_listed() {
    let of_another_type = |world: &mut World, complete: bool| {
        world.last_there().labels.insert(names::INSTANCE_TYPE.into(), "without-gpu".into());
        world.situation.provision.scene.catalogues[0].complete = complete;
    };
    check_drift(&|world| of_another_type(world, true), true);
    check_drift(&|world| of_another_type(world, false), false);
}

#[test]
fn a_node_that_its_pool_would_not_make_today_is_replaced() {
    check_drift(&|_| {}, false);
    check_drift(
        &|world| {
            world.rules().hash = hash("new", "v3");
            world.last_claim().pool_hash = hash("old", "v3");
        },
        true,
    );
    // Hashes of two rules cannot be compared.
    check_drift(
        &|world| {
            world.rules().hash = hash("new", "v3");
            world.last_claim().pool_hash = hash("old", "v2");
        },
        false,
    );
    check_drift(
        &|world| {
            world.rules().class_hash = hash("new", "v1");
            world.last_claim().class_hash = hash("old", "v1");
        },
        true,
    );
    check_drift(
        &|world| {
            world.rules().images = vec!["new".into()];
            world.last_claim().image = Some("old".into());
        },
        true,
    );
    check_drift(
        &|world| {
            world.rules().kubernetes_version = Some("1.34.1".into());
            world.last_node().kubelet_version = Some("v1.33.0".into());
        },
        true,
    );
    check_drift(
        &|world| {
            world.rules().kubernetes_version = Some("1.34.1".into());
            world.last_node().kubelet_version = Some("v1.34.1".into());
        },
        false,
    );
    check_drift(
        &|world| {
            let since = ago(5);
            world.last_claim().drifted = Some(Drift { reason: "Other".into(), message: String::new(), since });
        },
        true,
    );
    check_drift(
        &|world| {
            let values = vec!["b".to_owned()];
            let zone = Requirement { key: names::ZONE.into(), operator: Operator::In, values };
            world.last_pool().requirements.push(zone.into());
        },
        true,
    );
}

#[test]
fn a_condition_is_judged_anew_where_all_is_known_and_stands_where_it_is_not() {
    let said = |reason: &str| Some(Drift { reason: reason.into(), message: "said before".into(), since: ago(5) });
    let drift_of = |world: &World| drifts(&world.situation)["n"].clone();
    let mut world = full();
    world.last_claim().drifted = said("NodePoolDrifted");
    assert_eq!(drift_of(&world), said("NodePoolDrifted"), "nothing is known of the pool's hash");
    world.rules().hash = hash("same", "v3");
    world.last_claim().pool_hash = hash("same", "v3");
    assert_eq!(drift_of(&world), None, "it is what its pool would make");
    world.last_claim().pool_hash = hash("old", "v3");
    let found = drift_of(&world).unwrap();
    assert_eq!((found.reason.as_str(), found.since), ("NodePoolDrifted", ago(5)), "since it was first seen");
    world.last_claim().drifted = said("RequirementsDrifted");
    assert_eq!(drift_of(&world).unwrap().reason, "NodePoolDrifted", "it has drifted by something else now");
    world.last_claim().drifted = said("OfSomebodyElse");
    assert_eq!(drift_of(&world), said("OfSomebodyElse"));
}

#[test]
fn drift_does_not_wait_for_consolidation_and_may_cost_more() {
    let mut world = full();
    world.rules().consolidate_after = model::disruption::After::Never;
    let values = vec!["medium".to_owned()];
    let not = Requirement { key: names::INSTANCE_TYPE.into(), operator: Operator::NotIn, values };
    world.last_pool().requirements.push(not.into());
    let decision = check(&world, &["Drifted n -> large"]);
    assert_eq!(decision.disruptions[0].saves, -200_000);
    assert!(decision.disruptions[0].why.contains("RequirementsDrifted"));
}

#[test]
fn a_node_that_is_too_old_is_replaced_first_and_within_budgets() {
    let mut world = World::new();
    for at in 0..4 {
        world.node(&format!("n{at}"), "medium").pod(&format!("p{at}"), 3500);
        world.last_claim().created_at = ago(60 * 24 * 40 - at);
    }
    world.rules().budgets = vec![budget("50%")];
    let decision = check(&world, &["Expired n0 -> medium", "Expired n1 -> medium"]);
    assert!(decision.disruptions.iter().all(|one| one.order == Order::ReplaceFirst));
    stays(&world, "n3", KeptCode::Budget);
}

#[test]
fn one_that_never_expires_does_not() {
    let mut world = full();
    world.last_claim().created_at = ago(60 * 24 * 400);
    world.last_claim().expire_after = None;
    check(&world, &[]);
}

#[test]
fn what_must_not_be_disturbed_holds_an_old_node_until_the_users_deadline() {
    let mut world = full();
    world.last_claim().created_at = ago(60 * 24 * 40);
    world.last_pod().do_not_disrupt = Some("true".into());
    stays(&world, "n", KeptCode::PodDoNotDisrupt);
    // With a deadline it leaves, and what is left behind gets no place in advance.
    world.last_claim().termination_grace = Some(SignedDuration::from_hours(1));
    check(&world, &["Expired n ->"]);
}

#[test]
fn a_pool_at_its_limit_lets_the_old_node_go_first() {
    let mut world = full();
    world.last_claim().created_at = ago(60 * 24 * 40);
    world.last_pool().limits.insert("nodes".into(), whole(1));
    world.count_limits();
    let decision = check(&world, &["Expired n first ->"]);
    assert!(decision.disruptions[0].why.contains("goes first"));
    assert_eq!(decision.disruptions[0].moves.len(), 1);
}

#[test]
fn a_used_up_quota_lets_the_old_node_go_first_too() {
    let mut world = full();
    world.last_claim().created_at = ago(60 * 24 * 40);
    world.situation.provision.scene.quotas.push(model::place::Quota {
        name: "quota of the family".into(),
        counts: vec![],
        remaining: [("cpu".to_owned(), whole(1))].into(),
    });
    check(&world, &["Expired n first ->"]);
}

#[test]
fn nothing_is_taken_away_where_the_pods_have_no_other_place_at_all() {
    let mut world = full();
    world.last_claim().created_at = ago(60 * 24 * 40);
    for of in &mut world.situation.provision.scene.catalogues[0].types {
        of.offerings.iter_mut().for_each(|one| one.available = false);
    }
    let why = stays(&world, "n", KeptCode::NoOtherPlace);
    assert!(why.contains("default/p"), "{why}");
}

#[test]
fn a_pool_whose_replacements_keep_failing_is_left_alone_for_a_while() {
    let mut world = full();
    world.last_claim().created_at = ago(60 * 24 * 40);
    let until = now() + SignedDuration::from_mins(10);
    world.rules().paused = Some(Paused { until, why: "no stock".into() });
    stays(&world, "n", KeptCode::BackingOff);
    assert_eq!(world.decide().look_again, Some(until));
    world.rules().paused = Some(Paused { until: ago(1), why: "no stock".into() });
    check(&world, &["Expired n -> medium"]);
}

fn sick(world: &mut World, urgent: bool) {
    world.last_node().ready = false;
    world.last_node().unhealthy = Some(Unhealthy {
        what: "Ready is Unknown".into(),
        since: ago(20),
        priority: 10,
        remedy: Remedy::Replace,
        drain_within: Some(SignedDuration::from_mins(5)),
        urgent,
    });
}

#[test]
fn an_unhealthy_node_is_replaced_also_in_a_pool_of_one() {
    let mut world = full();
    sick(&mut world, false);
    world.rules().budgets = vec![budget("10%")];
    world.last_pod().do_not_disrupt = Some("true".into());
    world.last_node().do_not_disrupt = true;
    let decision = check(&world, &["Unhealthy n -> medium"]);
    assert_eq!(decision.disruptions[0].drain_within, Some(SignedDuration::from_mins(5)));
    world.last_node().do_not_repair = true;
    stays(&world, "n", KeptCode::DoNotRepair);
}

#[test]
fn a_machine_that_is_started_again_makes_no_new_node() {
    let mut world = full();
    sick(&mut world, false);
    world.last_node().unhealthy.as_mut().unwrap().remedy = Remedy::Reboot;
    let decision = check(&world, &["Unhealthy n ->"]);
    assert_eq!(decision.disruptions[0].remedy, Remedy::Reboot);
}

#[test]
fn when_too_much_of_a_pool_is_unhealthy_only_what_goes_anyway_is_replaced() {
    let mut world = World::new();
    for at in 0..10 {
        world.node(&format!("n{at}"), "medium").pod(&format!("p{at}"), 3500);
        if at < 3 {
            sick(&mut world, false);
        }
    }
    stays(&world, "n0", KeptCode::CorrelatedFailure);
    assert_eq!(world.decide().disruptions.len(), 0);
    for here in &mut world.situation.inventory.nodes[..3] {
        here.unhealthy.as_mut().unwrap().urgent = true;
    }
    world.rules().budgets = vec![budget("0")];
    assert_eq!(going(&world.decide(), Reason::Unhealthy), 3);
}

#[test]
fn pods_do_not_move_to_a_node_that_has_to_leave_itself() {
    let mut world = World::new();
    for at in 0..2 {
        world.node(&format!("n{at}"), "large").pod(&format!("p{at}"), 1000);
        world.last_claim().created_at = ago(60 * 24 * 40);
    }
    let decision = world.decide();
    assert_eq!(going(&decision, Reason::Expired), 2);
    assert_eq!(decision.disruptions.iter().map(|one| one.replacements.len()).sum::<usize>(), 2);
}

#[test]
fn what_pods_of_a_leaving_node_come_to_stays() {
    let mut world = World::new();
    world.node("old", "medium").pod("p", 1000);
    world.last_claim().drifted = Some(Drift { reason: "Other".into(), message: String::new(), since: ago(10) });
    world.node("roomy", "xlarge").pod("q", 500);
    check(&world, &["Drifted old ->"]);
    stays(&world, "roomy", KeptCode::Destination);
}

#[test]
fn what_a_budget_holds_for_its_age_may_go_for_its_drift() {
    let mut world = full();
    world.last_claim().created_at = ago(60 * 24 * 40);
    let drifted = Drift { reason: "Other".into(), message: String::new(), since: ago(5) };
    world.last_claim().drifted = Some(drifted);
    check(&world, &["Expired n -> medium"]);
    let none = |reason: &str| model::disruption::Budget { reasons: vec![reason.into()], ..budget("0") };
    world.rules().budgets = vec![none("Expired")];
    check(&world, &["Drifted n -> medium"]);
    world.rules().budgets = vec![none("Expired"), none("Drifted")];
    stays(&world, "n", KeptCode::Budget);
}

#[test]
fn nodes_that_are_being_repaired_have_failed_as_well() {
    let mut world = World::new();
    for at in 0..10 {
        world.node(&format!("n{at}"), "small").pod(&format!("p{at}"), 1500);
        if at < 3 {
            sick(&mut world, false);
        }
        world.last_node().disrupted = at < 2;
    }
    let why = stays(&world, "n2", KeptCode::CorrelatedFailure);
    assert!(why.contains("3 of 10"), "{why}");
}
