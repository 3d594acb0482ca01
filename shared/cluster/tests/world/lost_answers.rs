//! What is said when no answer comes: a write may have been done, a read has not.

use crate::{
    claims::record,
    stage::{CLAIMS, Stage, key, object, pod_ref, stage},
};
use cluster::{ClusterError, Kind};
use jiff::SignedDuration;
use model::{ClaimChange, ClaimStatus, NodeChange, Note, Retry, Scope, Unavailable};
use serde_json::{Value, json};

/// Every write, one after the other; each is the first of its kind.
async fn writes(stage: &Stage) -> Vec<Result<(), ClusterError>> {
    let (cluster, claim) = (&stage.cluster, stage.has_claim("a").await);
    let read = stage.read(&claim).await;
    let node = stage.cluster.node(&object("n")).await.unwrap().unwrap();
    let now = stage.world.clock.now();
    let pod = pod_ref("p", "u");
    let change = ClaimChange { record: Some(record()), ..ClaimChange::default() };
    let label = [("ours".to_owned(), Some("1".to_owned()))].into();
    let node_change = NodeChange { labels: label, ..NodeChange::new(node.name.clone(), node.version.clone()) };
    let status = ClaimStatus { node: Some("n".into()), ..read.claim.status.clone() };
    let note = Note { warning: false, reason: "Launched", text: "t".into() };
    let line = Unavailable { scope: Scope::Provider { provider: "aks".into() }, until: now, reason: "x".into() };
    vec![
        cluster.change_claim(&claim, &read.claim.version, &read.claim.finalizers, &change).await.map(drop),
        cluster.write_status(&read, &read.claim.version, &status).await.map(drop),
        cluster.change_node(&node_change).await.map(drop),
        cluster.evict(&pod).await.map(drop),
        cluster.delete_pod(&pod, SignedDuration::ZERO).await.map(drop),
        cluster.delete_node(&node.name, &node.uid).await.map(drop),
        cluster.delete_claim(&claim).await.map(drop),
        cluster.note("on-nodeclaim", &claim, &note, now).await,
        cluster.remember(&[line], now).await,
    ]
}

async fn check_writes(fault: Value, done: bool) {
    let stage = stage().await;
    stage.has_node("n", &[]).await;
    for method in ["PATCH", "POST", "DELETE"] {
        let mut fault = fault.clone();
        fault["method"] = method.into();
        fault["times"] = 100.into();
        fault["done"] = done.into();
        stage.fault(fault);
    }
    for result in writes(&stage).await {
        let error = result.unwrap_err();
        assert!(matches!(error.kind, Kind::Uncertain { .. }), "{fault}: {error}");
        assert_eq!(error.retry(), Retry::ReadBack);
    }
    let changed = stage.find(&format!("{CLAIMS}/a")).await.unwrap()["metadata"]["deletionTimestamp"].is_string();
    assert_eq!(changed, done, "{fault}: whether it was done is not known from the answer");
    let writes = stage.asked().iter().filter(|one| one.method != "GET").count();
    assert_eq!(writes, 9, "{fault}: nothing is sent twice");
}

#[tokio::test(start_paused = true)]
async fn a_write_without_an_answer_is_uncertain_whether_it_was_done_or_not() {
    for done in [true, false] {
        check_writes(json!({ "fault": "timeOut" }), done).await;
        check_writes(json!({ "fault": "reset" }), done).await;
        check_writes(json!({ "fault": "answer", "status": 500 }), done).await;
        check_writes(json!({ "fault": "answer", "status": 503 }), done).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_without_an_answer_has_changed_nothing() {
    let stage = stage().await;
    for fault in [
        json!({ "fault": "timeOut", "done": true }),
        json!({ "fault": "reset", "done": true }),
        json!({ "fault": "answer", "status": 503 }),
    ] {
        let begun = stage.world.clock.now();
        stage.fault(fault.clone());
        let error = stage.cluster.claim(&object("a")).await.unwrap_err();
        assert!(matches!(error.kind, Kind::Unavailable { .. }), "{fault}: {error}");
        assert!(matches!(error.retry(), Retry::SameAfter(_)));
        assert!(stage.world.clock.now().duration_since(begun) <= SignedDuration::from_secs(21), "{fault}");
        stage.world.faults.clear();
    }
}

#[tokio::test(start_paused = true)]
async fn every_refusal_has_its_kind() {
    let stage = stage().await;
    let check = async |status: u16, expected: fn(&Kind) -> bool| {
        stage.fault(json!({ "method": "DELETE", "fault": "answer", "status": status }));
        let error = stage.cluster.delete_claim(&key("a", "u")).await.unwrap_err();
        assert!(expected(&error.kind), "{status}: {error}");
        assert!(error.to_string().starts_with("deleting NodeClaim a: "), "{error}");
        stage.world.faults.clear();
    };
    check(401, |kind| matches!(kind, Kind::NotAllowed { .. })).await;
    check(403, |kind| matches!(kind, Kind::NotAllowed { right, .. } if right == "`delete nodeclaims.karpenter.sh`"))
        .await;
    check(422, |kind| matches!(kind, Kind::Invalid { why } if why == "an injected fault")).await;
    check(429, |kind| *kind == Kind::TooMany { retry_after: None }).await;
}
