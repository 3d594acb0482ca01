//! Rules between pods hold when everything is carried out, and with each command alone.

use super::fixture::*;
use model::{
    Labels,
    disruption::{Decision, KeptCode, To},
    names,
    place::{PodTerm, Selector, Spread},
};

fn app(name: &str) -> Selector {
    Selector { labels: Labels::from([("app".to_owned(), name.to_owned())]), ..Selector::default() }
}

/// A node that stays, in a zone.
fn kept(world: &mut World, node: &str, of: &str, zone: &str) {
    in_zone(world, node, of, zone);
    world.last_node().do_not_disrupt = true;
}

fn in_zone<'w>(world: &'w mut World, node: &str, of: &str, zone: &str) -> &'w mut World {
    world.node(node, of).last_there().labels.insert(names::ZONE.into(), zone.into());
    world
}

fn near(world: &mut World, other: &str) {
    let pod = world.last_pod().moves.as_mut().unwrap();
    pod.affinity = vec![PodTerm::own_namespace(names::ZONE, app(other))];
}

fn spread(world: &mut World) {
    let labels = Labels::from([("app".to_owned(), "s".to_owned())]);
    let pod = world.last_pod().moves.as_mut().unwrap();
    pod.labels = labels.clone();
    pod.spread = vec![Spread::hard(names::ZONE, 1, app("s"))];
    world.situation.provision.scene.bound.last_mut().unwrap().labels = labels;
}

/// The nodes of each command.
fn commands(decision: &Decision) -> Vec<Vec<&str>> {
    let nodes = |one: &'_ model::disruption::Disruption| one.nodes.len();
    assert!(decision.disruptions.iter().all(|one| nodes(one) > 0));
    decision.disruptions.iter().map(|one| one.nodes.iter().map(|node| node.node.as_str()).collect()).collect()
}

#[test]
fn a_pod_that_moved_near_another_one_is_not_left_there_alone() {
    let mut world = World::new();
    kept(&mut world, "k-a", "medium", "a");
    kept(&mut world, "k-b", "large", "b");
    in_zone(&mut world, "d", "large", "a").pod("db", 6000);
    in_zone(&mut world, "w", "xlarge", "a").pod("web", 3000);
    near(&mut world, "db");
    let decision = world.decide();
    let zone = |name: &str| {
        let commands = decision.disruptions.iter();
        let mut moves = commands.flat_map(|one| one.moves.iter().map(move |moved| (one, moved)));
        match moves.find(|(_, moved)| moved.pod.name.as_str() == name).map(|(one, moved)| (one, &moved.to)) {
            Some((_, To::Node(node))) => node.as_str().trim_start_matches("k-").to_owned(),
            Some((one, To::Replacement(at))) => one.replacements[*at].planned.labels[names::ZONE].clone(),
            _ => "a".to_owned(),
        }
    };
    assert!(gone(&decision).contains("w"), "{:?}", told(&decision, &world));
    assert_eq!(zone("db"), zone("web"), "{decision:#?}");
}

#[test]
fn what_follows_another_pod_goes_with_it() {
    let mut world = World::new();
    kept(&mut world, "k", "xlarge", "a");
    in_zone(&mut world, "d", "large", "b").pod("db", 3000);
    in_zone(&mut world, "w", "xlarge", "b").pod("web", 300);
    near(&mut world, "db");
    assert_eq!(commands(&world.decide()), [["d", "w"]]);
}

#[test]
fn an_old_node_whose_pod_follows_another_one_waits_for_it() {
    let mut world = World::new();
    kept(&mut world, "k", "xlarge", "a");
    in_zone(&mut world, "d", "large", "b").pod("db", 6000);
    world.last_claim().created_at = ago(60 * 24 * 40);
    in_zone(&mut world, "w", "xlarge", "b").pod("web", 3000);
    world.last_claim().created_at = ago(60 * 24 * 39);
    near(&mut world, "db");
    check(&world, &["Expired d ->"]);
    let why = stays(&world, "w", KeptCode::NoOtherPlace);
    assert!(why.contains("default/web"), "{why}");
}

#[test]
fn pods_that_are_spread_and_make_room_for_each_other_go_together() {
    let mut world = World::new();
    for of in &mut world.situation.provision.scene.catalogues[0].types {
        let more: Vec<_> = of.offerings[..2].to_vec();
        of.offerings.extend(more.into_iter().map(|one| model::place::Offered { zone: Some("c".into()), ..one }));
    }
    kept(&mut world, "k-a", "medium", "a");
    world.pod("x", 3000);
    kept(&mut world, "k-b", "medium", "b");
    in_zone(&mut world, "one", "xlarge", "a").pod("s1", 2000);
    spread(&mut world);
    in_zone(&mut world, "two", "large", "c").pod("s2", 1000);
    spread(&mut world);
    assert_eq!(commands(&world.decide()), [["one", "two"]]);
}

#[test]
fn a_pod_does_not_come_to_a_zone_that_an_old_node_s_pod_has_yet_to_leave() {
    let mut world = World::new();
    // Only the zone that the one comes from is left for the other.
    for (node, zone) in [("one", "a"), ("two", "b")] {
        in_zone(&mut world, node, "large", zone).pod(&format!("s-{node}"), 300);
        spread(&mut world);
        let pod = world.last_pod().moves.as_mut().unwrap();
        pod.spread = vec![];
        pod.anti_affinity = vec![PodTerm::own_namespace(names::ZONE, app("s"))];
    }
    for (node, bound) in world.situation.provision.scene.bound.iter_mut().enumerate() {
        bound.anti_affinity = world.situation.inventory.pods[node].moves.as_ref().unwrap().anti_affinity.clone();
    }
    world.situation.inventory.nodes[0].claim.as_mut().unwrap().created_at = ago(60 * 24 * 40);
    for command in world.decide().disruptions {
        for new in &command.replacements {
            let zone = new.planned.labels.get(names::ZONE).map(String::as_str);
            let own = if command.nodes[0].node.as_str() == "one" { "a" } else { "b" };
            assert_eq!(zone, Some(own), "{command:?}");
        }
    }
}
