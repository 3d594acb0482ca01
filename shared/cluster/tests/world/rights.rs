//! The rights we say that we need are those that we use.

use crate::stage::{NAMESPACE, NODES, PODS, Stage, object, pod_ref, stage};
use cluster::{ClassServed, Deleted, Made, NodeSearch, PROVISIONING, Turn, rights};
use jiff::SignedDuration;
use model::{
    ClaimChange, ClaimStatus, ClaimToMake, ClassRef, FinalizerChange, Namespace, NodeChange, Note, PodNote, PodRef,
    Scope, Uid, Unavailable,
};
use serde_json::json;
use std::collections::BTreeSet;

/// Verb, group, resource with subresource, and where.
type Line = (String, String, String, String);

/// A pod that waits with a volume and a namespace selector, and a node that goes: then everything is looked at.
async fn uses_all_of_provisioning(stage: &Stage, pod: &PodRef) {
    let (cluster, now) = (&stage.cluster, stage.world.clock.now());
    let near = json!({ "topologyKey": "zone", "labelSelector": {}, "namespaceSelector": {} });
    let waits = json!({ "metadata": { "name": "waits" }, "spec": {
        "nodeSelector": { "nowhere": "at-all" },
        "affinity": { "podAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [near] } },
        "volumes": [{ "name": "v", "persistentVolumeClaim": { "claimName": "c" } }],
        "containers": [{ "name": "c", "image": "i" }] } });
    stage.post(PODS, waits).await;
    stage.has_node("going", &[]).await;
    stage.patch(&format!("{NODES}/going"), json!({ "metadata": { "finalizers": ["example.com/held"] } })).await;
    stage.delete(&format!("{NODES}/going")).await;
    cluster.pod(&pod.namespace, &pod.name).await.unwrap();
    cluster.pools().await.unwrap();
    let mut source = cluster.scene_source().await.unwrap();
    cluster.selecting(&mut source).await.unwrap();
    assert!(source.pods.len() > 1 && !source.nodes.is_empty() && !source.namespaces.is_empty());
    let Ok(Turn::Ours(turn)) = cluster.take_turn(PROVISIONING, "a", now).await else { panic!("nobody else is there") };
    let turn = cluster.keep_turn(turn, now).await.unwrap().unwrap();
    cluster.end_turn(turn).await.unwrap();
    let claim = ClaimToMake {
        name: object("made"),
        owner: None,
        labels: Default::default(),
        annotations: Default::default(),
        class: ClassRef { group: "kaito.sh".into(), kind: "KaitoNodeClass".into(), name: object("default") },
        requirements: vec![],
        requests: Default::default(),
        taints: vec![],
        startup_taints: vec![],
        expire_after: None,
        termination_grace_period: None,
    };
    assert_eq!(cluster.make_claim(&claim).await, Ok(Made::Now));
    assert_eq!(cluster.make_claim(&claim).await, Ok(Made::Before));
    let note = PodNote { pod: pod_ref("p", "u"), warning: false, again: true, reason: "A".into(), text: "a".into() };
    let note = PodNote { pod: PodRef { namespace: Namespace::new("elsewhere").unwrap(), ..note.pod }, ..note };
    stage.post("/api/v1/namespaces", json!({ "metadata": { "name": "elsewhere" } })).await;
    cluster.note_pod("on-pending-pod", &note, now).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn all_of_them_together_use_exactly_the_rights_in_the_list() {
    let stage = stage().await;
    let (cluster, now) = (&stage.cluster, stage.world.clock.now());
    stage.has_node("n", &[]).await;
    let key = stage.has_claim("a").await;
    let volume = json!({ "volumes": [{ "name": "v", "persistentVolumeClaim": { "claimName": "c" } }] });
    stage.has_static_pod("own", "n", volume).await;
    let pod = stage.has_pod("p", "n", json!({})).await;
    let attachment = json!({ "attacher": "csi", "nodeName": "n", "source": { "persistentVolumeName": "pv" } });
    stage
        .post("/apis/storage.k8s.io/v1/volumeattachments", json!({ "metadata": { "name": "v" }, "spec": attachment }))
        .await;

    cluster.claims().await.unwrap();
    let read = stage.read(&key).await;
    let names = vec!["n".to_owned()];
    let search = NodeSearch { claim: Uid::new("u").unwrap(), names, agent_pool: Some("x".into()), provider_id: None };
    cluster.nodes_of(&search).await.unwrap();
    cluster.pods_on(&object("n")).await.unwrap();
    cluster.volumes_attached(&object("n")).await.unwrap();
    cluster.pool_annotations(&object("gpu")).await.unwrap();
    cluster.note_on_pool(&object("gpu"), "pilotlight.dev/replacement-back-off", None).await.unwrap();
    cluster.whole_source().await.unwrap();
    uses_all_of_provisioning(&stage, &pod).await;
    cluster.secret(&object("s")).await.unwrap();
    cluster.karpenter_leads(now).await.unwrap();
    assert!(cluster.identity().await.unwrap().is_some());
    let class = ClassRef { group: "kaito.sh".into(), kind: "KaitoNodeClass".into(), name: object("default") };
    let served = ClassServed { version: "v1alpha1", plural: "kaitonodeclasses" };
    cluster.class_object(&class, served).await.unwrap();
    cluster.class_objects("kaito.sh", "KaitoNodeClass", served).await.unwrap();
    cluster.take_machine("rack-1", &key.claim, "n").await.unwrap();
    cluster.note_machine("rack-1", &key.claim, "on its way").await.unwrap();
    assert_eq!(cluster.machines_held().await.unwrap()["rack-1"].claim, key.claim);
    cluster.release_machine("rack-1", &key.claim, now).await.unwrap();
    let leases = cluster.leases_of_ours().await.unwrap();
    let machine = leases.iter().find(|lease| lease.name == "pilotlight-machine-rack-1").unwrap();
    assert_eq!(cluster.delete_lease(machine).await, Ok(Deleted::Done));
    cluster.pods_waiting().await.unwrap();
    cluster.node_power("n").await.unwrap();
    for (provider, until) in [("aks", now), ("scaleway", now)] {
        let scope = Scope::Provider { provider: provider.into() };
        cluster.remember(&[Unavailable { scope, until, reason: "x".into() }], now).await.unwrap();
    }
    cluster.stock().await.unwrap();
    let change = ClaimChange { finalizer: FinalizerChange::Add, ..ClaimChange::default() };
    let version = cluster.change_claim(&key, &read.claim.version, &read.claim.finalizers, &change).await.unwrap();
    cluster.write_status(&read, &version, &ClaimStatus::default()).await.unwrap();
    cluster.note("on-nodeclaim", &key, &Note { warning: false, reason: "A", text: "a".into() }, now).await.unwrap();
    let node = cluster.node(&object("n")).await.unwrap().unwrap();
    let change = NodeChange { finalizer: FinalizerChange::Add, ..NodeChange::new(node.name, node.version) };
    cluster.change_node(&change).await.unwrap();
    cluster.evict(&pod).await.unwrap();
    cluster.delete_pod(&pod_ref("p", "other"), SignedDuration::ZERO).await.unwrap();
    cluster.delete_node(&object("n"), &node.uid).await.unwrap();
    cluster.delete_claim(&key).await.unwrap();

    let used: BTreeSet<Line> = stage
        .asked()
        .into_iter()
        .filter_map(|exchange| exchange.audit)
        .map(|audit| {
            let subresource =
                if audit.subresource.is_empty() { String::new() } else { format!("/{}", audit.subresource) };
            let place = match audit.namespace.as_str() {
                NAMESPACE => "own namespace",
                "kube-system" => "kube-system",
                "default" if audit.group == "events.k8s.io" => "default",
                _ => "cluster",
            };
            (audit.verb.to_owned(), audit.group, format!("{}{subresource}", audit.resource), place.to_owned())
        })
        .collect();
    let line = |verb: &str, group: &str, resource: &str, place: rights::Place| -> Line {
        (verb.to_owned(), group.to_owned(), resource.to_owned(), place.as_str().to_owned())
    };
    let mut told: BTreeSet<Line> =
        rights::ALL.iter().map(|right| line(right.verb, right.group, right.resource, right.place)).collect();
    for verb in ["get", "list"] {
        told.insert(line(verb, "kaito.sh", "kaitonodeclasses", rights::Place::Cluster));
    }
    assert_eq!(used, told);
}
