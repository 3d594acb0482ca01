//! Labels, taints and volumes: what a node must be for a pod, and what a claim promises.

use model::place::{NodeTerm, PodToPlace, Volume, VolumeHandle};
use model::{Effect, names};

use crate::fixture::*;

#[test]
fn a_selector_becomes_part_of_the_contract() {
    let mut wants = pod("a");
    wants.node_selector = labels(&[(names::ZONE, "zone-b"), (names::CAPACITY_TYPE, "on-demand")]);
    let scene = scene(vec![wants]);
    let placing = solve_all(&scene);
    assert_eq!(values(&scene, &placing, 0, names::ZONE), ["zone-b"]);
    assert_eq!(values(&scene, &placing, 0, names::CAPACITY_TYPE), ["on-demand"]);
    assert_eq!(placing.claims[0].labels[names::ZONE], "zone-b");
    assert_eq!(cheapest(&scene, &placing, 0), "small");
}

#[test]
fn every_operator_narrows_the_types() {
    let check = |requirement: &str, expected: &[&str]| {
        let mut wants = pod("a");
        wants.node_affinity = vec![term(&[requirement])];
        let scene = scene(vec![wants]);
        let placing = solve(&scene);
        let found = if placing.claims.is_empty() { vec![] } else { types(&scene, &placing, 0) };
        assert_eq!(found, expected, "{requirement}");
    };
    check("node.kubernetes.io/instance-type In small,large", &["large", "small"]);
    check("node.kubernetes.io/instance-type NotIn small,medium,memory", &["large"]);
    check("kubernetes.io/arch Exists", &["large", "medium", "memory", "small"]);
    check("kubernetes.io/arch In arm64", &[]);
    check("kubernetes.io/arch DoesNotExist", &[]);
    check("team DoesNotExist", &["large", "medium", "memory", "small"]);
    check("team NotIn blue", &["large", "medium", "memory", "small"]);
    check("team Exists", &[]);
    check("team In blue", &[]);
    check("beta.kubernetes.io/arch In amd64", &["large", "medium", "memory", "small"]);
}

#[test]
fn a_pool_gives_labels_that_its_types_do_not_have() {
    let mut wants = pod("a");
    wants.node_selector = labels(&[("team", "blue"), ("rack", "r2")]);
    let mut scene = scene(vec![wants]);
    scene.pools[0].labels = labels(&[("team", "blue")]);
    scene.pools[0].requirements = vec![asks("rack In r1,r2,r3").into()];
    let placing = solve_all(&scene);
    assert_eq!(placing.claims[0].labels["rack"], "r2");
    assert_eq!(placing.claims[0].labels["team"], "blue");
}

#[test]
fn numbers_are_compared_as_numbers() {
    let mut wants = pod("a");
    wants.node_affinity = vec![term(&["cores Gt 3", "cores Lt 16"])];
    let mut scene = scene(vec![wants]);
    for (of, cores) in scene.catalogues[0].types.iter_mut().zip(["2", "4", "16", "4", "8", "64"]) {
        of.requirements.push(asks(&format!("cores In {cores}")));
    }
    let placing = solve_all(&scene);
    assert_eq!(types(&scene, &placing, 0), ["medium", "memory"]);
}

#[test]
fn the_next_term_of_an_affinity_is_tried_where_the_first_fails() {
    let mut wants = pod("a");
    wants.node_affinity =
        vec![term(&["topology.kubernetes.io/zone In moon"]), term(&["topology.kubernetes.io/zone In zone-c"])];
    let scene = scene(vec![wants]);
    let placing = solve_all(&scene);
    assert_eq!(values(&scene, &placing, 0, names::ZONE), ["zone-c"]);
}

#[test]
fn what_cannot_be_asked_of_a_new_node_is_refused_with_a_reason() {
    let mut by_field = pod("a");
    let fields = vec![asks("metadata.name In node-1")];
    by_field.node_affinity = vec![NodeTerm { expressions: vec![], fields }];
    let mut empty_term = pod("b");
    empty_term.node_affinity = vec![NodeTerm::default()];
    let mut opts_out = pod("c");
    opts_out.node_affinity = vec![term(&["karpenter.sh/nodepool DoesNotExist"])];
    let scene = scene(vec![by_field, empty_term, opts_out, pod("d")]);
    let placing = solve(&scene);
    assert_eq!(why(&placing, 0).code.as_str(), "NotServed");
    assert_eq!(why(&placing, 1).code.as_str(), "LabelsNotMet");
    assert_eq!(why(&placing, 2).code.as_str(), "LabelsNotMet");
    assert_eq!(on(&scene, &placing, 3), "claim/claim-0");
}

#[test]
fn taints_keep_out_whoever_does_not_tolerate_them() {
    let mut tolerant = pod("a");
    tolerant.tolerations = vec![tolerates("gpu")];
    let mut scene = scene(vec![tolerant, pod("b")]);
    scene.pools[0].taints = vec![taint("gpu", Effect::NoSchedule)];
    scene.pools[0].startup_taints = vec![taint("starting", Effect::NoExecute)];
    let placing = solve(&scene);
    assert_eq!(on(&scene, &placing, 0), "claim/claim-0");
    assert_eq!(why(&placing, 1).code.as_str(), "TaintsNotTolerated");
    assert!(why(&placing, 1).reason.contains("gpu=:NoSchedule"), "{}", why(&placing, 1).reason);
}

#[test]
fn a_taint_that_only_prefers_gives_way_to_need_and_not_before() {
    let mut scene = scene(vec![pod("a")]);
    scene.pools[0].taints = vec![taint("rather-not", Effect::PreferNoSchedule)];
    scene.pools.push(pool("other"));
    let placing = solve_all(&scene);
    assert_eq!(placing.claims[0].pool, 1);
    scene.pools.pop();
    let placing = solve_all(&scene);
    assert_eq!(placing.claims[0].pool, 0);
}

pub fn with_volume(name: &str, zones: &[&str], handle: &str) -> PodToPlace {
    let mut wants = pod(name);
    let alternatives = zones.iter().map(|zone| vec![asks(&format!("topology.kubernetes.io/zone In {zone}"))]).collect();
    let handle = VolumeHandle { driver: "disk.csi".into(), volume: handle.into() };
    wants.volumes = vec![Volume { name: "data".into(), alternatives, handle: Some(handle) }];
    wants
}

#[test]
fn a_pod_goes_where_all_its_volumes_can_be_reached() {
    let mut both = with_volume("a", &["zone-a", "zone-b"], "one");
    both.volumes.extend(with_volume("x", &["zone-b", "zone-c"], "two").volumes);
    let apart = {
        let mut apart = with_volume("b", &["zone-a"], "three");
        apart.volumes.extend(with_volume("x", &["zone-c"], "four").volumes);
        apart
    };
    let scene = scene(vec![both, apart]);
    let placing = solve(&scene);
    assert_eq!(values(&scene, &placing, 0, names::ZONE), ["zone-b"]);
    assert_eq!(why(&placing, 1).code.as_str(), "VolumesNotReachable");
}

#[test]
fn a_node_attaches_no_more_volumes_than_it_can_and_a_shared_one_once() {
    let one = |name: &str, handle: &str| with_volume(name, &["zone-a"], handle);
    let mut scene = scene(vec![one("a", "same"), one("b", "same"), one("c", "other"), one("d", "more")]);
    for of in &mut scene.catalogues[0].types {
        of.volume_limits = [("disk.csi".to_owned(), 2)].into();
    }
    let placing = solve_all(&scene);
    assert_eq!(placing.claims.len(), 2);
    let mut full = node("full");
    full.volume_limits = [("disk.csi".to_owned(), 1)].into();
    scene.nodes = vec![full];
    scene.pools.clear();
    assert_eq!(placed(&solve(&scene)), 2, "the two that share a volume");
}

#[test]
fn a_node_that_is_there_comes_before_a_new_one_whichever_term_allows_it() {
    let mut either = pod("a");
    either.node_affinity =
        vec![term(&["topology.kubernetes.io/zone In zone-b"]), term(&["topology.kubernetes.io/zone In zone-a"])];
    let mut scene = scene(vec![either]);
    scene.nodes = vec![node("there")];
    let placing = solve_all(&scene);
    assert_eq!(on(&scene, &placing, 0), "node/there", "it is in zone-a, which the second term allows");
}
