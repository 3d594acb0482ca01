//! What is read of pools, classes, secrets, and of another Karpenter.

use crate::stage::{NAMESPACE, object, stage};
use cluster::ClassServed;
use jiff::SignedDuration;
use model::ClassRef;
use serde_json::json;

const KAITO: ClassServed<'_> = ClassServed { version: "v1alpha1", plural: "kaitonodeclasses" };

fn class(group: &str, name: &str) -> ClassRef {
    ClassRef { group: group.into(), kind: "KaitoNodeClass".into(), name: object(name) }
}

#[tokio::test(start_paused = true)]
async fn a_pool_shows_its_annotations() {
    let stage = stage().await;
    stage
        .post(
            "/apis/karpenter.sh/v1/nodepools",
            json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
        "metadata": { "name": "gpu", "annotations": { "pilotlight.dev/prefer": "listed" } }, "spec": {} }),
        )
        .await;
    let annotations = stage.cluster.pool_annotations(&object("gpu")).await.unwrap().unwrap();
    assert_eq!(annotations["pilotlight.dev/prefer"], "listed");
    assert_eq!(stage.cluster.pool_annotations(&object("nobody")).await, Ok(None));
}

#[tokio::test(start_paused = true)]
async fn a_class_is_its_spec_and_its_annotations_or_nothing() {
    let stage = stage().await;
    stage
        .post(
            "/apis/kaito.sh/v1alpha1/kaitonodeclasses",
            json!({ "apiVersion": "kaito.sh/v1alpha1", "kind": "KaitoNodeClass",
        "metadata": { "name": "default", "annotations": { "a": "b" } }, "spec": { "x": 1 } }),
        )
        .await;
    let found = stage.cluster.class_object(&class("kaito.sh", "default"), KAITO).await.unwrap();
    assert_eq!(found, Some(json!({ "metadata": { "annotations": { "a": "b" } }, "spec": { "x": 1 } })));
    assert_eq!(stage.cluster.class_object(&class("kaito.sh", "other"), KAITO).await, Ok(None));
    assert_eq!(stage.cluster.class_object(&class("nobody.serves", "default"), KAITO).await, Ok(None));
    let asked = stage.asked_so_far();
    assert_eq!(stage.cluster.class_object(&class("../../api/v1/x", "default"), KAITO).await, Ok(None));
    assert_eq!(stage.asked_so_far(), asked, "a group that is none is not asked for");
}

#[tokio::test(start_paused = true)]
async fn a_secret_is_read_in_our_own_namespace_only() {
    let stage = stage().await;
    for (namespace, value) in [(NAMESPACE, "aHVzaA=="), ("default", "bm8=")] {
        let path = format!("/api/v1/namespaces/{namespace}/secrets");
        stage.post(&path, json!({ "metadata": { "name": "s" }, "data": { "token": value } })).await;
    }
    let secret = stage.cluster.secret(&object("s")).await.unwrap().unwrap();
    assert_eq!(secret["token"], b"hush");
    assert_eq!(stage.cluster.secret(&object("nobody")).await, Ok(None));
}

#[tokio::test(start_paused = true)]
async fn karpenter_leads_while_somebody_renews_its_lease() {
    let stage = stage().await;
    let now = stage.world.clock.now();
    assert_eq!(stage.cluster.karpenter_leads(now).await, Ok(false));
    let path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    let renewed = format!("{:.6}", now);
    stage
        .post(
            path,
            json!({ "metadata": { "name": "karpenter-leader-election" },
        "spec": { "holderIdentity": "karpenter-0", "leaseDurationSeconds": 15, "renewTime": renewed } }),
        )
        .await;
    assert_eq!(stage.cluster.karpenter_leads(now + SignedDuration::from_secs(10)).await, Ok(true));
    assert_eq!(stage.cluster.karpenter_leads(now + SignedDuration::from_secs(16)).await, Ok(false));
    stage.patch(&format!("{path}/karpenter-leader-election"), json!({ "spec": { "holderIdentity": null } })).await;
    assert_eq!(stage.cluster.karpenter_leads(now).await, Ok(false), "a Lease that was given up is nobody's");
}
