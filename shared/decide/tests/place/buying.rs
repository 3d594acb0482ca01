//! What is bought for a batch, and how an answer is made whole or in part.

use decide::place::place;
use model::place::{Code, Invalid, Where};

use crate::fixture::*;

#[test]
fn nothing_to_place_is_nothing_to_buy() {
    let placing = solve(&scene(vec![]));
    assert!(placing.claims.is_empty() && placing.pods.is_empty() && !placing.out_of_time);
}

#[test]
fn a_batch_shares_the_machine_that_is_cheapest_for_it() {
    let scene = scene(pods("a", 14, |pod| pod));
    let placing = solve_all(&scene);
    let price: u64 = placing
        .claims
        .iter()
        .map(|claim| {
            let of = claim.offerings[0];
            scene.catalogues[0].types[of.instance_type as usize].offerings[of.offering as usize].price.unwrap()
        })
        .sum();
    assert!(price <= 400_000, "one large spot machine costs 400000, this costs {price}");
}

#[test]
fn only_what_can_be_had_is_listed() {
    let mut scene = scene(vec![pod("a")]);
    for of in &mut scene.catalogues[0].types {
        of.offerings
            .iter_mut()
            .filter(|offered| offered.zone.as_deref() != Some("zone-b"))
            .for_each(|offered| offered.available = false);
    }
    let placing = solve_all(&scene);
    let zones: Vec<_> = placing.claims[0]
        .offerings
        .iter()
        .map(|of| {
            scene.catalogues[0].types[of.instance_type as usize].offerings[of.offering as usize].zone.clone().unwrap()
        })
        .collect();
    assert!(zones.iter().all(|zone| zone == "zone-b"));
    scene.catalogues[0].types.iter_mut().flat_map(|of| &mut of.offerings).for_each(|offered| offered.available = false);
    assert_eq!(placed(&solve(&scene)), 0);
}

#[test]
fn a_pod_that_only_types_out_of_stock_would_hold_is_not_too_large() {
    let mut large = pod("a");
    large.requests = resources(&[("cpu", "60")]);
    let mut scene = scene(vec![large]);
    for of in scene.catalogues[0].types.iter_mut().filter(|of| of.capacity["cpu"].thousandths() >= 60_000) {
        of.offerings.iter_mut().for_each(|offered| offered.available = false);
    }
    let placing = solve(&scene);
    assert_eq!(why(&placing, 0).code, Code::NoOffering);
    assert!(why(&placing, 0).reason.contains("no type that is large enough can be had now: "), "{placing:?}");
}

#[test]
fn a_pool_that_is_sold_out_says_first_what_no_stock_would_change() {
    let mut huge = pod("a");
    huge.requests = resources(&[("cpu", "65")]);
    let mut elsewhere = pod("b");
    elsewhere.node_selector = labels(&[(model::names::ZONE, "zone-q")]);
    let mut scene = scene(vec![huge, elsewhere, pod("c")]);
    scene.catalogues[0].types.iter_mut().flat_map(|of| &mut of.offerings).for_each(|offered| offered.available = false);
    let placing = solve(&scene);
    assert_eq!((why(&placing, 0).code.clone(), why(&placing, 1).code.clone()), (Code::Resources, Code::Labels));
    assert!(why(&placing, 0).reason.contains("asks for cpu 65, the largest type that suits it has 64"), "{placing:?}");
    assert!(why(&placing, 1).reason.contains("topology.kubernetes.io/zone In zone-q"), "{placing:?}");
    assert_eq!(why(&placing, 2).code, Code::NoOffering);
}

#[test]
fn a_pod_that_is_too_large_says_what_it_lacks() {
    let mut huge = pod("a");
    huge.requests = resources(&[("cpu", "65")]);
    let mut odd = pod("b");
    odd.requests = resources(&[("example.com/fpga", "1")]);
    let placing = solve(&scene(vec![huge, odd]));
    assert_eq!(why(&placing, 0).code, Code::Resources);
    assert_eq!(
        why(&placing, 0).reason,
        "pool default: the pod asks for cpu 65, the largest type that suits it has 64 free"
    );
    assert!(why(&placing, 1).reason.contains("example.com/fpga"));
}

#[test]
fn a_malformed_pod_gets_its_reason_and_stops_nobody() {
    let mut broken = pod("a");
    let invalid = Invalid { code: "VolumeClaimMissing".into(), why: "volume claim data does not exist".into() };
    broken.invalid = Some(Box::new(invalid));
    let scene = scene(vec![broken, pod("b")]);
    let placing = solve(&scene);
    assert_eq!(why(&placing, 0).code.as_str(), "VolumeClaimMissing");
    assert_eq!(why(&placing, 0).reason, "volume claim data does not exist");
    assert_eq!(on(&scene, &placing, 1), "claim/claim-0");
}

#[test]
fn a_reason_is_never_longer_than_an_event_holds() {
    let mut scene = scene(vec![pod("a")]);
    scene.pools = (0..200)
        .map(|at| {
            let mut closed = pool(&format!("pool-{at}"));
            closed.closed = Some("of a long story that nobody wants to hear".into());
            closed
        })
        .collect();
    let placing = solve(&scene);
    assert_eq!(why(&placing, 0).reason.chars().count(), 1024);
}

#[test]
fn when_time_is_up_what_was_found_is_kept() {
    let scene = scene(pods("a", 1000, |pod| pod));
    let mut looks = 5;
    let placing = place(&scene, &mut || {
        looks -= 1;
        looks > 0
    });
    assert!(placing.out_of_time);
    let found = placed(&placing);
    assert!(found > 0 && found < 1000, "{found}");
    let left = placing.pods.iter().find_map(|on| match on {
        Where::Nowhere(why) => Some(why.code.clone()),
        Where::Node(_) | Where::Claim(_) => None,
    });
    assert_eq!(left, Some(Code::OutOfTime));
}

#[test]
fn a_pool_with_nothing_left_is_sold_out_and_not_mistaken() {
    let mut scene = scene(vec![pod("a")]);
    scene.pools[0].requirements = vec![asks("node.kubernetes.io/instance-type In large").into()];
    scene.catalogues[0].types.iter_mut().flat_map(|of| &mut of.offerings).for_each(|offered| offered.available = false);
    let placing = solve(&scene);
    assert_eq!(why(&placing, 0).code, Code::NoOffering);
    assert!(why(&placing, 0).reason.contains("out of stock"), "{}", why(&placing, 0).reason);
    scene.pools[0].requirements = vec![asks("node.kubernetes.io/instance-type In unheard-of").into()];
    assert_eq!(why(&solve(&scene), 0).code, Code::Labels);
}

#[test]
fn a_pod_that_names_its_pool_hears_of_that_one_first_and_of_the_others_in_a_word() {
    let asking = |of: &str| {
        let mut pod = pod("a");
        pod.node_selector = labels(&[("karpenter.sh/nodepool", of)]);
        pod
    };
    let mut scene = scene(vec![asking("mine")]);
    scene.pools = (0..30).map(|at| pool(&format!("pool-{at}"))).collect();
    let mut mine = pool("mine");
    mine.closed = Some("its class does not exist".into());
    scene.pools.push(mine);
    let placing = solve(&scene);
    assert_eq!(why(&placing, 0).code, Code::NoPools);
    assert_eq!(
        why(&placing, 0).reason,
        "pool mine: makes no nodes now: its class does not exist; the pod asks for none of the other 30 pools"
    );
    scene.pods = vec![asking("typo")];
    let placing = solve(&scene);
    assert!(why(&placing, 0).reason.contains("nodepool In typo, and no pool is called so"), "{placing:?}");
}

/// A pool whose cloud puts a taint on spot machines, which are the cheapest.
fn with_tainted_spot(pods: Vec<model::place::PodToPlace>) -> model::place::Scene {
    let mut scene = scene(pods);
    scene.pools[0].spot_taints = vec![taint("spot", model::Effect::NoSchedule)];
    scene
}

#[test]
fn only_pods_that_tolerate_what_a_cloud_puts_on_spot_machines_get_one() {
    let mut bears = pod("bears");
    bears.tolerations = vec![tolerates("spot")];
    let scene = with_tainted_spot(vec![bears.clone()]);
    let placing = solve_all(&scene);
    assert!(values(&scene, &placing, 0, model::names::CAPACITY_TYPE).contains(&"spot".to_owned()));
    let scene = with_tainted_spot(vec![pod("plain")]);
    let placing = solve_all(&scene);
    assert_eq!(values(&scene, &placing, 0, model::names::CAPACITY_TYPE), ["on-demand"]);
    let scene = with_tainted_spot(vec![bears, pod("plain")]);
    let placing = solve_all(&scene);
    assert_eq!(placing.claims.len(), 1, "one machine for both");
    assert_eq!(values(&scene, &placing, 0, model::names::CAPACITY_TYPE), ["on-demand"]);
}

#[test]
fn a_pool_of_tainted_spot_machines_alone_says_so() {
    let mut scene = with_tainted_spot(vec![pod("plain")]);
    scene.pools[0].requirements.push(asks("karpenter.sh/capacity-type In spot").into());
    let placing = solve(&scene);
    let why = why(&placing, 0);
    assert_eq!(why.code, model::place::Code::Taints);
    assert!(why.reason.contains("does not tolerate their taint spot="), "{}", why.reason);
}
