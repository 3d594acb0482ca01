//! Topology spread.

use model::names;
use model::place::{NodePolicy, PodToPlace, WhenUnsatisfiable};

use crate::fixture::*;
use crate::labels::with_volume;

fn web(key: &'static str, skew: u32) -> impl Fn(PodToPlace) -> PodToPlace {
    move |mut pod| {
        pod.labels = labels(&[("app", "web")]);
        pod.spread = vec![spread(key, skew, "web")];
        pod
    }
}

/// Pods by zone, most first.
fn by_zone(scene: &model::place::Scene, placing: &model::place::Placing) -> Vec<usize> {
    let mut counts = vec![0; ZONES.len()];
    for (at, claim) in placing.claims.iter().enumerate() {
        let zone = values(scene, placing, at, names::ZONE);
        let zone = ZONES.iter().position(|known| zone == [*known]).unwrap();
        counts[zone] += claim.pods.len();
    }
    counts.sort_by_key(|count| std::cmp::Reverse(*count));
    counts
}

#[test]
fn zones_are_filled_evenly() {
    let scene = scene(pods("web", 7, web(names::ZONE, 1)));
    let placing = solve_all(&scene);
    assert_eq!(by_zone(&scene, &placing), [3, 2, 2]);
}

#[test]
fn hosts_are_filled_to_the_skew() {
    let of_two = scene(pods("web", 6, web(names::HOSTNAME, 2)));
    assert_eq!(solve_all(&of_two).claims.len(), 3);
    let of_one = scene(pods("web", 6, web(names::HOSTNAME, 1)));
    assert_eq!(solve_all(&of_one).claims.len(), 6);
}

#[test]
fn pods_that_are_there_count_unless_they_are_leaving() {
    let mut scene = scene(pods("web", 2, web(names::ZONE, 1)));
    scene.nodes = vec![node("there")];
    scene.bound = vec![bound("old-0", 0, &[("app", "web")]), bound("old-1", 0, &[("app", "api")])];
    let placing = solve_all(&scene);
    assert_eq!(by_zone(&scene, &placing), [1, 1, 0], "the other two zones");
    scene.bound[0].terminating = true;
    assert_eq!(on(&scene, &solve_all(&scene), 0), "node/there");
}

#[test]
fn only_zones_that_the_pod_can_use_matter() {
    let make = |pod: PodToPlace| {
        let mut pod = web(names::ZONE, 1)(pod);
        pod.node_affinity = vec![term(&["topology.kubernetes.io/zone In zone-a,zone-b"])];
        pod
    };
    let mut scene = scene(pods("web", 6, make));
    assert_eq!(by_zone(&scene, &solve_all(&scene)), [3, 3, 0]);
    for pod in &mut scene.pods {
        pod.spread[0].node_affinity_policy = NodePolicy::Ignore;
    }
    assert_eq!(by_zone(&scene, &solve_all(&scene)), [3, 3, 0], "nobody has a node in the third");
    let mut there = node("there");
    there.labels.insert(names::ZONE.into(), "zone-c".into());
    scene.nodes = vec![there];
    assert_eq!(placed(&solve(&scene)), 2, "it stays empty and holds the others back");
}

#[test]
fn a_zone_that_is_sold_out_still_holds_the_others_back() {
    let mut scene = scene(pods("web", 6, web(names::ZONE, 1)));
    for of in &mut scene.catalogues[0].types {
        of.offerings
            .iter_mut()
            .filter(|offered| offered.zone.as_deref() == Some("zone-c"))
            .for_each(|offered| offered.available = false);
    }
    assert_eq!(placed(&solve(&scene)), 2);
}

#[test]
fn with_too_few_domains_the_least_count_is_zero() {
    let make = |pod: PodToPlace| {
        let mut pod = web(names::ZONE, 1)(pod);
        pod.spread[0].min_domains = Some(4);
        pod
    };
    let scene = scene(pods("web", 6, make));
    assert_eq!(placed(&solve(&scene)), 3);
}

#[test]
fn a_pod_that_does_not_count_itself_is_bound_by_those_that_do() {
    let make = |pod: PodToPlace| {
        let mut pod = web(names::ZONE, 1)(pod);
        pod.labels = labels(&[("app", "api")]);
        pod
    };
    let mut scene = scene(pods("api", 4, make));
    assert_eq!(solve_all(&scene).claims.len(), 1, "nobody is counted, so they may all be together");
    scene.nodes = vec![node("there")];
    scene.bound = vec![bound("old-0", 0, &[("app", "web")]), bound("old-1", 0, &[("app", "web")])];
    let placing = solve_all(&scene);
    assert!(!placing.claims.is_empty(), "two are in its zone already");
}

#[test]
fn without_a_selector_nothing_is_spread() {
    let make = |pod: PodToPlace| {
        let mut pod = web(names::HOSTNAME, 1)(pod);
        pod.spread[0].selector = None;
        pod
    };
    let scene = scene(pods("web", 4, make));
    assert_eq!(solve_all(&scene).claims.len(), 1);
}

#[test]
fn spread_over_capacity_types_settles_them() {
    let scene = scene(pods("web", 4, web(names::CAPACITY_TYPE, 1)));
    let placing = solve_all(&scene);
    let kinds: Vec<_> =
        (0..placing.claims.len()).map(|claim| values(&scene, &placing, claim, names::CAPACITY_TYPE)).collect();
    assert!(kinds.iter().all(|kind| kind.len() == 1), "{kinds:?}");
}

#[test]
fn the_schedulers_defaults_hold_for_pods_without_constraints_of_their_own() {
    let make = |mut pod: PodToPlace| {
        pod.labels = labels(&[("app", "web")]);
        pod.default_selector = Some(Box::new(selector(&[("app", "web")])));
        pod
    };
    let mut scene = scene(pods("web", 6, make));
    scene.default_spread = vec![spread(names::ZONE, 1, "not looked at")];
    assert_eq!(by_zone(&scene, &solve_all(&scene)), [2, 2, 2]);
    scene.pods.truncate(4);
    for pod in &mut scene.pods {
        pod.default_selector = None;
    }
    assert_eq!(solve_all(&scene).claims.len(), 1);
}

#[test]
fn a_constraint_that_may_be_broken_steers_and_never_stops() {
    let make = |pod: PodToPlace| {
        let mut pod = web(names::ZONE, 1)(pod);
        pod.spread[0].when_unsatisfiable = WhenUnsatisfiable::ScheduleAnyway;
        pod
    };
    let mut scene = scene(pods("web", 6, make));
    assert_eq!(by_zone(&scene, &solve_all(&scene)), [2, 2, 2]);
    scene.pools[0].requirements = vec![asks("topology.kubernetes.io/zone In zone-a").into()];
    assert_eq!(placed(&solve(&scene)), 6);
}

#[test]
fn a_zone_in_which_only_nodes_for_others_are_counts_for_nobody() {
    let make = |pod: PodToPlace| {
        let mut pod = web(names::ZONE, 1)(pod);
        pod.node_selector = labels(&[("disk", "ssd")]);
        pod
    };
    let mut scene = scene(pods("web", 4, make));
    scene.pools[0].labels = labels(&[("disk", "ssd")]);
    scene.pools[0].requirements = vec![asks("topology.kubernetes.io/zone In zone-a,zone-b").into()];
    scene.nodes = vec![node("foreign")];
    scene.nodes[0].labels.insert(names::ZONE.into(), "elsewhere".into());
    scene.nodes[0].labels.insert("disk".into(), "hdd".into());
    assert_eq!(by_zone(&scene, &solve_all(&scene))[..2], [2, 2]);
}

#[test]
fn pods_that_are_counted_and_have_no_choice_come_before_those_that_are_spread() {
    let mut pinned = pod("pinned");
    pinned.labels = labels(&[("app", "web")]);
    pinned.node_selector = labels(&[(names::ZONE, "zone-a")]);
    let mut all = pods("web", 2, web(names::ZONE, 1));
    all.push(pinned);
    let scene = scene(all);
    assert_eq!(by_zone(&scene, &solve_all(&scene)), [1, 1, 1]);
}

#[test]
fn nodes_without_one_of_the_required_keys_take_part_in_no_spread() {
    let make = |pod: PodToPlace| {
        let mut pod = web(names::ZONE, 1)(pod);
        pod.spread.push(spread("rack", 5, "web"));
        pod
    };
    let mut scene = scene(pods("web", 1, make));
    scene.pools[0].labels.insert("rack".into(), "r1".into());
    // Two in zone-a of which a scheduler knows nothing, and one in each of the others.
    let there = |name: &str, zone: &str, rack: bool| {
        let mut there = node(name);
        there.labels.insert(names::ZONE.into(), zone.into());
        there.labels.extend(rack.then(|| ("rack".to_owned(), "r1".to_owned())));
        there.allocatable = resources(&[("cpu", "0"), ("pods", "110")]);
        there
    };
    scene.nodes = vec![there("n1", "zone-a", false), there("n2", "zone-b", true), there("n3", "zone-c", true)];
    scene.bound = [0, 0, 1, 2].map(|at| bound("old", at, &[("app", "web")])).into();
    let placing = solve_all(&scene);
    assert_eq!(values(&scene, &placing, 0, names::ZONE), ["zone-a"]);
}

#[test]
fn pods_that_can_be_in_one_zone_alone_are_not_kept_waiting_by_those_that_can_be_anywhere() {
    let there = |at: usize| {
        let name = format!("volume-{at}");
        web(names::ZONE, 1)(with_volume(&name, &["zone-a"], &name))
    };
    let scene = scene([pods("web", 3, web(names::ZONE, 1)), (0..2).map(there).collect()].concat());
    assert_eq!(by_zone(&scene, &solve_all(&scene)), [2, 2, 1]);
}
