//! Saving money: nodes that are empty, whose pods fit elsewhere, or that something cheaper could replace.

use super::fixture::*;
use jiff::SignedDuration;
use model::{
    disruption::{After, KeptCode, Policy, Reason},
    place::{PodTerm, Selector, Spread},
};

#[test]
fn empty_nodes_go_and_what_daemons_run_does_not_count() {
    let mut world = World::new();
    world.node("a", "small").node("b", "small").daemon("d").node("c", "small").pod("p", 1900);
    let decision = check(&world, &["Empty a ->", "Empty b ->"]);
    assert_eq!(decision.disruptions[0].saves, 100_000);
}

#[test]
fn pods_of_little_worth_or_of_ignored_owners_do_not_keep_a_node() {
    let mut world = World::new();
    world.node("a", "small").pod("worthless", 100);
    world.last_pod().cost = i32::MIN;
    world.node("b", "small").pod("ignored", 100);
    world.last_pod().ignored = true;
    world.node("c", "small").pod("low", 100);
    world.last_pod().priority = -1_000_000_000;
    world.node("d", "medium").pod("work", 3500);
    assert_eq!(going(&world.decide(), Reason::Empty), 3);
}

#[test]
fn a_node_whose_pods_fit_elsewhere_goes() {
    let mut world = World::new();
    world.node("half", "medium").pod("small", 500).node("full", "large").pod("big", 6000);
    world.last_pod().do_not_disrupt = Some("true".into());
    let decision = check(&world, &["Underutilized half ->"]);
    assert_eq!(decision.disruptions[0].saves, 200_000);
    assert_eq!(decision.disruptions[0].moves.len(), 1);
}

#[test]
fn three_nodes_become_one() {
    let mut world = World::new();
    for node in ["a", "b", "c"] {
        world.node(node, "large").pod(&format!("p-{node}"), 1000);
    }
    let decision = check(&world, &["Underutilized a,b,c -> medium"]);
    assert_eq!(decision.disruptions[0].saves, 1_000_000);
}

#[test]
fn nodes_that_none_could_leave_alone_leave_together() {
    let mut world = World::new();
    for node in ["a", "b", "c"] {
        world.node(node, "medium").pod(&format!("p-{node}"), 2500);
    }
    check(&world, &["Underutilized a,b,c -> large"]);
}

#[test]
fn many_nodes_become_fewer_with_several_new_ones() {
    let mut world = World::new();
    for at in 0..10 {
        world.node(&format!("n{at}"), "medium").pod(&format!("p{at}"), 2600);
    }
    let decision = world.decide();
    let new: usize = decision.disruptions.iter().map(|one| one.replacements.len()).sum();
    assert!(new >= 2 && going(&decision, Reason::Underutilized) > 2 * new - 1, "{:?}", told(&decision, &world));
    assert!(decision.disruptions.iter().map(|one| one.saves).sum::<i64>() >= 300_000);
}

#[test]
fn an_oversized_node_is_replaced_by_a_cheaper_one_and_by_nothing_dearer() {
    let mut world = World::new();
    world.node("roomy", "xlarge").pod("p", 3000);
    let decision = check(&world, &["Underutilized roomy -> medium"]);
    let made = &decision.disruptions[0].replacements[0];
    let types = &world.situation.provision.scene.catalogues[0].types;
    let names: Vec<&str> =
        made.planned.offerings.iter().map(|of| types[of.instance_type as usize].name.as_str()).collect();
    assert!(names.contains(&"large") && !names.contains(&"xlarge"), "{names:?}");
    assert!(made.claim.requirements.iter().any(|one| one.requirement.values.contains(&"medium".to_owned())));
    assert_eq!(decision.disruptions[0].saves, 600_000);
}

#[test]
fn a_node_that_is_as_cheap_as_can_be_stays_and_says_so() {
    let mut world = World::new();
    world.node("fits", "medium").pod("p", 3000);
    let why = stays(&world, "fits", KeptCode::NotCheaper);
    assert!(why.contains("0.2000"), "{why}");
}

#[test]
fn a_saving_that_moving_is_not_worth_is_left() {
    let mut world = World::new();
    world.node("large", "large").pod("p", 3000);
    world.rules().minimum_saving = 600;
    stays(&world, "large", KeptCode::SavingTooSmall);
    world.rules().minimum_saving = 500;
    check(&world, &["Underutilized large -> medium"]);
}

#[test]
fn policies_say_which_nodes_may_go() {
    let mut world = World::new();
    world.node("used", "xlarge").pod("p", 100).node("empty", "xlarge");
    world.rules().policy = Policy::WhenEmpty;
    check(&world, &["Empty empty ->"]);
    let why = stays(&world, "used", KeptCode::NotEmpty);
    assert!(why.contains("default/p"), "{why}");
}

#[test]
fn nothing_goes_before_its_pool_has_waited() {
    let mut world = World::new();
    world.node("a", "xlarge").pod("p", 100).node("b", "small");
    world.rules().consolidate_after = After::Time(SignedDuration::from_mins(10));
    for at in 0..2 {
        world.situation.inventory.nodes[at].claim.as_mut().unwrap().last_pod_event = Some(ago(5));
    }
    stays(&world, "a", KeptCode::WithinConsolidateAfter);
    stays(&world, "b", KeptCode::WithinConsolidateAfter);
    assert_eq!(world.decide().look_again, Some(now() + SignedDuration::from_mins(5)));
    world.rules().consolidate_after = After::Never;
    stays(&world, "a", KeptCode::ConsolidateAfterNever);
    world.rules().consolidate_after = After::Time(SignedDuration::from_mins(5));
    assert_eq!(world.decide().disruptions.len(), 2);
}

#[test]
fn pods_do_not_move_to_a_node_that_changed_a_short_while_ago() {
    let mut world = World::new();
    world.node("full", "medium").pod("p", 3900).node("fresh", "xlarge").pod("q", 15000);
    world.last_claim().last_pod_event = Some(now());
    world.last_pod().do_not_disrupt = Some("true".into());
    world.situation.provision.scene.nodes[1].allocatable.insert("cpu".into(), whole(32));
    stays(&world, "full", KeptCode::NotCheaper);
    world.last_claim().last_pod_event = None;
    check(&world, &["Underutilized full ->"]);
}

#[test]
fn nor_if_it_must_not_be_disturbed_besides_or_is_not_ready() {
    let check_fresh = |change: &dyn Fn(&mut World)| {
        let mut world = World::new();
        world.node("full", "medium").pod("p", 3900).node("other", "large").pod("q", 1000);
        world.last_node().do_not_disrupt = true;
        check(&world, &["Underutilized full ->"]);
        change(&mut world);
        stays(&world, "full", KeptCode::NotCheaper);
    };
    check_fresh(&|world| world.last_claim().last_pod_event = Some(now()));
    check_fresh(&|world| world.last_node().ready = false);
}

#[test]
fn a_node_without_a_claim_waits_from_its_last_pod_on() {
    let mut world = World::new();
    world.node("a", "xlarge").pod("p", 100).last_node().claim = None;
    world.last_node().last_came = Some(now());
    stays(&world, "a", KeptCode::WithinConsolidateAfter);
    world.last_node().last_came = Some(ago(5));
    check(&world, &["Underutilized a -> tiny"]);
}

#[test]
fn a_pool_has_no_more_nodes_than_its_limit_while_one_is_replaced() {
    let mut world = World::new();
    world.node("a", "large").pod("p", 1000);
    world.last_pool().limits.insert("nodes".into(), whole(1));
    stays(&world, "a", KeptCode::NoOtherPlace);
    world.last_pool().limits.insert("nodes".into(), whole(2));
    check(&world, &["Underutilized a -> tiny"]);
    world.last_pool().limits = model::Resources::from([("cpu".into(), whole(8))]);
    check(&world, &["Underutilized a -> tiny"]);
}

#[test]
fn a_node_that_waiting_pods_have_room_on_is_left_alone() {
    let mut world = World::new();
    world.node("a", "large").node("b", "small");
    let mut waiting = model::place::PodToPlace::new(
        model::Namespace::new("default").unwrap(),
        name("waiting"),
        model::Uid::new("waiting").unwrap(),
    );
    waiting.requests.insert("cpu".into(), whole(5));
    world.situation.provision.scene.pods.push(waiting);
    check(&world, &["Empty b ->"]);
    let why = stays(&world, "a", KeptCode::Nominated);
    assert!(why.contains("default/waiting"), "{why}");
}

#[test]
fn gpu_work_is_not_moved_unless_its_pool_says_so() {
    let mut world = World::new();
    world.node("gpus", "gpu-4").pod("train", 1000);
    world.situation.provision.scene.bound[0].requests.insert(GPU.into(), whole(1));
    world.last_pod().moves.as_mut().unwrap().requests.insert(GPU.into(), whole(1));
    let why = stays(&world, "gpus", KeptCode::GpuWork);
    assert!(why.contains("default/train"), "{why}");
    world.rules().moves_gpu_work = true;
    check(&world, &["Underutilized gpus -> gpu-1"]);
}

#[test]
fn the_dearest_for_the_least_disturbance_goes_first() {
    let mut world = World::new();
    world.rules().budgets = vec![budget("1")];
    world.node("cheap", "small").pod("p", 100).node("dear", "large").pod("q", 100).node("wide", "xlarge").pod("r", 100);
    world.last_pod().do_not_disrupt = Some("true".into());
    check(&world, &["Underutilized dear ->"]);
    // Pods that cost more to disturb make it come later.
    world.situation.inventory.pods[1].cost = i32::MAX;
    check(&world, &["Underutilized cheap ->"]);
}

#[test]
fn a_node_without_a_known_price_is_only_taken_away_when_it_is_empty() {
    let mut world = World::new();
    world.node("odd", "large").pod("p", 100);
    world.last_there().labels.insert("node.kubernetes.io/instance-type".into(), "unknown".into());
    world.last_claim().created_at = ago(10);
    world.node("big", "xlarge").pod("q", 15000);
    stays(&world, "odd", KeptCode::PriceUnknown);
}

#[test]
fn rules_between_pods_hold_after_a_move() {
    let mut world = World::new();
    let same = Selector { labels: [("app".to_owned(), "web".to_owned())].into(), expressions: vec![] };
    for node in ["a", "b"] {
        world.node(node, "large").pod(&format!("web-{node}"), 3500);
        let apart = PodTerm::own_namespace("kubernetes.io/hostname", same.clone());
        let at = world.situation.provision.scene.bound.len() - 1;
        let bound = &mut world.situation.provision.scene.bound[at];
        bound.labels.insert("app".into(), "web".into());
        bound.anti_affinity = vec![apart.clone()];
        let moves = world.last_pod().moves.as_mut().unwrap();
        moves.labels.insert("app".into(), "web".into());
        moves.anti_affinity = vec![apart];
    }
    // Together they would fit on one; apart each gets a smaller one.
    check(&world, &["Underutilized a -> medium", "Underutilized b -> medium"]);
}

#[test]
fn spread_over_zones_holds_after_a_move() {
    let mut world = World::new();
    let same = Selector { labels: [("app".to_owned(), "web".to_owned())].into(), expressions: vec![] };
    for (node, zone) in [("a", "a"), ("b", "b")] {
        world.node(node, "medium").pod(&format!("web-{node}"), 1500);
        world.last_there().labels.insert("topology.kubernetes.io/zone".into(), zone.into());
        let at = world.situation.provision.scene.bound.len() - 1;
        world.situation.provision.scene.bound[at].labels.insert("app".into(), "web".into());
        let moves = world.last_pod().moves.as_mut().unwrap();
        moves.labels.insert("app".into(), "web".into());
        moves.spread = vec![Spread::hard("topology.kubernetes.io/zone", 1, same.clone())];
    }
    check(&world, &["Underutilized a -> small", "Underutilized b -> small"]);
}

#[test]
fn when_time_runs_out_what_was_decided_holds_and_the_rest_says_so() {
    let mut world = World::new();
    for at in 0..20 {
        world.node(&format!("n{at:02}"), "xlarge").pod(&format!("p{at}"), 3000);
    }
    let mut left = 3;
    let decision = decide::disruption::decide(&world.situation, &mut || {
        left -= 1;
        left > 0
    });
    assert!(decision.out_of_time);
    assert!(decision.kept.iter().any(|one| one.code == KeptCode::OutOfTime));
}

/// A node with a pod that costs less than nothing to disturb.
fn costless() -> World {
    let mut world = World::new();
    world.node("a", "small").pod("p", 1500);
    world.last_pod().cost = i32::MIN;
    world
}

#[test]
fn a_pod_that_costs_nothing_to_disturb_keeps_no_node_where_it_has_room_elsewhere() {
    let mut world = costless();
    world.node("b", "medium").pod("q", 2500);
    let decision = check(&world, &["Empty a ->"]);
    assert_eq!(decision.disruptions[0].moves.len(), 1, "and it is told where");
}

#[test]
fn a_pod_that_costs_nothing_keeps_the_only_node_that_it_can_have() {
    // A node made for it anew would be as empty as this one, for ever.
    stays(&costless(), "a", KeptCode::NotCheaper);
    let mut world = costless();
    world.rules().policy = Policy::WhenEmpty;
    stays(&world, "a", KeptCode::NotEmpty);
}

#[test]
fn what_a_pod_of_no_cost_needs_may_be_had_for_less() {
    let mut world = World::new();
    world.node("a", "large").pod("p", 1000);
    world.last_pod().cost = i32::MIN;
    check(&world, &["Underutilized a -> tiny"]);
}

#[test]
fn a_pod_of_no_cost_does_not_move_to_a_node_that_goes() {
    let mut world = costless();
    world.node("b", "medium");
    let decision = world.decide();
    assert_eq!(told(&decision, &world), ["Empty b ->"]);
}

#[test]
fn nothing_is_moved_off_a_node_that_costs_nothing() {
    let mut world = World::new();
    let types = &mut world.situation.provision.scene.catalogues[0].types;
    types.iter_mut().flat_map(|one| &mut one.offerings).for_each(|one| one.price = Some(0));
    world.node("a", "medium").pod("p", 1000).node("b", "medium").pod("q", 1000);
    let why = stays(&world, "a", KeptCode::NotCheaper);
    assert!(why.contains("costs nothing"), "{why}");
}

/// A node that goes together with others, and comes again as the same, may as well stay: nothing is started and one pod moves less.
#[test]
fn a_node_that_would_come_again_takes_the_pods_of_the_others() {
    let mut world = World::new();
    let medium = &mut world.situation.provision.scene.catalogues[0].types[2];
    let sold = medium.offerings.iter_mut().filter(|one| one.capacity_type == model::CapacityType::OnDemand);
    sold.for_each(|one| one.price = Some(190_000));
    world.node("a", "medium").pod("p", 2000);
    world.node("b", "small").pod("q", 2000);
    let decision = check(&world, &["Underutilized b ->"]);
    assert!(decision.disruptions[0].replacements.is_empty());
}
