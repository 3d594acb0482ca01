//! The last look at a batch: claims that others can take over are given up, and what is bought is bought for all of its pods.

use model::names;
use model::place::{Catalogue, InstanceType, PodToPlace, Scene};

use crate::fixture::*;
use crate::prices::price;

/// Types with CPUs, memory and spot price, and the pods that wait.
fn market(types: &[(&str, &str, &str, u64)], pods: Vec<PodToPlace>) -> Scene {
    let types = types.iter().map(|(name, cpu, memory, spot)| machine(name, cpu, memory, 0, 2 * spot)).collect();
    Scene { catalogues: vec![Catalogue { types, complete: true }], ..scene(pods) }
}

fn of(cpu: &'static str, memory: &'static str) -> impl Fn(PodToPlace) -> PodToPlace {
    move |mut pod| {
        pod.requests = resources(&[("cpu", cpu), ("memory", memory)]);
        pod
    }
}

#[test]
fn two_claims_that_one_machine_holds_for_less_become_one() {
    let together = |pod| {
        let mut pod = of("250m", "512Mi")(pod);
        pod.labels = labels(&[("app", "cache")]);
        pod.affinity = vec![with_app(names::ZONE, "cache")];
        pod
    };
    let waiting = [pods("free", 5, of("250m", "512Mi")), pods("together", 4, together)].concat();
    let scene = market(&[("small", "2", "4Gi", 39_600), ("medium", "4", "8Gi", 65_400)], waiting);
    assert_eq!(price(&scene, &solve_all(&scene)), 65_400);
}

#[test]
fn a_claim_is_bought_where_all_of_its_pods_cost_least() {
    let waiting = [vec![of("250m", "6Gi")(pod("first"))], pods("other", 5, of("500m", "128Mi"))].concat();
    let mut scene = market(&[("large", "8", "16Gi", 143_560), ("arm", "4", "8Gi", 63_600)], waiting);
    let arm: &mut InstanceType = &mut scene.catalogues[0].types[1];
    arm.requirements = vec![asks("kubernetes.io/arch In arm64"), asks("kubernetes.io/os In linux")];
    scene.pools = vec![pool("a"), pool("b")];
    scene.pools[0].requirements = vec![asks("kubernetes.io/arch NotIn arm64").into()];
    let placing = solve_all(&scene);
    assert_eq!((price(&scene, &placing), placing.claims.len()), (63_600, 1));
}

#[test]
fn a_pool_with_more_weight_is_not_left_for_a_cheaper_one() {
    let mut scene =
        market(&[("large", "8", "16Gi", 143_560), ("small", "2", "8Gi", 30_000)], pods("a", 1, of("1", "1Gi")));
    scene.pools = vec![pool("heavy"), pool("light")];
    scene.pools[0].weight = 10;
    scene.pools[0].requirements = vec![asks("node.kubernetes.io/instance-type In large").into()];
    assert_eq!(price(&scene, &solve_all(&scene)), 143_560);
}

#[test]
fn the_machine_that_is_best_for_all_together_is_looked_at() {
    let scene =
        market(&[("large", "8", "16Gi", 124_120), ("huge", "16", "64Gi", 348_800)], pods("a", 5, of("3", "6272Mi")));
    assert_eq!(price(&scene, &solve_all(&scene)), 348_800, "three large ones cost more");
}

#[test]
fn the_machine_that_is_best_for_a_mixture_is_found_among_many() {
    let names: Vec<String> = (0..30).map(|number| format!("dear-{number}")).collect();
    let dear = names.iter().map(|name| (name.as_str(), "2", "7Gi", 90_000));
    let types: Vec<_> = dear.chain([("medium", "4", "8Gi", 60_000), ("huge", "16", "64Gi", 313_600)]).collect();
    let kinds = [pods("a", 2, of("1", "512Mi")), pods("b", 4, of("3", "6Gi")), pods("c", 3, of("100m", "3Gi"))];
    let scene = market(&types, kinds.concat());
    assert_eq!(price(&scene, &solve_all(&scene)), 313_600, "six medium ones cost 360000");
}

#[test]
fn pods_that_must_share_a_host_with_others_have_room_beside_them() {
    let with_app_of = |app: &'static str, cpu: &'static str| {
        move |pod| {
            let mut pod = of(cpu, "1Gi")(pod);
            pod.labels = labels(&[("app", app)]);
            pod
        }
    };
    let follower = |pod| {
        let mut pod = with_app_of("db", "1")(pod);
        pod.affinity = vec![with_app(names::HOSTNAME, "cache")];
        pod
    };
    let large = pods("web", 4, with_app_of("web", "3"));
    let waiting = [large, pods("cache", 1, with_app_of("cache", "500m")), pods("follower", 4, follower)].concat();
    solve_all(&market(&[("large", "8", "16Gi", 100_000)], waiting));
}

#[test]
fn a_pod_that_is_spread_shares_a_machine_with_one_that_asks_for_a_zone() {
    let mut spread_out = of("1500m", "1Gi")(pod("spread"));
    spread_out.labels = labels(&[("app", "a")]);
    spread_out.spread = vec![spread(names::ZONE, 1, "a")];
    let mut pinned = of("1500m", "1Gi")(pod("pinned"));
    pinned.node_selector = labels(&[(names::ZONE, "zone-b")]);
    let scene = market(&[("small", "2", "4Gi", 39_600), ("medium", "4", "8Gi", 65_400)], vec![spread_out, pinned]);
    assert_eq!(price(&scene, &solve_all(&scene)), 65_400);
}

#[test]
fn pods_stay_spread_whatever_it_costs() {
    let spread_out = |pod| {
        let mut pod = of("1", "1Gi")(pod);
        pod.labels = labels(&[("app", "a")]);
        pod.spread = vec![spread(names::ZONE, 1, "a")];
        pod
    };
    let scene = market(&[("small", "2", "4Gi", 39_600), ("medium", "4", "8Gi", 40_000)], pods("a", 3, spread_out));
    assert_eq!(solve_all(&scene).claims.len(), 3, "one in each zone");
}

#[test]
fn pods_that_follow_each_other_stay_together() {
    let together = |pod| {
        let mut pod = of("1500m", "1Gi")(pod);
        pod.labels = labels(&[("app", "cache")]);
        pod.affinity = vec![with_app(names::ZONE, "cache")];
        pod
    };
    let mut pinned = of("1500m", "1Gi")(pod("pinned"));
    pinned.node_selector = labels(&[(names::ZONE, "zone-b")]);
    let waiting = [pods("together", 3, together), vec![pinned]].concat();
    solve_all(&market(&[("small", "2", "4Gi", 39_600), ("medium", "4", "8Gi", 65_400)], waiting));
}

#[test]
fn three_claims_become_one_where_no_two_of_them_would() {
    let mut pinned = of("1", "1Gi")(pod("pinned"));
    pinned.node_selector = labels(&[(names::ZONE, "zone-b")]);
    let waiting = [pods("a", 2, of("3500m", "1Gi")), vec![pinned]].concat();
    let scene = market(&[("medium", "4", "8Gi", 66_300), ("large", "8", "16Gi", 151_000)], waiting);
    assert_eq!(price(&scene, &solve_all(&scene)), 151_000, "three medium ones cost 198900");
}
