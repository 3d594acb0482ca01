//! Pods that want to be together, and pods that want to be apart.

use model::place::{PodToPlace, Selector};
use model::{Namespace, names};

use crate::fixture::*;

fn app(name: &str) -> impl Fn(PodToPlace) -> PodToPlace {
    let name = name.to_owned();
    move |mut pod| {
        pod.labels = labels(&[("app", &name)]);
        pod
    }
}

fn apart(key: &'static str) -> impl Fn(PodToPlace) -> PodToPlace {
    move |pod| {
        let mut pod = app("db")(pod);
        pod.anti_affinity = vec![with_app(key, "db")];
        pod
    }
}

fn together(key: &'static str) -> impl Fn(PodToPlace) -> PodToPlace {
    move |pod| {
        let mut pod = app("web")(pod);
        pod.affinity = vec![with_app(key, "web")];
        pod
    }
}

#[test]
fn pods_apart_by_host_get_a_host_each() {
    let scene = scene(pods("db", 5, apart(names::HOSTNAME)));
    assert_eq!(solve_all(&scene).claims.len(), 5);
}

#[test]
fn pods_apart_by_zone_get_a_zone_each_in_one_solve_and_the_fourth_waits() {
    let scene = scene(pods("db", 4, apart(names::ZONE)));
    let placing = solve(&scene);
    assert_eq!((placing.claims.len(), placed(&placing)), (3, 3));
    let mut zones: Vec<String> = (0..3).flat_map(|claim| values(&scene, &placing, claim, names::ZONE)).collect();
    zones.sort();
    assert_eq!(zones, ZONES);
    assert_eq!(why(&placing, 3).code.as_str(), "TopologyNotMet");
}

#[test]
fn a_pod_keeps_away_from_those_that_keep_away_from_it() {
    let mut scene = scene(vec![app("web")(pod("web"))]);
    scene.nodes = vec![node("there")];
    let mut shy = bound("shy", 0, &[("app", "shy")]);
    shy.anti_affinity = vec![with_app(names::ZONE, "web")];
    scene.bound = vec![shy];
    let placing = solve_all(&scene);
    assert_ne!(values(&scene, &placing, 0, names::ZONE), ["zone-a"]);
    scene.bound[0].terminating = true;
    assert!(solve_all(&scene).claims.is_empty(), "a pod that is leaving keeps nobody away");
}

#[test]
fn pods_together_by_zone_share_one() {
    let scene = scene(pods("web", 40, together(names::ZONE)));
    let placing = solve_all(&scene);
    let first = values(&scene, &placing, 0, names::ZONE);
    assert_eq!(first.len(), 1);
    assert!((0..placing.claims.len()).all(|claim| values(&scene, &placing, claim, names::ZONE) == first));
}

#[test]
fn pods_together_by_host_begin_where_all_of_them_fit() {
    let mut scene = scene(pods("web", 10, together(names::HOSTNAME)));
    scene.nodes = vec![node("too-small")];
    let placing = solve_all(&scene);
    assert_eq!(placing.claims.len(), 1);
    assert_eq!(cheapest(&scene, &placing, 0), "large");
    scene.pods = pods("web", 70, together(names::HOSTNAME));
    assert_eq!(placed(&solve(&scene)), 64, "what does not fit onto the largest waits");
}

#[test]
fn who_wants_to_be_with_a_pod_of_the_same_batch_follows_it() {
    let mut follower = app("follower")(pod("a-first-by-name"));
    follower.requests = resources(&[("cpu", "3")]);
    follower.affinity = vec![with_app(names::ZONE, "leader")];
    let scene = scene(vec![follower, app("leader")(pod("leader"))]);
    let placing = solve_all(&scene);
    let zones: Vec<_> = (0..placing.claims.len()).map(|claim| values(&scene, &placing, claim, names::ZONE)).collect();
    assert!(zones.iter().all(|zone| zone.len() == 1 && *zone == zones[0]), "{zones:?}");
}

#[test]
fn who_wants_to_be_with_nobody_that_exists_waits() {
    let mut lonely = pod("lonely");
    lonely.affinity = vec![with_app(names::HOSTNAME, "ghost")];
    let placing = solve(&scene(vec![lonely]));
    assert_eq!(why(&placing, 0).code.as_str(), "TopologyNotMet");
}

#[test]
fn the_first_of_a_group_may_not_ignore_the_group_that_exists() {
    let mut web = together(names::ZONE)(pod("web"));
    web.node_selector = labels(&[(names::ZONE, "zone-c")]);
    let mut scene = scene(vec![web]);
    scene.nodes = vec![node("there")];
    scene.bound = vec![bound("old", 0, &[("app", "web")])];
    assert_eq!(placed(&solve(&scene)), 0, "its group is in zone-a");
}

#[test]
fn namespaces_are_those_the_term_names() {
    let check = |change: &dyn Fn(&mut PodToPlace), expected: usize| {
        let mut other = apart(names::HOSTNAME)(pod("b"));
        other.namespace = Namespace::new("other").unwrap();
        other.anti_affinity = vec![];
        let mut first = apart(names::HOSTNAME)(pod("a"));
        change(&mut first);
        let mut scene = scene(vec![first, other]);
        scene.namespaces = [("other".to_owned(), labels(&[("team", "blue")]))].into();
        assert_eq!(solve_all(&scene).claims.len(), expected);
    };
    check(&|_| {}, 1);
    check(&|pod| pod.anti_affinity[0].namespaces = vec![Namespace::new("other").unwrap()], 2);
    check(&|pod| pod.anti_affinity[0].namespace_selector = Some(Selector::default()), 2);
    check(&|pod| pod.anti_affinity[0].namespace_selector = Some(selector(&[("team", "blue")])), 2);
    check(&|pod| pod.anti_affinity[0].namespace_selector = Some(selector(&[("team", "red")])), 1);
}

#[test]
fn match_label_keys_tell_revisions_apart() {
    let revision = |name: &str, version: &str| {
        let mut pod = apart(names::HOSTNAME)(pod(name));
        pod.labels.insert("version".into(), version.into());
        pod.anti_affinity[0].match_label_keys = vec!["version".into(), "unknown".into()];
        pod
    };
    let mixed = scene(vec![revision("a", "1"), revision("b", "2")]);
    assert_eq!(solve_all(&mixed).claims.len(), 1);
    let same = scene(vec![revision("a", "1"), revision("b", "1")]);
    assert_eq!(solve_all(&same).claims.len(), 2);
}

#[test]
fn pods_that_keep_together_begin_where_all_of_them_fit() {
    let mut scene = scene(pods("team", 3, together(names::ZONE)));
    let mut foreign = node("foreign");
    foreign.labels.insert(names::ZONE.into(), "zone-x".into());
    foreign.allocatable = resources(&[("cpu", "1"), ("memory", "2Gi"), ("pods", "110")]);
    scene.nodes = vec![foreign];
    let placing = solve_all(&scene);
    assert_eq!(placing.claims.iter().map(|claim| claim.pods.len()).sum::<usize>(), 3);
}

#[test]
fn pods_that_keep_together_begin_where_a_limit_lets_them_end() {
    let mut scene = scene(pods("team", 2, together(names::ZONE)));
    let (mut small, mut large) = (machine("small", "1", "4Gi", 0, 30_000), machine("large", "4", "16Gi", 0, 200_000));
    small.offerings.retain(|offered| offered.zone.as_deref() == Some("zone-a"));
    large.offerings.retain(|offered| offered.zone.as_deref() == Some("zone-b"));
    scene.catalogues[0].types = vec![small, large];
    scene.pools[0].limits = resources(&[("nodes", "1")]);
    let placing = solve_all(&scene);
    assert_eq!(types(&scene, &placing, 0), ["large"]);
}

#[test]
fn pods_apart_by_region_wait_where_nobody_knows_which_region_a_new_node_is_in() {
    let mut scene = scene(pods("db", 3, apart(names::REGION)));
    assert_eq!(placed(&solve(&scene)), 1, "the next may be in the same one");
    let mut there = node("there");
    there.labels.insert(names::REGION.into(), "here".into());
    there.allocatable = resources(&[("cpu", "1"), ("pods", "10")]);
    scene.nodes = vec![there];
    scene.bound = vec![bound("old", 0, &[("app", "db")])];
    assert_eq!(placed(&solve(&scene)), 0, "every new node may be there");
    scene.pools[0].labels = labels(&[(names::REGION, "elsewhere")]);
    assert_eq!(placed(&solve(&scene)), 1, "now it is known");
    for pod in &mut scene.pods {
        pod.anti_affinity = vec![with_app("example.com/rack", "db")];
    }
    assert_eq!(placed(&solve(&scene)), 3, "no node has such a label, so nobody shares it");
}
