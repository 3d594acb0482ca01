//! The snapshot shows what the API server shows: a scene made from it and from what is read beside it is the same scene.

use checker::random;
use cluster::{
    Cluster,
    scene::{PoolSource, SceneSource, read_scene},
};
use model::{Event, Snapshot, SnapshotCarried, place::Scene as Placing};
use schema::{CloudEvent, Known};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};

use crate::scene::{Scene, gpu_pod};

/// Enough that every theme of random worlds comes several times.
const WORLDS: u64 = 40;
/// A world that changes just then is looked at again.
const LOOKS: usize = 20;

/// The newest snapshot that arrived.
fn newest(scene: &Scene) -> Option<Box<Snapshot>> {
    let told = scene.post.last("on-idle-timer")?;
    let event = CloudEvent::from_value(told.event).unwrap();
    let Known::Event(kind) = schema::known(&event.kind) else { panic!("{}", event.kind) };
    match schema::read(&event, kind).unwrap() {
        Event::IdleTick(tick) => match tick.snapshot {
            SnapshotCarried::Carried(snapshot) => Some(snapshot),
            SnapshotCarried::Missing(_) => None,
        },
        other => panic!("{other:?}"),
    }
}

/// The world as it is drawn, as far as its API server accepts it.
async fn build(scene: &Scene, world: &random::World) {
    let objects: Vec<Value> = serde_saphyr::from_multiple(&world.cluster).expect("documents");
    for mut object in objects {
        let metadata = object["metadata"].as_object_mut().expect("metadata");
        let deleting = metadata.remove("deletionTimestamp").is_some();
        if deleting {
            metadata.insert("finalizers".to_owned(), json!(["example.com/held"]));
        }
        for field in ["uid", "resourceVersion", "creationTimestamp", "ownerReferences"] {
            metadata.remove(field);
        }
        scene.add(object, deleting).await;
    }
    for (number, pod) in residents().into_iter().enumerate() {
        let mut pod = json!({ "apiVersion": "v1", "kind": "Pod", "spec": pod,
            "metadata": { "name": format!("resident-{number}"), "labels": { "app": format!("a{}", number % 2) } } });
        pod["spec"]["nodeName"] = json!(scene.a_node().await);
        let deleting = number == 0;
        if deleting {
            pod["metadata"]["finalizers"] = json!(["example.com/held"]);
        }
        scene.add(pod, deleting).await;
    }
}

/// Pods on a node with everything that placing others looks at.
fn residents() -> Vec<Value> {
    let asks = |what: Value| json!({ "name": "c", "image": "i", "resources": what });
    let plain = || asks(json!({ "requests": { "cpu": "10m" } }));
    let apart = json!([{ "topologyKey": "kubernetes.io/hostname", "namespaces": ["default", "team-a"], "matchLabelKeys": ["app"],
        "labelSelector": { "matchLabels": { "app": "x" }, "matchExpressions": [{ "key": "k", "operator": "NotIn", "values": ["v"] }] } },
        { "topologyKey": "topology.kubernetes.io/zone", "labelSelector": {}, "namespaceSelector": { "matchLabels": { "team": "a" } } }]);
    let ports = json!([{ "containerPort": 80, "hostPort": 8080, "protocol": "UDP" }, { "containerPort": 9000 }]);
    let volumes =
        json!([{ "name": "a", "persistentVolumeClaim": { "claimName": "data" } }, { "name": "b", "emptyDir": {} }]);
    let starts = json!([{ "name": "s", "image": "i", "restartPolicy": "Always", "resources": { "requests": { "cpu": "20m" } } },
        { "name": "i", "image": "i", "resources": { "requests": { "cpu": "50m", "memory": "1Mi" } } }]);
    let mut with_ports = plain();
    with_ports["ports"] = ports;
    vec![
        json!({ "containers": [plain()] }),
        json!({ "containers": [plain()] }),
        json!({ "containers": [asks(json!({ "limits": { "cpu": "30m", "memory": "2Mi" } })), plain_beside()] }),
        json!({ "containers": [plain()], "initContainers": starts }),
        json!({ "containers": [plain()], "affinity": { "podAntiAffinity":
            { "requiredDuringSchedulingIgnoredDuringExecution": apart } } }),
        json!({ "containers": [with_ports] }),
        json!({ "containers": [plain()], "volumes": volumes }),
    ]
}

fn plain_beside() -> Value {
    json!({ "name": "d", "image": "i" })
}

/// A scene in which nothing depends on the order in which things were listed, and pods on nodes have no names.
fn in_order(scene: Placing) -> BTreeMap<&'static str, Vec<String>> {
    let Placing { pods, nodes, bound, daemons, pools, namespaces, .. } = scene;
    let node = |at: usize| nodes.get(at).map(|node| node.name.to_string()).unwrap_or_default();
    let daemon = |at: usize| daemons.get(at).map(|daemon| format!("{}/{}", daemon.namespace, daemon.name));
    let bound = bound.into_iter().map(|mut pod| {
        let (on, of) = (node(pod.node), pod.daemon.and_then(daemon));
        (pod.name, pod.node, pod.daemon) = (model::ObjectName::new("pod").unwrap(), 0, None);
        format!("{on} {of:?} {pod:?}")
    });
    let mut all = BTreeMap::from([
        ("bound", bound.collect::<Vec<String>>()),
        ("pods", pods.iter().map(|pod| format!("{pod:?}")).collect()),
        ("nodes", nodes.iter().map(|node| format!("{node:?}")).collect()),
        ("daemons", daemons.iter().map(|daemon| format!("{daemon:?}")).collect()),
        ("pools", pools.iter().map(|pool| format!("{pool:?}")).collect()),
        ("namespaces", namespaces.iter().map(|one| format!("{one:?}")).collect()),
    ]);
    all.values_mut().for_each(|list| list.sort_unstable());
    all
}

/// From the API server alone, and beside the newest snapshot.
async fn both(scene: &Scene, cluster: &Cluster) -> Option<[BTreeMap<&'static str, Vec<String>>; 2]> {
    let claims = cluster.claims().await.unwrap();
    let (pools, _) = cluster.pools().await.unwrap();
    let pools: Vec<PoolSource> = pools
        .into_iter()
        .map(|pool| PoolSource { pool, catalogue: Err("nothing is sold".to_owned()), spot_taints: vec![] })
        .collect();
    let read = |source: SceneSource| {
        let now = scene.world.clock.now();
        in_order(read_scene(&SceneSource { claims: claims.clone(), pools: pools.clone(), now, ..source }).scene)
    };
    let mut whole = cluster.scene_source().await.unwrap();
    let mut beside = cluster.scene_source_beside(newest(scene)?, &claims).await.unwrap()?;
    // Whether anybody needs namespaces is asked of other pods here and there; what they are is not.
    beside.namespaces = std::mem::take(&mut whole.namespaces);
    whole.namespaces.clone_from(&beside.namespaces);
    Some([read(whole), read(beside)])
}

#[tokio::test(start_paused = true)]
async fn a_scene_made_beside_the_snapshot_is_the_one_that_the_api_server_shows() {
    let (mut pods, mut bound, mut daemons, mut seen) = (0, 0, 0, Vec::new());
    for seed in 0..WORLDS {
        let world = random::World::random(seed);
        let scene = Scene::open().await;
        build(&scene, &world).await;
        let _running = scene.forward("forwarder", |settings| settings.tick = Duration::from_secs(1));
        let cluster = Cluster::new(scene.world.client("function"), "default".to_owned());
        let mut found = None;
        for _ in 0..LOOKS {
            scene.pass(Duration::from_millis(1010)).await;
            found = both(&scene, &cluster).await;
            if found.as_ref().is_some_and(|[whole, beside]| whole == beside) {
                break;
            }
        }
        let [whole, beside] = found.expect("a snapshot came");
        for (part, expected) in &whole {
            assert_eq!(&beside[part], expected, "{part} of world {seed}, {:?}", world.themes);
        }
        pods += whole["pods"].len();
        bound += whole["bound"].len();
        seen.extend(whole["bound"].iter().cloned());
        daemons += whole["daemons"].len();
    }
    assert!(pods > 300 && bound > 300 && daemons > 10, "{pods} pods, {bound} bound, {daemons} DaemonSets");
    for part in ["anti_affinity: [PodTerm", "host_ports: [HostPort", "terminating: true"] {
        assert!(seen.iter().any(|pod| pod.contains(part)), "no pod on a node had {part}");
    }
}

#[tokio::test(start_paused = true)]
async fn pods_that_found_their_node_after_the_snapshot_was_taken_are_on_it() {
    let scene = Scene::open().await;
    scene.create("Pod", gpu_pod("train")).await;
    let _running = scene.forward("forwarder", |settings| settings.tick = Duration::from_secs(1));
    scene.until("a snapshot comes", |scene| newest(scene).is_some_and(|one| !one.unbound.is_empty())).await;
    let old = newest(&scene).unwrap();
    assert!(old.nodes.iter().all(|node| old.free(node).get("pods") > old.free(node).get("none")), "{:?}", old.nodes);
    let node = old.nodes.first().expect("the cluster has nodes").name.clone();
    scene.bind("train", node.as_str()).await;
    let cluster = Cluster::new(scene.world.client("function"), "default".to_owned());
    let claims = cluster.claims().await.unwrap();
    let beside = cluster.scene_source_beside(old, &claims).await.unwrap().unwrap();
    let read = read_scene(&SceneSource { claims, now: scene.world.clock.now(), ..beside });
    assert!(read.scene.pods.is_empty() && read.left_out.is_empty());
    let there = read.scene.bound.iter().find(|pod| pod.name.as_str() == "train").expect("it is there");
    assert_eq!(read.scene.nodes[there.node].name, node);
}

#[tokio::test(start_paused = true)]
async fn while_a_watch_is_broken_no_snapshot_is_sent() {
    let scene = Scene::open().await;
    let _running = scene.forward("forwarder", |settings| settings.tick = Duration::from_secs(1));
    scene.until("a snapshot comes", |scene| newest(scene).is_some()).await;
    scene.fault(r#"{"user":"forwarder","times":1000,"path":"/api/v1/pods","fault":"answer","status":503}"#);
    // The watch that runs is ended by its time-out, and no other begins.
    scene.pass(Duration::from_secs(400)).await;
    assert!(newest(&scene).is_none(), "what it shows would be old");
    scene.world.faults.clear();
    scene.until("a snapshot comes again", |scene| newest(scene).is_some()).await;
}
