//! Carried out, a decision leaves nothing to decide: nothing goes to and fro.

use super::fixture::*;
use jiff::SignedDuration;
use model::{
    Quantity,
    disruption::{Decision, To},
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The cluster after the decision: nodes gone, new ones up, pods where they were sent, all of it long enough ago.
fn carried_out(world: &World, decision: &Decision) -> World {
    static MADE: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
    let gone = gone(decision);
    let mut after = World::new();
    let rules = world.situation.inventory.pools[0].clone();
    *after.rules() = rules;
    let scene = &world.situation.provision.scene;
    let milli = |at: usize| scene.bound[at].requests["cpu"].thousandths();
    for (at, node) in scene.nodes.iter().enumerate().filter(|(_, node)| !gone.contains(node.name.as_str())) {
        after.node(node.name.as_str(), &node.labels["node.kubernetes.io/instance-type"]);
        let own = scene.bound.iter().enumerate().filter(|(_, pod)| pod.node == at);
        let mut pods: Vec<(String, i128)> = own.map(|(at, pod)| (pod.name.to_string(), milli(at))).collect();
        for one in decision.disruptions.iter().flat_map(|one| &one.moves) {
            if matches!(&one.to, To::Node(to) if *to == node.name) {
                let at = scene.bound.iter().position(|pod| pod.name == one.pod.name).unwrap();
                pods.push((one.pod.name.to_string(), milli(at)));
            }
        }
        for (name, milli) in &pods {
            after.pod(name, *milli);
        }
    }
    for one in &decision.disruptions {
        for (at, new) in one.replacements.iter().enumerate() {
            let of = new.planned.offerings[0].instance_type as usize;
            let number = MADE.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
            after.node(&format!("new-{number}"), &scene.catalogues[0].types[of].name);
            for moved in one.moves.iter().filter(|moved| moved.to == To::Replacement(at)) {
                let at = scene.bound.iter().position(|pod| pod.name == moved.pod.name).unwrap();
                after.pod(moved.pod.name.as_str(), milli(at));
            }
        }
    }
    after.situation.provision.now = world.situation.provision.now + SignedDuration::from_hours(1);
    after
}

/// Nobody has more on it than it holds.
fn nothing_overflows(world: &World) {
    let scene = &world.situation.provision.scene;
    for (at, node) in scene.nodes.iter().enumerate() {
        let used: i128 =
            scene.bound.iter().filter(|pod| pod.node == at).map(|pod| pod.requests["cpu"].thousandths()).sum();
        assert!(Quantity::from_thousandths(used) <= node.allocatable["cpu"], "{} has {used}", node.name);
    }
}

fn cost(world: &World) -> i64 {
    let scene = &world.situation.provision.scene;
    let price = |node: &model::place::NodeThere| {
        let of = &node.labels["node.kubernetes.io/instance-type"];
        let found = scene.catalogues[0].types.iter().find(|one| one.name == *of).unwrap();
        i64::try_from(found.offerings[0].price.unwrap()).unwrap()
    };
    scene.nodes.iter().map(price).sum()
}

fn random() -> impl Strategy<Value = World> {
    let pods = prop::collection::vec(100_i128..4000, 0..6);
    let nodes = prop::collection::vec((0_usize..5, pods), 1..12);
    nodes.prop_map(|nodes| {
        let mut world = World::new();
        for (at, (of, pods)) in nodes.into_iter().enumerate() {
            let (instance_type, room) =
                [("tiny", 1000), ("small", 2000), ("medium", 4000), ("large", 8000), ("xlarge", 16000)][of];
            world.node(&format!("n{at:02}"), instance_type);
            let mut left = room;
            for (number, milli) in pods.into_iter().enumerate() {
                if milli <= left {
                    left -= milli;
                    world.pod(&format!("p{at}-{number}"), milli);
                }
            }
        }
        world
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, rng_seed: RngSeed::Fixed(20_261_117), ..ProptestConfig::default() })]

    #[test]
    fn what_is_decided_costs_what_it_says_and_soon_nothing_is_left_to_decide(world in random()) {
        let mut world = world;
        let mut rounds = 0;
        loop {
            let decision = world.decide();
            if decision.disruptions.is_empty() {
                break;
            }
            rounds += 1;
            prop_assert!(rounds <= 3, "still {:?}", told(&decision, &world));
            let saves: i64 = decision.disruptions.iter().map(|one| one.saves).sum();
            let after = carried_out(&world, &decision);
            nothing_overflows(&after);
            prop_assert_eq!(after.situation.provision.scene.bound.len(), world.situation.provision.scene.bound.len());
            prop_assert_eq!(cost(&world) - cost(&after), saves);
            prop_assert!(decision.disruptions.iter().all(|one| one.saves > 0));
            world = after;
        }
    }
}

/// Nothing is decided about what a decision leaves.
fn settles(world: &World) {
    let after = carried_out(world, &world.decide());
    let again = after.decide();
    assert!(again.disruptions.is_empty(), "{:?}", told(&again, &after));
}

#[test]
fn carried_out_a_decision_leaves_nothing_to_decide() {
    let mut three = World::new();
    for node in ["a", "b", "c"] {
        three.node(node, "large").pod(&format!("p-{node}"), 1000);
    }
    settles(&three);
    let mut ten = World::new();
    for at in 0..10 {
        ten.node(&format!("n{at}"), "medium").pod(&format!("p{at}"), 2600);
    }
    settles(&ten);
    let mut mixed = World::new();
    for (at, of) in ["tiny", "small", "medium", "large", "xlarge"].into_iter().enumerate() {
        mixed.node(&format!("n{at}"), of).pod(&format!("p{at}"), 700).pod(&format!("q{at}"), 150);
    }
    settles(&mixed);
}

#[test]
fn a_cluster_that_stands_still_is_left_alone_for_a_day() {
    let mut world = World::new();
    for at in 0..12 {
        world.node(&format!("n{at}"), "medium").pod(&format!("p{at}"), 3700);
    }
    for _ in 0..24 * 60 {
        assert!(world.decide().disruptions.is_empty());
        world.situation.provision.now += SignedDuration::from_mins(1);
    }
}
