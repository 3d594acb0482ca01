//! What a batch costs as a whole: no machine is larger than what is there to fill it, and what was paid for is used.

use model::place::{Catalogue, Placing, Scene};
use model::{CapacityType, names};

use crate::fixture::*;
use crate::nodes::daemon;

/// Millionths an hour, each claim at its cheapest.
pub fn price(scene: &Scene, placing: &Placing) -> u64 {
    let of_claim = |claim: &model::place::ClaimPlanned| {
        let (of, types) = (claim.offerings[0], &scene.catalogues[scene.pools[claim.pool].catalogue].types);
        types[of.instance_type as usize].offerings[of.offering as usize].price.unwrap()
    };
    placing.claims.iter().map(of_claim).sum()
}

/// A small machine, and one that is cheaper for each CPU and far too large.
fn small_and_huge(pods: Vec<model::place::PodToPlace>) -> Scene {
    let mut scene = scene(pods);
    scene.catalogues = vec![Catalogue {
        types: vec![machine("small", "2", "8Gi", 0, 200_000), machine("huge", "64", "512Gi", 0, 5_000_000)],
        complete: true,
    }];
    scene
}

fn of_two_cpus(mut pod: model::place::PodToPlace) -> model::place::PodToPlace {
    pod.requests = resources(&[("cpu", "2")]);
    pod
}

#[test]
fn a_few_pods_get_small_machines_and_many_the_large_one() {
    let few = small_and_huge(pods("a", 2, of_two_cpus));
    assert_eq!(price(&few, &solve_all(&few)), 200_000, "two small ones at spot prices");
    let many = small_and_huge(pods("a", 32, of_two_cpus));
    assert_eq!(price(&many, &solve_all(&many)), 2_500_000);
    assert_eq!(solve_all(&many).claims.len(), 1);
}

#[test]
fn pods_that_may_not_be_packed_anew_get_small_machines_too() {
    let make = |pod| {
        let mut pod = of_two_cpus(pod);
        pod.labels = labels(&[("app", "web")]);
        pod.spread = vec![spread(names::ZONE, 3, "web")];
        pod
    };
    let scene = small_and_huge(pods("a", 3, make));
    assert_eq!(price(&scene, &solve_all(&scene)), 300_000);
}

#[test]
fn of_pools_with_the_same_weight_the_one_that_costs_less_for_what_waits_is_taken() {
    let mut scene = small_and_huge(vec![pod("a")]);
    let huge = scene.catalogues[0].types.pop().unwrap();
    scene.catalogues.push(Catalogue { types: vec![huge], complete: true });
    let (mut of_small, mut of_huge) = (pool("b-small"), pool("a-huge"));
    (of_small.catalogue, of_huge.catalogue) = (0, 1);
    scene.pools = vec![of_huge, of_small];
    assert_eq!(cheapest(&scene, &solve_all(&scene), 0), "small");
}

#[test]
fn of_equal_prices_one_node_is_better_than_two() {
    let scene = scene(pods("a", 2, of_two_cpus));
    assert_eq!(solve_all(&scene).claims.len(), 1, "a medium one costs as much as two small ones");
}

#[test]
fn work_without_gpus_that_only_machines_with_them_could_hold_shares_those_that_come_anyway() {
    let mut training = pod("training");
    training.requests.insert(GPU.into(), "1".parse().unwrap());
    let five = |mut pod: model::place::PodToPlace| {
        pod.requests = resources(&[("cpu", "5")]);
        pod
    };
    let mut all = pods("plain", 4, five);
    all.push(training);
    let mut scene = scene(all);
    scene.catalogues[0].types.retain(|of| of.name == "gpu-8");
    assert_eq!(solve_all(&scene).claims.len(), 1);
}

#[test]
fn a_daemon_that_does_not_fit_rules_a_type_out_whatever_its_pods_ask_for() {
    let mut light = pod("light");
    light.requests = resources(&[("memory", "1Gi")]);
    let mut scene = scene(vec![light]);
    let mut agent = daemon("agent", "3");
    scene.daemons = vec![agent.clone()];
    assert!(!types(&scene, &solve_all(&scene), 0).contains(&"small"), "two CPUs are less than three");
    agent.requests = resources(&[("cpu", "100")]);
    scene.daemons = vec![agent];
    let placing = solve(&scene);
    assert!(why(&placing, 0).reason.contains("DaemonSets ask for more than any type"), "{}", why(&placing, 0).reason);
}

#[test]
fn every_reservation_is_used_before_anything_is_bought() {
    let mut scene = scene(pods("a", 4, of_two_cpus));
    scene.catalogues[0].types.retain(|of| of.name == "small");
    let reserved = |zone: &str, id: &str, left: u32| model::place::Offered {
        zone: Some(zone.to_owned()),
        capacity_type: CapacityType::Reserved,
        price: Some(10_000),
        available: true,
        requirements: vec![],
        reservation: Some(model::place::Reservation { id: id.to_owned(), left }),
    };
    let offerings = &mut scene.catalogues[0].types[0].offerings;
    offerings.push(reserved(ZONES[0], "r-1", 1));
    offerings.push(reserved(ZONES[1], "r-2", 2));
    let placing = solve_all(&scene);
    assert_eq!(price(&scene, &placing), 3 * 10_000 + 50_000, "three are paid for, one is bought");
    let again = &mut scene.catalogues[0].types[0].offerings;
    again.push(reserved(ZONES[1], "r-3", 1));
    assert_eq!(price(&scene, &solve_all(&scene)), 4 * 10_000, "two of one type and zone count together");
}
