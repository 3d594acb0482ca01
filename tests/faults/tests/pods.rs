//! Pods that find no node: a node comes, they run on it, and nobody makes a second one; or they are told why none comes.

#![allow(clippy::unwrap_used, clippy::panic)]

use faults::{FUNCTIONS, KINDS, Kind, Theatre, gpu_pod};
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use model::names;
use serde_json::{Value, json};
use stage::Copy;
use std::time::Duration;
use world::{
    deliveries::DeliveryFaults,
    faults::{Fault, Matching, Mishap},
    power::{BackEnd, MachineOptions},
};

async fn playing() -> Theatre {
    let mut theatre = Theatre::open().await;
    theatre.play(theatre.messenger());
    theatre
}

/// A rack with machines of 1, 4 and 8 GPUs.
async fn playing_with_a_rack() -> Theatre {
    let machines = [("a", 1), ("b", 4), ("c", 8)];
    let machines = machines.map(|(name, gpus)| MachineOptions::new(name, BackEnd::Webhook, gpus));
    let mut theatre = Theatre::with(|options| options.power.machines = machines.into()).await;
    theatre.play(theatre.messenger());
    theatre
}

fn switched_on(theatre: &Theatre) -> Vec<(String, u32)> {
    let machines = theatre.world.power.snapshot();
    machines.into_iter().filter(|machine| machine.boots > 0).map(|machine| (machine.name, machine.boots)).collect()
}

async fn only_claim(theatre: &Theatre) -> Value {
    theatre.until("a claim is made", |theatre| !theatre.all_claims().is_empty()).await;
    let mut claims = theatre.all_claims();
    assert_eq!(claims.len(), 1, "{claims:#?}");
    claims.remove(0)
}

async fn stays_quiet(theatre: &Theatre) {
    theatre.pass(Duration::from_secs(600)).await;
    let quiet_from = theatre.world.clock.now();
    // Not for an hour: then Events are gone, and what still holds is said again.
    theatre.pass(Duration::from_secs(2400)).await;
    theatre.world.check(SignedDuration::ZERO).unwrap();
    theatre.world.check_quiet_since(quiet_from).unwrap();
}

async fn gets_its_node(kind: Kind) {
    let theatre = playing().await;
    theatre.create_pool(kind.pool("gpu")).await;
    theatre.create_pod(gpu_pod("train", 1)).await;
    theatre.until("the pod runs", |theatre| theatre.runs("train")).await;
    let claim = only_claim(&theatre).await;
    let metadata = &claim["metadata"];
    assert!(metadata["name"].as_str().unwrap().starts_with("gpu-"), "{claim:#}");
    let owner = &metadata["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["name"], &owner["blockOwnerDeletion"]),
        (&json!("NodePool"), &json!("gpu"), &json!(true))
    );
    assert_eq!((&metadata["labels"]["team"], &metadata["labels"][names::NODE_POOL]), (&json!("a"), &json!("gpu")));
    assert_eq!(claim["spec"]["expireAfter"], "Never");
    assert_eq!(metadata["annotations"][names::PODS], theatre.pod("train").unwrap()["metadata"]["uid"]);
    let said = theatre.said_of("train");
    let [(reason, text)] = said.as_slice() else { panic!("{}: {said:?}", kind.name()) };
    assert!(reason == "Nominated" && text.starts_with("a node is coming: NodeClaim gpu-"), "{text}");
    assert!(text.contains(" an hour, usable in about ") || text.contains("at no cost, usable in about "), "{text}");
    stays_quiet(&theatre).await;
    only_claim(&theatre).await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_gets_its_node_from_each_provider() {
    for kind in KINDS {
        gets_its_node(kind).await;
    }
}

/// Its claims say how large their disk is, which gpu-provisioner demands of whoever makes one.
#[tokio::test(start_paused = true)]
async fn a_pool_of_gpu_provisioners_class_makes_nodes() {
    let theatre = playing().await;
    let mut pool = Kind::Aks.pool("gpu");
    pool["spec"]["template"]["spec"]["nodeClassRef"] =
        json!({"group": "kaito.sh", "kind": "KaitoNodeClass", "name": "default"});
    theatre.create_pool(pool).await;
    theatre.create_pod(gpu_pod("train", 1)).await;
    theatre.until("the pod runs", |theatre| theatre.runs("train")).await;
    let claim = only_claim(&theatre).await;
    assert_eq!(claim["spec"]["resources"]["requests"]["storage"], "128Gi", "{claim:#}");
    stays_quiet(&theatre).await;
}

/// A cloud that takes its time is asked beside the others, and not waited for.
#[tokio::test(start_paused = true)]
async fn a_cloud_that_hangs_keeps_no_pod_from_the_machines_of_another() {
    let mut theatre = Theatre::open().await;
    theatre.forward(1, DeliveryFaults::default());
    theatre.create_pool(Kind::Scaleway.pool("gpu")).await;
    let mut silent = Kind::Aks.pool("silent");
    silent["spec"]["template"]["metadata"]["labels"] = json!({"cloud": "azure"});
    theatre.create_pool(silent).await;
    let on = Matching { to: Some("aks".into()), times: Some(u64::MAX), ..Matching::default() };
    theatre.world.faults.add(Fault { on, then: Mishap::TimeOut { done: false } });
    theatre.pass(Duration::from_secs(60)).await;
    let mut only_there = gpu_pod("only-there", 1);
    only_there["spec"]["nodeSelector"] = json!({"cloud": "azure"});
    for (pod, words) in [
        (gpu_pod("train", 1), "a node is coming: NodeClaim gpu-"),
        (only_there, "aks does not answer"),
        (gpu_pod("another", 8), "a node is coming: NodeClaim gpu-"),
    ] {
        let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
        let made_at = theatre.world.clock.now();
        theatre.create_pod(pod).await;
        theatre.until("the pod is told", |theatre| !theatre.said_of(&name).is_empty()).await;
        let took = theatre.world.clock.now().duration_since(made_at);
        let said = theatre.said_of(&name);
        assert!(said[0].1.contains(words), "{said:?}");
        assert!(took <= SignedDuration::from_secs(5), "{name}: {took}");
    }
    theatre.world.faults.clear();
    let well_again = theatre.world.clock.now();
    theatre.until("it has its claim", |theatre| theatre.all_claims().len() == 3).await;
    let took = theatre.world.clock.now().duration_since(well_again);
    assert!(took <= SignedDuration::from_secs(60), "it is asked about again soon: {took}");
    for name in ["train", "another", "only-there"] {
        theatre.until("the pod runs", |theatre| theatre.runs(name)).await;
    }
    theatre.world.check(SignedDuration::ZERO).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_cannot_be_served_is_told_why_and_others_are_served() {
    let theatre = playing().await;
    theatre.create_pool(Kind::Scaleway.pool("gpu")).await;
    theatre.create_pod(gpu_pod("too-large", 64)).await;
    theatre.create_pod(gpu_pod("train", 1)).await;
    theatre.until("the other runs", |theatre| theatre.runs("train")).await;
    let said = theatre.said_of("too-large");
    let [(reason, text)] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!(reason, "TooLarge", "{text}");
    assert!(text.starts_with("no node can be made for it: ") && text.len() <= 1024, "{text}");
    // It is looked at again and again, and nothing is written about it.
    stays_quiet(&theatre).await;
    assert_eq!(theatre.said_of("too-large").len(), 1);
    only_claim(&theatre).await;
}

#[tokio::test(start_paused = true)]
async fn watched_by_the_forwarder_pods_are_told_within_a_second_and_mistakes_stop_nobody() {
    let mut theatre = Theatre::open().await;
    theatre.forward(1, DeliveryFaults::default());
    let mut mistaken = Kind::Scaleway.pool("mistaken");
    mistaken["spec"]["template"]["spec"]["requirements"] =
        json!([{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["cheap"]}]);
    theatre.create_pool(mistaken).await;
    theatre.create_pool(Kind::Scaleway.pool("gpu")).await;
    theatre.pass(Duration::from_secs(60)).await;
    let mut lost = gpu_pod("lost", 1);
    lost["spec"]["volumes"] = json!([{"name": "data", "persistentVolumeClaim": {"claimName": "nowhere"}}]);
    let pods = [
        (lost, "volume claim nowhere is not there: make it"),
        (gpu_pod("too-large", 64), "pool mistaken"),
        (gpu_pod("train", 1), "a node is coming: NodeClaim gpu-"),
    ];
    for (pod, words) in pods {
        let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
        let made_at = theatre.world.clock.now();
        theatre.create_pod(pod).await;
        theatre.until("the pod is told", |theatre| !theatre.said_of(&name).is_empty()).await;
        let took = theatre.world.clock.now().duration_since(made_at);
        let said = theatre.said_of(&name);
        assert!(said[0].1.contains(words), "{said:?}");
        assert!(took <= SignedDuration::from_secs(1), "{name}: {took}");
    }
    theatre.until("the one that can be served runs", |theatre| theatre.runs("train")).await;
    stays_quiet(&theatre).await;
    only_claim(&theatre).await;
}

/// The event that stands for all pods may be of one that needs nothing.
#[tokio::test(start_paused = true)]
async fn a_pod_whose_claim_is_gone_gets_another_while_others_wait_for_theirs() {
    let mut theatre = Theatre::open().await;
    theatre.forward(1, DeliveryFaults::default());
    theatre.create_pool(Kind::Scaleway.pool("gpu")).await;
    let names = ["a", "b", "c", "d"];
    for name in names {
        theatre.create_pod(gpu_pod(name, 8)).await;
    }
    theatre.until("each has its claim", |theatre| theatre.all_claims().len() == names.len()).await;
    let gone = theatre.all_claims().remove(0);
    theatre.delete(gone["metadata"]["name"].as_str().unwrap()).await;
    for name in names {
        theatre.until("the pod runs", |theatre| theatre.runs(name)).await;
    }
    theatre.world.check(SignedDuration::ZERO).unwrap();
}

/// Somebody else may be sooner on a node that has come.
#[tokio::test(start_paused = true)]
async fn a_pod_whose_node_cannot_be_used_when_it_comes_gets_another_soon() {
    gets_another_soon(&[]).await;
    // One that cannot be served waits all the while, and holds nobody up.
    gets_another_soon(&[gpu_pod("too-large", 64)]).await;
}

async fn gets_another_soon(beside: &[Value]) {
    let mut theatre = Theatre::open().await;
    theatre.forward(1, DeliveryFaults::default());
    theatre.create_pool(Kind::Scaleway.pool("gpu")).await;
    for pod in beside {
        theatre.create_pod(pod.clone()).await;
    }
    theatre.create_pod(gpu_pod("train", 8)).await;
    let name = only_claim(&theatre).await["metadata"]["name"].as_str().unwrap().to_owned();
    theatre.until("its node is there", |theatre| !theatre.node_of(&name).is_empty()).await;
    let nodes: Api<Node> = Api::all(theatre.world.client("person"));
    nodes.cordon(&theatre.node_of(&name)).await.unwrap();
    theatre.until("the node is up", |theatre| theatre.is_ready(&name)).await;
    let up_at = theatre.world.clock.now();
    theatre.until("another node is made", |theatre| theatre.all_claims().len() == 2).await;
    let took = theatre.world.clock.now().duration_since(up_at);
    assert!(took <= SignedDuration::from_secs(20), "{took:#}");
    theatre.until("the pod runs", |theatre| theatre.runs("train")).await;
    stays_quiet(&theatre).await;
    assert_eq!(theatre.all_claims().len(), 2);
}

/// The event that stands for all pods may be of one that has found its node since.
#[tokio::test(start_paused = true)]
async fn a_pod_that_has_its_node_by_now_does_not_keep_others_waiting() {
    let theatre = Theatre::open().await;
    theatre.create_pool(Kind::Scaleway.pool("gpu")).await;
    theatre.make_node("elsewhere", json!({}), json!([])).await;
    let mut bound = gpu_pod("bound", 1);
    bound["spec"]["nodeName"] = "elsewhere".into();
    theatre.create_pod(bound).await;
    theatre.create_pod(gpu_pod("train", 1)).await;
    let is_told = |theatre: &Theatre| theatre.pod("train").unwrap()["status"]["conditions"].is_array();
    theatre.until("the scheduler has looked", is_told).await;
    let about = |name: &str| json!({"namespace": "default", "name": name, "uid": theatre.pod(name).unwrap()["metadata"]["uid"]});
    let (mut pod, mut waits) = (about("bound"), about("train"));
    pod["resourceVersion"] = "1".into();
    pod["requests"] = json!({"nvidia.com/gpu": "1"});
    waits["waits"] = true.into();
    let event = json!({
        "specversion": "1.0",
        "type": "dev.pilotlight.pod.pending.v1",
        "source": "world",
        "id": "1",
        "subject": "default/bound",
        "data": {
            "pod": pod,
            "snapshot": {"version": 2, "takenAt": theatre.world.clock.now().to_string(), "unbound": [waits]},
        },
    });
    let copy = Copy::start(&theatre.world, "pilotlight", &FUNCTIONS).unwrap();
    let answer = copy.call("on-pending-pod", &event.to_string()).await.unwrap();
    assert!(answer.reason().starts_with("pod default/train: NodeClaim gpu-"), "{answer:?}");
    assert_eq!(theatre.all_claims().len(), 1, "one for the pod that waits");
}

#[tokio::test(start_paused = true)]
async fn pools_that_make_no_nodes_say_why_and_stop_no_other() {
    let theatre = playing().await;
    let mut others = Kind::Aks.pool("others");
    others["spec"]["template"]["spec"]["nodeClassRef"] =
        json!({"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"});
    let mut fixed = Kind::Scaleway.pool("fixed");
    fixed["spec"]["replicas"] = json!(3);
    let mut nowhere = Kind::Aks.pool("nowhere");
    nowhere["spec"]["template"]["spec"]["nodeClassRef"]["name"] = json!("missing");
    for pool in [others, fixed, nowhere] {
        theatre.create_pool(pool).await;
    }
    theatre.create_pod(gpu_pod("train", 1)).await;
    theatre.until("the pod is told", |theatre| !theatre.said_of("train").is_empty()).await;
    let (_, text) = theatre.said_of("train").remove(0);
    for why in [
        "EC2NodeClass.karpenter.k8s.aws is not a node class of ours",
        "spec.replicas",
        "AKSNodeClass missing is not there",
    ] {
        assert!(text.contains(why), "{why}: {text}");
    }
    theatre.create_pool(Kind::Scaleway.pool("gpu")).await;
    theatre.until("the pod runs", |theatre| theatre.runs("train")).await;
}

#[tokio::test(start_paused = true)]
async fn where_there_is_no_pool_pods_with_gpus_wake_the_smallest_machine_that_holds_them() {
    for (gpus, machine) in [(1, "a"), (3, "b"), (8, "c")] {
        let theatre = playing_with_a_rack().await;
        theatre.create_pod(gpu_pod("train", gpus)).await;
        theatre.until("the pod runs", |theatre| theatre.runs("train")).await;
        stays_quiet(&theatre).await;
        assert_eq!(switched_on(&theatre), [(machine.to_owned(), 1)], "{gpus} GPUs");
        let claim = only_claim(&theatre).await;
        assert!(
            claim["metadata"]["ownerReferences"].is_null()
                && claim["metadata"]["name"].as_str().unwrap().starts_with("power-")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_rack_wakes_nothing_for_pods_without_gpus_or_too_large_for_it() {
    let theatre = playing_with_a_rack().await;
    let mut plain = gpu_pod("plain", 1);
    plain["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "1"}});
    theatre.create_pod(plain).await;
    theatre.create_pod(gpu_pod("huge", 16)).await;
    theatre.until("the pod is told", |theatre| !theatre.said_of("huge").is_empty()).await;
    stays_quiet(&theatre).await;
    assert_eq!(switched_on(&theatre), []);
    assert_eq!(theatre.said_of("plain"), []);
}

#[tokio::test(start_paused = true)]
async fn a_machine_is_not_woken_twice_for_pods_that_come_one_after_the_other() {
    let theatre = playing_with_a_rack().await;
    theatre.create_pod(gpu_pod("first", 4)).await;
    only_claim(&theatre).await;
    theatre.create_pod(gpu_pod("second", 4)).await;
    for pod in ["first", "second"] {
        theatre.until("the pod runs", |theatre| theatre.runs(pod)).await;
    }
    stays_quiet(&theatre).await;
    assert_eq!(switched_on(&theatre), [("b".to_owned(), 1), ("c".to_owned(), 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_somebody_else_switched_on_is_not_woken_and_one_that_somebody_switched_off_is() {
    for (ready, cordoned, woken) in [(true, false, "c"), (false, false, "b"), (false, true, "c")] {
        let theatre = playing_with_a_rack().await;
        theatre.make("v1", "Node", "nodes", None, full_node("b", ready, cordoned)).await;
        theatre.create_pod(gpu_pod("train", 4)).await;
        theatre.until("the pod runs", |theatre| theatre.runs("train")).await;
        assert_eq!(switched_on(&theatre), [(woken.to_owned(), 1)], "ready {ready}, cordoned {cordoned}");
    }
}

/// The Node of a machine that nobody claimed, with no GPU left on it.
fn full_node(name: &str, ready: bool, cordoned: bool) -> Value {
    let mut taints = vec![];
    if !ready {
        taints.push(json!({"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}));
    }
    if cordoned {
        taints.push(json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}));
    }
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "spec": {"taints": taints, "unschedulable": cordoned},
        "status": {
            "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": if ready { "True" } else { "Unknown" }}],
        },
    })
}
