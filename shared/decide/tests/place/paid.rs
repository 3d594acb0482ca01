//! Room that is paid for is used before anything gets dearer: claims that rules keep apart take in those that are free.

use model::names;
use model::place::{HostPort, PodToPlace, Protocol};

use crate::fixture::*;
use crate::prices::price;

fn of(cpu: &'static str) -> impl Fn(PodToPlace) -> PodToPlace {
    move |mut pod| {
        pod.requests = resources(&[("cpu", cpu)]);
        pod
    }
}

fn apart(cpu: &'static str) -> impl Fn(PodToPlace) -> PodToPlace {
    move |pod| {
        let mut pod = of(cpu)(pod);
        pod.labels = labels(&[("app", "apart")]);
        pod.anti_affinity = vec![with_app(names::HOSTNAME, "apart")];
        pod
    }
}

fn in_zone(name: &str, cpu: &'static str, zone: &str) -> PodToPlace {
    let mut pod = of(cpu)(pod(name));
    pod.node_selector = labels(&[(names::ZONE, zone)]);
    pod
}

/// What a small machine costs at spot prices.
const SMALL: u64 = 50_000;

#[test]
fn free_pods_go_beside_those_that_keep_apart() {
    let scene = scene([pods("apart", 3, apart("500m")), pods("free", 3, of("1500m"))].concat());
    assert_eq!(price(&scene, &solve_all(&scene)), 3 * SMALL, "one of each on every one");
}

#[test]
fn free_pods_go_beside_those_that_ask_for_a_zone() {
    let pinned: Vec<PodToPlace> = ZONES.iter().map(|zone| in_zone(&format!("in-{zone}"), "1200m", zone)).collect();
    let scene = scene([pinned, pods("free", 3, of("800m"))].concat());
    assert_eq!(price(&scene, &solve_all(&scene)), 3 * SMALL, "one of each on every one");
}

#[test]
fn pods_that_want_a_port_of_their_host_come_before_those_that_fit_beside_them() {
    let with_port = |pod| {
        let mut pod = of("100m")(pod);
        pod.host_ports = vec![HostPort { ip: String::new(), port: 80, protocol: Protocol::Tcp }];
        pod
    };
    let scene = scene([pods("port", 2, with_port), pods("free", 2, of("1500m"))].concat());
    assert_eq!(price(&scene, &solve_all(&scene)), 2 * SMALL);
}
