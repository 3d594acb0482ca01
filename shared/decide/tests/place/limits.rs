//! Limits, weights, minValues and quotas: what may be bought.

use model::CapacityType;
use model::names;
use model::place::{MinValues, Offered, Quota, Reservation};

use crate::fixture::*;

#[test]
fn the_heavier_pool_comes_first_then_the_cheaper_one() {
    let mut scene = scene(vec![pod("a")]);
    scene.pools = vec![pool("light"), pool("heavy")];
    scene.pools[1].weight = 10;
    assert_eq!(solve_all(&scene).claims[0].pool, 1);
    scene.pools[1].requirements = vec![asks("kubernetes.io/arch In arm64").into()];
    assert_eq!(solve_all(&scene).claims[0].pool, 0, "unless it cannot");
    scene.pools[1].weight = 0;
    scene.pools[1].requirements = vec![asks("karpenter.sh/capacity-type In on-demand").into()];
    scene.pools[1].name = model::ObjectName::new("a-dear").unwrap();
    assert_eq!(solve_all(&scene).claims[0].pool, 0, "of equal weights the cheaper");
}

#[test]
fn a_limit_counts_the_largest_type_a_claim_lists() {
    let mut scene = scene(pods("a", 3, |mut pod| {
        pod.requests = resources(&[("cpu", "1500m")]);
        pod.anti_affinity = vec![with_app(names::HOSTNAME, "a")];
        pod.labels = labels(&[("app", "a")]);
        pod
    }));
    scene.pools[0].limits = resources(&[("cpu", "6")]);
    let placing = solve_all(&scene);
    assert_eq!(placing.claims.len(), 3, "charged for the largest type each could list, only one would fit");
    scene.pools[0].used = resources(&[("cpu", "3")]);
    let placing = solve(&scene);
    assert_eq!(placed(&placing), 1);
    assert_eq!(why(&placing, 1).code.as_str(), "LimitsReached");
}

#[test]
fn the_limit_of_nodes_is_exact_inside_one_solve() {
    let mut scene = scene(pods("a", 5, |mut pod| {
        pod.anti_affinity = vec![with_app(names::HOSTNAME, "a")];
        pod.labels = labels(&[("app", "a")]);
        pod
    }));
    scene.pools[0].limits = resources(&[("nodes", "4")]);
    scene.pools[0].used = resources(&[("nodes", "1")]);
    let placing = solve(&scene);
    assert_eq!((placing.claims.len(), placed(&placing)), (3, 3));
}

#[test]
fn a_claim_grows_though_it_gets_dear_where_no_other_may_be_opened() {
    let mut scene = scene(pods("a", 10, |mut pod| {
        pod.requests = resources(&[("cpu", "1"), (GPU, "1")]);
        pod
    }));
    scene.pools[0].limits = resources(&[("nodes", "2")]);
    for of in &mut scene.catalogues[0].types {
        if of.name == "gpu-8" {
            of.offerings.iter_mut().for_each(|offered| offered.price = offered.price.map(|price| price * 3));
        }
    }
    let placing = solve_all(&scene);
    assert_eq!(placing.claims.len(), 2);
}

#[test]
fn a_quota_binds_across_pools() {
    let mut scene = scene(pods("a", 4, |mut pod| {
        pod.requests = resources(&[("cpu", "2")]);
        pod.anti_affinity = vec![with_app(names::HOSTNAME, "a")];
        pod.labels = labels(&[("app", "a")]);
        pod
    }));
    scene.pools.push(pool("second"));
    let counts = vec![asks("karpenter.sh/capacity-type In spot,on-demand")];
    scene.quotas = vec![Quota { name: "quota of the region".into(), counts, remaining: resources(&[("cpu", "5")]) }];
    let placing = solve(&scene);
    assert_eq!(placed(&placing), 2);
    assert!(why(&placing, 3).reason.contains("quota of the region"), "{}", why(&placing, 3).reason);
}

#[test]
fn a_quota_of_one_kind_leaves_the_other() {
    let mut scene = scene(vec![pod("a")]);
    let counts = vec![asks("karpenter.sh/capacity-type In spot")];
    scene.quotas = vec![Quota { name: "spot".into(), counts, remaining: resources(&[("cpu", "0")]) }];
    let placing = solve_all(&scene);
    assert_eq!(values(&scene, &placing, 0, names::CAPACITY_TYPE), ["on-demand"]);
}

#[test]
fn enough_values_stay_to_choose_from() {
    let mut scene = scene(pods("a", 3, |pod| pod));
    scene.pools[0].requirements = vec![min_values("node.kubernetes.io/instance-type Exists", 3)];
    let placing = solve_all(&scene);
    assert!(types(&scene, &placing, 0).len() >= 3);
    let all = placing.claims[0].all_requirements(&scene);
    assert!(all.iter().any(|of| of.min_values == Some(3)));
    scene.pools[0].requirements = vec![min_values("node.kubernetes.io/instance-type Exists", 7)];
    assert_eq!(why(&solve(&scene), 0).code.as_str(), "MinValuesNotMet");
    scene.policy.min_values = MinValues::BestEffort;
    let placing = solve_all(&scene);
    assert!(placing.claims[0].min_values_relaxed);
}

#[test]
fn a_claim_lists_the_cheapest_types_where_it_may_not_list_all() {
    let mut scene = scene(vec![pod("a")]);
    scene.policy.most_types = 2;
    let placing = solve_all(&scene);
    assert_eq!(types(&scene, &placing, 0), ["medium", "small"]);
}

#[test]
fn a_closed_pool_opens_nothing_and_says_why() {
    let mut scene = scene(vec![pod("a")]);
    scene.pools[0].closed = Some("its node class is missing".into());
    let placing = solve(&scene);
    assert_eq!(why(&placing, 0).code.as_str(), "NoPools");
    assert!(why(&placing, 0).reason.contains("its node class is missing"));
}

#[test]
fn where_limits_do_not_suffice_priority_decides() {
    let mut scene = scene(pods("a", 3, |mut pod| {
        pod.anti_affinity = vec![with_app(names::HOSTNAME, "a")];
        pod.labels = labels(&[("app", "a")]);
        pod
    }));
    scene.pods[2].priority = 1000;
    scene.pools[0].limits = resources(&[("nodes", "1")]);
    assert_eq!(on(&scene, &solve(&scene), 2), "claim/claim-0");
}

#[test]
fn a_reservation_is_used_first_and_no_more_often_than_it_has_machines() {
    let mut scene = scene(pods("a", 3, |mut pod| {
        pod.anti_affinity = vec![with_app(names::HOSTNAME, "a")];
        pod.labels = labels(&[("app", "a")]);
        pod
    }));
    let reserved = Offered {
        capacity_type: CapacityType::Reserved,
        price: Some(1),
        reservation: Some(Reservation { id: "r-1".into(), left: 2 }),
        ..scene.catalogues[0].types[0].offerings[0].clone()
    };
    scene.catalogues[0].types[0].offerings.push(reserved);
    let placing = solve_all(&scene);
    let reserved =
        (0..3).filter(|claim| values(&scene, &placing, *claim, names::CAPACITY_TYPE) == ["reserved"]).count();
    assert_eq!(reserved, 2);
    assert!(!values(&scene, &placing, 2, names::CAPACITY_TYPE).contains(&"reserved".to_owned()));
}
