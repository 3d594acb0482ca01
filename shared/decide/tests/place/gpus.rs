//! GPUs: first in order, never stranded by what does not need them, and in parts.

use model::place::{DeviceParts, PodToPlace};

use crate::fixture::*;

const PART: &str = "example.com/gpu-milli";

fn gpu(count: &'static str) -> impl Fn(PodToPlace) -> PodToPlace {
    move |mut pod| {
        pod.requests = resources(&[("cpu", "4"), (GPU, count)]);
        pod
    }
}

#[test]
fn a_pod_without_gpus_opens_a_node_with_them_only_if_nothing_else_is_allowed() {
    let mut scene = scene(vec![pod("a")]);
    for of in &mut scene.catalogues[0].types {
        if of.name == "gpu-1" {
            of.offerings.iter_mut().for_each(|offered| offered.price = Some(1));
        }
    }
    let placing = solve_all(&scene);
    assert_eq!(types(&scene, &placing, 0), ["large", "medium", "memory", "small"]);
    scene.pools[0].requirements = vec![asks("node.kubernetes.io/instance-type In gpu-1,gpu-8").into()];
    let placing = solve_all(&scene);
    assert_eq!(cheapest(&scene, &placing, 0), "gpu-1");
}

#[test]
fn pods_without_gpus_take_the_room_that_gpu_pods_leave() {
    let mut all = pods("cpu", 4, |pod| pod);
    all.extend(pods("gpu", 1, gpu("1")));
    let scene = scene(all);
    let placing = solve_all(&scene);
    assert_eq!(placing.claims.len(), 1);
    assert_eq!(cheapest(&scene, &placing, 0), "gpu-1");
}

#[test]
fn pods_without_gpus_leave_each_free_gpu_its_part_of_the_machine() {
    let mut all = pods("cpu", 40, |pod| pod);
    all.extend(pods("gpu", 1, gpu("5")));
    let scene = scene(all);
    let placing = solve_all(&scene);
    let with_gpu = placing.claims.iter().position(|claim| claim.requests.contains_key(GPU)).unwrap();
    let cpus = placing.claims[with_gpu].requests["cpu"].thousandths() / 1000;
    assert!(cpus <= 40, "three free GPUs of eight keep 24 of 64 CPUs, {cpus} are taken");
    assert_eq!(placing.claims.len(), 2);
}

#[test]
fn a_cpu_pod_prefers_a_node_without_gpus() {
    let mut scene = scene(vec![pod("a")]);
    let mut dear = node("a-gpu");
    dear.allocatable.insert(GPU.into(), "1".parse().unwrap());
    scene.nodes = vec![dear, node("b-plain")];
    assert_eq!(on(&scene, &solve(&scene), 0), "node/b-plain");
    scene.nodes.pop();
    assert_eq!(on(&scene, &solve(&scene), 0), "node/a-gpu", "but it does not buy one while there is room");
}

#[test]
fn single_gpus_are_not_gathered_on_a_machine_that_costs_more_for_each() {
    let mut scene = scene(pods("a", 8, gpu("1")));
    for of in &mut scene.catalogues[0].types {
        if of.name == "gpu-8" {
            of.offerings.iter_mut().for_each(|offered| offered.price = offered.price.map(|price| price * 2));
        }
    }
    let placing = solve_all(&scene);
    assert_eq!(placing.claims.len(), 8);
    assert!((0..8).all(|claim| cheapest(&scene, &placing, claim) == "gpu-1"));
}

#[test]
fn slices_are_resources_like_any_other() {
    const SLICE: &str = "nvidia.com/mig-1g.10gb";
    let make = |mut pod: PodToPlace| {
        pod.requests = resources(&[("cpu", "1"), (SLICE, "1")]);
        pod
    };
    let mut scene = scene(pods("a", 9, make));
    assert_eq!(why(&solve(&scene), 0).code.as_str(), "TooLarge");
    scene.catalogues[0].types.push({
        let mut of = machine("mig", "24", "96Gi", 0, 3_000_000);
        of.capacity.insert(SLICE.into(), "7".parse().unwrap());
        of.allocatable = of.capacity.clone();
        of
    });
    assert_eq!(solve_all(&scene).claims.len(), 2);
}

fn share(milli: &'static str) -> impl Fn(PodToPlace) -> PodToPlace {
    move |mut pod| {
        pod.requests = resources(&[("cpu", "100m"), (PART, milli)]);
        pod
    }
}

#[test]
fn a_share_fits_inside_one_gpu() {
    let parts = DeviceParts { resource: PART.into(), device: GPU.into(), per_device: "1000".parse().unwrap() };
    let check = |all: Vec<PodToPlace>, gpus: &str| {
        let mut scene = scene(all);
        scene.device_parts = vec![parts.clone()];
        scene.catalogues[0].types.retain(|of| of.name == "gpu-8");
        let placing = solve_all(&scene);
        let taken: Vec<String> = placing.claims.iter().map(|claim| claim.requests[GPU].to_string()).collect();
        assert_eq!(taken.join(" "), gpus);
    };
    check(pods("a", 8, share("600")), "8");
    check(pods("a", 9, share("600")), "8 1");
    check(pods("a", 16, share("500")), "8");
    let mut mixed = pods("a", 2, share("600"));
    mixed.extend(pods("b", 2, share("400")));
    mixed.extend(pods("c", 6, gpu("1")));
    check(mixed, "8");
}

#[test]
fn a_share_larger_than_a_gpu_fits_nowhere() {
    let mut scene = scene(pods("a", 1, share("1500")));
    scene.device_parts =
        vec![DeviceParts { resource: PART.into(), device: GPU.into(), per_device: "1000".parse().unwrap() }];
    assert_eq!(why(&solve(&scene), 0).code.as_str(), "TooLarge");
}
