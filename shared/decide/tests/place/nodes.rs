//! What is there already: nodes that are up, nodes that are starting, claims on their way, and the DaemonSets on all of them.

use model::place::{Daemon, HostPort, NodeStage, PodToPlace, Protocol};
use model::{Effect, Namespace, ObjectName, names};

use crate::fixture::*;

pub fn daemon(name: &str, cpu: &str) -> Daemon {
    Daemon {
        namespace: Namespace::new("kube-system").unwrap(),
        name: ObjectName::new(name).unwrap(),
        requests: resources(&[("cpu", cpu)]),
        node_selector: labels(&[]),
        node_affinity: vec![],
        tolerations: vec![],
        host_ports: vec![],
    }
}

fn wants_port(name: &str, ip: &str, port: u16) -> PodToPlace {
    let mut wants = pod(name);
    wants.host_ports = vec![HostPort { ip: ip.into(), port, protocol: Protocol::Tcp }];
    wants
}

#[test]
fn room_that_is_there_is_used_before_anything_is_bought() {
    let mut scene = scene(pods("a", 5, |pod| pod));
    scene.nodes = vec![node("node-b"), node("node-a")];
    scene.bound = vec![bound("old", 1, &[]), bound("older", 1, &[])];
    let placing = solve_all(&scene);
    assert!(placing.claims.is_empty());
    assert_eq!(on(&scene, &placing, 0), "node/node-a", "by name");
}

#[test]
fn a_node_that_is_up_comes_before_one_that_is_starting() {
    let mut scene = scene(vec![pod("a")]);
    scene.nodes = vec![node("a-starting"), node("b-up")];
    scene.nodes[0].stage = NodeStage::Starting;
    assert_eq!(on(&scene, &solve(&scene), 0), "node/b-up");
}

#[test]
fn nothing_goes_onto_a_node_that_is_being_deleted() {
    let mut scene = scene(vec![pod("a")]);
    scene.nodes = vec![node("leaving")];
    scene.nodes[0].deleting = true;
    let placing = solve_all(&scene);
    assert_eq!(placing.claims.len(), 1);
}

#[test]
fn a_claim_on_its_way_is_room_though_its_gpus_have_not_shown_up() {
    let mut wants = pod("a");
    wants.requests = resources(&[("cpu", "1"), (GPU, "1")]);
    let mut scene = scene(vec![wants]);
    let mut coming = node("gpu-claim");
    coming.stage = NodeStage::InFlight;
    coming.promised = resources(&[(GPU, "1"), ("cpu", "8")]);
    coming.taints =
        vec![taint("starting", Effect::NoSchedule), taint("node.kubernetes.io/not-ready", Effect::NoSchedule)];
    coming.startup_taints = vec![taint("starting", Effect::NoSchedule)];
    scene.nodes = vec![coming];
    let placing = solve_all(&scene);
    assert_eq!(on(&scene, &placing, 0), "claim/gpu-claim");
    scene.nodes[0].stage = NodeStage::Initialized;
    assert_eq!(solve_all(&scene).claims.len(), 1, "once it is up, what it lacks it lacks");
}

#[test]
fn daemons_take_their_part_of_every_node() {
    let mut scene = scene(pods("a", 2, |pod| pod));
    scene.daemons = vec![daemon("logs", "500m")];
    let placing = solve_all(&scene);
    assert_eq!(cheapest(&scene, &placing, 0), "medium", "two CPUs do not hold two and a half");
    assert_eq!(placing.claims[0].requests["cpu"].to_string(), "2500m");
    scene.nodes = vec![node("there")];
    scene.nodes[0].allocatable = resources(&[("cpu", "2"), ("pods", "10")]);
    assert_eq!(solve_all(&scene).claims.len(), 1, "the daemon is still to come");
    let mut running = bound("logs-x", 0, &[]);
    running.requests = resources(&[("cpu", "0")]);
    running.daemon = Some(0);
    scene.bound = vec![running];
    assert!(solve_all(&scene).claims.is_empty(), "the daemon is there, and takes nothing");
}

#[test]
fn daemons_that_do_not_come_take_nothing() {
    let mut scene = scene(pods("a", 2, |pod| pod));
    scene.daemons = vec![daemon("gpu-only", "500m")];
    scene.daemons[0].node_selector = labels(&[("gpu", "yes")]);
    scene.daemons.push(daemon("large-only", "4"));
    scene.daemons[1].node_affinity = vec![term(&["node.kubernetes.io/instance-type In large"])];
    let placing = solve_all(&scene);
    assert_eq!(cheapest(&scene, &placing, 0), "small");
}

#[test]
fn pods_that_want_the_same_port_go_to_different_nodes() {
    let scene = scene(vec![wants_port("a", "", 80), wants_port("b", "10.0.0.1", 80), wants_port("c", "", 81)]);
    let placing = solve_all(&scene);
    assert_eq!(placing.claims.len(), 2);
    let same = |left, right| on(&scene, &placing, left) == on(&scene, &placing, right);
    assert!(!same(0, 1) && (same(0, 2) || same(1, 2)));
}

#[test]
fn a_port_of_a_daemon_is_taken_on_new_nodes_too() {
    let mut scene = scene(vec![wants_port("a", "", 80)]);
    scene.daemons = vec![daemon("proxy", "100m")];
    scene.daemons[0].host_ports = vec![HostPort { ip: String::new(), port: 80, protocol: Protocol::Tcp }];
    assert_eq!(why(&solve(&scene), 0).code.as_str(), "HostPortsTaken");
    scene.daemons[0].node_affinity = vec![term(&["node.kubernetes.io/instance-type NotIn medium"])];
    let placing = solve_all(&scene);
    assert_eq!(types(&scene, &placing, 0), ["medium"]);
}

#[test]
fn what_was_planned_stays_planned() {
    let mut scene = scene(pods("a", 12, |pod| pod));
    let first = solve_all(&scene);
    // The claims become nodes on their way, each of its cheapest type; the pods still wait.
    let again = crate::fixture::carried_out(&scene, &first);
    let second = solve_all(&again);
    assert!(second.claims.is_empty(), "placing again plans nothing more");
    scene.nodes = vec![node("z-late"), node("a-early")];
    scene.pods.truncate(1);
    scene.pods[0].planned = Some(0);
    assert_eq!(on(&scene, &solve(&scene), 0), "node/z-late");
    scene.nodes[0].taints = vec![taint("no", Effect::NoSchedule)];
    assert_eq!(on(&scene, &solve(&scene), 0), "node/a-early", "a plan that no longer holds is dropped");
    assert_eq!(scene.nodes[0].labels[names::ZONE], "zone-a");
}
