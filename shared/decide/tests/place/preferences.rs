//! Wishes: kept where they cost nothing, given up one by one, and never a reason for thousands of nodes.

use model::names;
use model::place::{NodeTerm, PodToPlace, Preferences, Weighted};

use crate::fixture::*;

fn prefers(weight: i32, requirement: &str) -> Weighted<NodeTerm> {
    Weighted { weight, term: term(&[requirement]) }
}

#[test]
fn a_preferred_zone_is_taken_where_it_can_be_had() {
    let mut wants = pod("a");
    wants.preferred_node_affinity =
        vec![prefers(1, "topology.kubernetes.io/zone In zone-b"), prefers(5, "topology.kubernetes.io/zone In zone-c")];
    let mut scene = scene(vec![wants]);
    let placing = solve_all(&scene);
    assert_eq!(values(&scene, &placing, 0, names::ZONE), ["zone-c"], "the heaviest");
    scene.pools[0].requirements = vec![asks("topology.kubernetes.io/zone In zone-a,zone-b").into()];
    let placing = solve_all(&scene);
    assert_eq!(values(&scene, &placing, 0, names::ZONE), ["zone-b"], "then the next");
    scene.policy.preferences = Preferences::Ignore;
    let placing = solve_all(&scene);
    assert_eq!(values(&scene, &placing, 0, names::ZONE), ["zone-a", "zone-b"]);
}

#[test]
fn wishing_to_be_apart_does_not_buy_a_node_for_each_pod() {
    let make = |mut pod: PodToPlace| {
        pod.labels = labels(&[("app", "web")]);
        pod.preferred_anti_affinity = vec![Weighted { weight: 1, term: with_app(names::HOSTNAME, "web") }];
        pod
    };
    let mut scene = scene(pods("web", 16, make));
    assert_eq!(solve_all(&scene).claims.len(), 1);
    scene.pods.truncate(2);
    scene.nodes = vec![node("one"), node("two")];
    let placing = solve_all(&scene);
    assert_ne!(on(&scene, &placing, 0), on(&scene, &placing, 1), "of nodes that are there it takes two");
}

#[test]
fn wishing_for_other_zones_opens_one_node_in_each() {
    let make = |mut pod: PodToPlace| {
        pod.labels = labels(&[("app", "web")]);
        pod.preferred_anti_affinity = vec![Weighted { weight: 1, term: with_app(names::ZONE, "web") }];
        pod
    };
    let scene = scene(pods("web", 9, make));
    assert_eq!(solve_all(&scene).claims.len(), 3);
}

#[test]
fn a_wish_never_keeps_a_pod_waiting() {
    let mut wants = pod("a");
    wants.preferred_node_affinity = vec![prefers(100, "team In nobody")];
    wants.preferred_affinity = vec![Weighted { weight: 100, term: with_app(names::HOSTNAME, "ghost") }];
    wants.node_affinity =
        vec![term(&["topology.kubernetes.io/zone In zone-a"]), term(&["topology.kubernetes.io/zone In moon"])];
    solve_all(&scene(vec![wants]));
}
