//! Pods on a Node: reading, evicting, deleting, and the volumes that hold it.

use crate::stage::{PODS, Stage, object, pod_ref, stage};
use cluster::{Deleted, Evicted};
use jiff::SignedDuration;
use model::PodKind;
use serde_json::{Value, json};

const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

async fn has_budget(stage: &Stage, name: &str, app: &str) {
    let spec = json!({ "minAvailable": 1, "selector": { "matchLabels": { "app": app } } });
    stage.post(BUDGETS, json!({ "metadata": { "name": name }, "spec": spec })).await;
    stage.passes(2).await;
}

async fn is_going(stage: &Stage, pod: &str) -> bool {
    match stage.find(&format!("{PODS}/{pod}")).await {
        Some(pod) => pod["metadata"]["deletionTimestamp"].is_string(),
        None => true,
    }
}

#[tokio::test(start_paused = true)]
async fn only_the_pods_of_the_node_are_read() {
    let stage = stage().await;
    stage.has_node("n1", &[]).await;
    stage.has_node("n2", &[]).await;
    stage.has_pod("here", "n1", json!({ "terminationGracePeriodSeconds": 7 })).await;
    stage.has_pod("there", "n2", json!({})).await;
    let pods = stage.cluster.pods_on(&object("n1")).await.unwrap();
    assert_eq!(pods.len(), 1);
    let pod = &pods[0];
    assert_eq!((pod.name.as_str(), pod.namespace.as_str(), pod.kind), ("here", "default", PodKind::Ordinary));
    assert_eq!(pod.grace, SignedDuration::from_secs(7));
    assert!(!pod.terminal && pod.started_at.is_some() && pod.deleted_at.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_evicted_by_its_uid_and_once() {
    let stage = stage().await;
    stage.has_node("n", &[]).await;
    let pod = stage.has_pod("p", "n", json!({})).await;
    let other = pod_ref("p", "another-one");
    assert_eq!(stage.cluster.evict(&other).await, Ok(Evicted::WasGone));
    assert!(!is_going(&stage, "p").await);
    assert_eq!(stage.cluster.evict(&pod).await, Ok(Evicted::Done));
    assert!(is_going(&stage, "p").await);
    assert_eq!(stage.cluster.evict(&pod).await, Ok(Evicted::Done), "it is still on its way");
    stage.passes(60).await;
    assert_eq!(stage.cluster.evict(&pod).await, Ok(Evicted::WasGone));
    let sent = &stage.asked()[0].request;
    assert_eq!(
        (&sent["apiVersion"], &sent["deleteOptions"]),
        (&json!("policy/v1"), &json!({ "preconditions": { "uid": "another-one" } }))
    );
}

#[tokio::test(start_paused = true)]
async fn a_budget_blocks_an_eviction_in_the_words_of_the_server() {
    let stage = stage().await;
    stage.has_node("n", &[]).await;
    let pod = stage.has_pod("p", "n", json!({})).await;
    has_budget(&stage, "b1", "p").await;
    let why = "The disruption budget b1 needs 1 healthy pods and has 1 currently".to_owned();
    assert_eq!(stage.cluster.evict(&pod).await, Ok(Evicted::Blocked { why }));
    has_budget(&stage, "b2", "p").await;
    let Ok(Evicted::Blocked { why }) = stage.cluster.evict(&pod).await else { panic!("two budgets let it go") };
    assert!(why.contains("more than one PodDisruptionBudget"), "{why}");
    assert!(!is_going(&stage, "p").await);
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_deleted_without_asking_and_never_without_grace() {
    let stage = stage().await;
    stage.has_node("n", &[]).await;
    let pod = stage.has_pod("p", "n", json!({})).await;
    has_budget(&stage, "b", "p").await;
    let other = pod_ref("p", "another-one");
    assert_eq!(stage.cluster.delete_pod(&other, SignedDuration::from_secs(5)).await, Ok(Deleted::WasGone));
    for (grace, seconds) in [(SignedDuration::from_millis(4500), 5), (SignedDuration::from_secs(-3), 1)] {
        assert_eq!(stage.cluster.delete_pod(&pod, grace).await, Ok(Deleted::Done));
        assert_eq!(stage.get(&format!("{PODS}/p")).await["metadata"]["deletionGracePeriodSeconds"], seconds);
    }
    stage.passes(60).await;
    assert_eq!(stage.cluster.delete_pod(&pod, SignedDuration::ZERO).await, Ok(Deleted::WasGone));
}

fn uses(claim: &str) -> Value {
    json!({ "volumes": [{ "name": "v", "persistentVolumeClaim": { "claimName": claim } }] })
}

#[tokio::test(start_paused = true)]
async fn a_volume_is_waited_for_unless_its_pod_stays() {
    let stage = stage().await;
    stage.has_node("n", &[]).await;
    assert!(stage.cluster.volumes_attached(&object("n")).await.unwrap().is_empty());
    assert_eq!(stage.asked_so_far(), 1, "without attachments, pods are not read");
    for name in ["leaving", "staying"] {
        let spec = json!({ "accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": format!("pv-{name}"),
            "resources": { "requests": { "storage": "1Gi" } } });
        let path = "/api/v1/namespaces/default/persistentvolumeclaims";
        stage.post(path, json!({ "metadata": { "name": name }, "spec": spec })).await;
        let spec =
            json!({ "attacher": "csi", "nodeName": "n", "source": { "persistentVolumeName": format!("pv-{name}") } });
        stage
            .post("/apis/storage.k8s.io/v1/volumeattachments", json!({ "metadata": { "name": name }, "spec": spec }))
            .await;
    }
    let elsewhere = json!({ "attacher": "csi", "nodeName": "n2", "source": { "persistentVolumeName": "pv-x" } });
    stage
        .post("/apis/storage.k8s.io/v1/volumeattachments", json!({ "metadata": { "name": "x" }, "spec": elsewhere }))
        .await;
    stage.has_pod("leaving", "n", uses("leaving")).await;
    stage.has_static_pod("staying", "n", uses("staying")).await;
    let volumes = stage.cluster.volumes_attached(&object("n")).await.unwrap();
    let seen: Vec<_> = volumes.iter().map(|volume| (volume.name.as_str(), volume.of_staying_pod)).collect();
    assert_eq!(seen, [("leaving", false), ("staying", true)]);
}

#[tokio::test(start_paused = true)]
async fn where_attachments_are_not_served_nothing_is_attached() {
    let stage = stage().await;
    stage.fault(json!({ "path": "volumeattachments", "fault": "answer", "status": 404 }));
    assert!(stage.cluster.volumes_attached(&object("n")).await.unwrap().is_empty());
}
