//! Balanced: a saving has to be worth the disturbance.

use super::fixture::*;
use model::disruption::{KeptCode, Policy};

/// A node with pods that may move, beside one that costs so much that the saving is a small share.
fn world(pods: usize, dear: usize) -> World {
    let mut world = World::new();
    world.rules().policy = Policy::Balanced;
    world.node("n", "small");
    for at in 0..pods {
        world.pod(&format!("p{at}"), 50);
    }
    for at in 0..dear {
        world.node(&format!("dear{at}"), "xlarge").pod(&format!("q{at}"), 14000);
        world.last_pod().do_not_disrupt = Some("true".into());
    }
    world
}

#[test]
fn a_small_saving_for_many_pods_is_not_worth_it() {
    // It saves a ninth and disturbs nearly everything.
    let why = stays(&world(20, 1), "n", KeptCode::NotWorthTheDisturbance);
    assert!(why.contains("Balanced"), "{why}");
}

#[test]
fn a_fair_saving_for_few_pods_is_worth_it() {
    // One pod of twenty-one for a ninth of the cost.
    let mut world = world(1, 1);
    for at in 0..20 {
        world.pod(&format!("more{at}"), 1);
    }
    check(&world, &["Underutilized n ->"]);
}

#[test]
fn empty_nodes_go_whatever_the_balance() {
    check(&world(0, 1), &["Empty n ->"]);
}

#[test]
fn the_same_is_taken_where_no_balance_is_asked_for() {
    let mut world = world(20, 1);
    world.rules().policy = Policy::WhenEmptyOrUnderutilized;
    check(&world, &["Underutilized n ->"]);
}

#[test]
fn what_goes_anyway_is_not_weighed() {
    let mut world = World::new();
    world.rules().policy = Policy::Balanced;
    world.node("a", "medium").node("b", "medium").pod("p", 1500);
    // Half of what is left, for all of its pods: as much as the pool asks for.
    check(&world, &["Empty a ->", "Underutilized b -> small"]);
}
