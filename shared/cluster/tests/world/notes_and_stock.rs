//! Events for people, and what everybody remembers about stock.

use crate::stage::{NAMESPACE, Stage, stage};
use jiff::{SignedDuration, Timestamp};
use model::{CapacityType, Note, OfferingId, Scope, Unavailable};
use serde_json::{Value, json};

const EVENTS: &str = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.kind%3DNodeClaim";

fn note(text: &str) -> Note {
    Note { warning: true, reason: "LaunchFailed", text: text.to_owned() }
}

async fn events(stage: &Stage) -> Vec<Value> {
    stage.get(EVENTS).await["items"].as_array().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn a_note_said_again_is_the_same_event() {
    let stage = stage().await;
    let key = stage.has_claim("a").await;
    let now = stage.world.clock.now();
    for _ in 0..3 {
        stage.cluster.note("on-nodeclaim", &key, &note("no stock"), now).await.unwrap();
        stage.passes(1).await;
    }
    let found = events(&stage).await;
    assert_eq!(found.len(), 1);
    let event = &found[0];
    assert_eq!(
        (&event["type"], &event["reason"], &event["message"]),
        (&json!("Warning"), &json!("LaunchFailed"), &json!("no stock"))
    );
    assert_eq!(
        event["involvedObject"],
        json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "name": "a", "uid": key.claim.as_str() })
    );
    assert_eq!(
        (&event["reportingComponent"], &event["metadata"]["namespace"]),
        (&json!("pilotlight.dev/on-nodeclaim"), &json!("default"))
    );
    assert_eq!(stage.asked_since(0).iter().filter(|line| line.ends_with("409")).count(), 2);
    stage.cluster.note("on-nodeclaim", &key, &note("no quota"), now).await.unwrap();
    stage.cluster.note("on-nodeclaim", &key, &Note { text: "ö".repeat(900), ..note("") }, now).await.unwrap();
    assert_eq!(events(&stage).await.len(), 3);
}

fn line(instance_type: &str, until: Timestamp) -> Unavailable {
    let scope = Scope::Offering(OfferingId {
        provider: "aks".into(),
        instance_type: instance_type.into(),
        zone: Some("west europe/1".into()),
        capacity_type: CapacityType::Spot,
    });
    Unavailable { scope, until, reason: "InsufficientCapacity".into() }
}

async fn remembered(stage: &Stage) -> Vec<Unavailable> {
    stage.cluster.stock().await.unwrap().lines
}

fn after(now: Timestamp, seconds: i64) -> Timestamp {
    now + SignedDuration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn every_scope_is_remembered_and_read_back() {
    let stage = stage().await;
    let now = stage.world.clock.now();
    assert!(remembered(&stage).await.is_empty(), "nobody has written yet");
    let provider = || "aks".to_owned();
    let scopes = [
        line("x", now).scope,
        Scope::InstanceType { provider: provider(), instance_type: "x".into() },
        Scope::Family { provider: provider(), family: "NCads A100".into() },
        Scope::Provider { provider: provider() },
    ];
    let lines = scopes.map(|scope| Unavailable { scope, ..line("", after(now, 60)) });
    stage.cluster.remember(&lines, now).await.unwrap();
    let mut read = remembered(&stage).await;
    read.sort_by(|one, other| one.scope.cmp(&other.scope));
    assert_eq!(read, lines);
    let map = stage.get(&format!("/api/v1/namespaces/{NAMESPACE}/configmaps/pilotlight-stock")).await;
    assert!(map["data"].as_object().unwrap().keys().any(|key| key.starts_with("aks_x_west_europe_1_spot.")), "{map}");
}

#[tokio::test(start_paused = true)]
async fn the_longer_time_stands_and_what_is_over_goes_with_the_next_write() {
    let stage = stage().await;
    let now = stage.world.clock.now();
    stage.cluster.remember(&[line("a", after(now, 60)), line("b", after(now, 600))], now).await.unwrap();
    let asked = stage.asked_so_far();
    stage.cluster.remember(&[line("a", after(now, 30)), line("b", after(now, 600))], now).await.unwrap();
    assert_eq!(stage.asked_since(asked), ["GET configmaps/pilotlight-stock 200"], "nothing new, nothing written");
    stage.cluster.remember(&[line("c", after(now, 900)), line("c", after(now, 800))], after(now, 61)).await.unwrap();
    let mut read = remembered(&stage).await;
    read.sort_by_key(|line| line.until);
    assert_eq!(read, [line("b", after(now, 600)), line("c", after(now, 900))]);
    let asked = stage.asked_so_far();
    stage.cluster.remember(&[], now).await.unwrap();
    assert_eq!(stage.asked_so_far(), asked);
}

#[tokio::test(start_paused = true)]
async fn what_somebody_else_wrote_there_stays_and_says_nothing() {
    let stage = stage().await;
    let now = stage.world.clock.now();
    let path = format!("/api/v1/namespaces/{NAMESPACE}/configmaps");
    stage.post(&path, json!({ "metadata": { "name": "pilotlight-stock", "labels": { "a": "b" } },
        "data": { "note": "hands off", "later": "{\"scope\":\"galaxy\",\"until\":\"2020-01-01T00:00:00Z\",\"reason\":\"x\"}" } })).await;
    stage.cluster.remember(&[line("a", after(now, 60))], now).await.unwrap();
    assert_eq!(remembered(&stage).await, [line("a", after(now, 60))]);
    let map = stage.get(&format!("{path}/pilotlight-stock")).await;
    assert_eq!((map["data"].as_object().unwrap().len(), &map["metadata"]["labels"]["a"]), (3, &json!("b")));
}

#[tokio::test(start_paused = true)]
async fn a_write_that_was_overtaken_is_made_again_on_what_stands_now() {
    let stage = stage().await;
    let now = stage.world.clock.now();
    stage.fault(json!({ "method": "POST", "path": "configmaps", "fault": "answer", "status": 409 }));
    stage.cluster.remember(&[line("a", after(now, 60))], now).await.unwrap();
    stage.fault(json!({ "method": "PATCH", "path": "configmaps", "times": 2, "fault": "answer", "status": 409 }));
    let asked = stage.asked_so_far();
    stage.cluster.remember(&[line("b", after(now, 60))], now).await.unwrap();
    assert_eq!(stage.asked_since(asked).iter().filter(|line| line.starts_with("PATCH")).count(), 3);
    assert_eq!(remembered(&stage).await.len(), 2);
    let last = stage.asked().into_iter().rev().find(|one| one.method == "PATCH").unwrap();
    assert_eq!(last.request["metadata"], Value::Null, "the last one does not insist");
}
