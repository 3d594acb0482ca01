//! Writing a claim's status.

use crate::stage::{CLAIMS, stage};
use jiff::Timestamp;
use model::{ClaimStatus, Condition, ConditionKind, Truth};
use serde_json::{Value, json};

fn condition(kind: ConditionKind, status: Truth, since: &str) -> Condition {
    Condition { kind, status, reason: String::new(), message: "m".into(), since: since.parse::<Timestamp>().unwrap() }
}

fn launched() -> ClaimStatus {
    ClaimStatus {
        provider_id: Some("azure:///x".into()),
        node: None,
        image: None,
        capacity: [("cpu".to_owned(), "24".parse().unwrap()), ("gone-later".to_owned(), "1".parse().unwrap())].into(),
        allocatable: [].into(),
        conditions: vec![
            condition(ConditionKind::Launched, Truth::True, "2026-01-01T00:00:05.123456Z"),
            condition(ConditionKind::Ready, Truth::Unknown, "2026-01-01T00:00:05Z"),
        ],
        last_pod_event: None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_is_one_write_and_keeps_what_others_wrote() {
    let stage = stage().await;
    let key = stage.has_claim("a").await;
    let (before, read) = (stage.get(&format!("{CLAIMS}/a")).await, stage.read(&key).await);
    let asked = stage.asked_so_far();
    let version = stage.cluster.write_status(&read, &read.claim.version, &launched()).await.unwrap();
    assert_eq!(stage.asked_since(asked), ["PATCH a/status 200"]);

    let after = stage.get(&format!("{CLAIMS}/a")).await;
    assert_eq!(after["metadata"]["resourceVersion"], version.as_str());
    assert_eq!(after["spec"], before["spec"]);
    assert_eq!(
        (&after["metadata"]["finalizers"], &after["metadata"]["labels"]),
        (&before["metadata"]["finalizers"], &before["metadata"]["labels"])
    );
    let status = &after["status"];
    assert_eq!(
        (&status["mood"], &status["providerID"], &status["capacity"]["cpu"]),
        (&json!("good"), &json!("azure:///x"), &json!("24"))
    );
    let conditions = status["conditions"].as_array().unwrap();
    assert_eq!(conditions[0], before["status"]["conditions"][0], "Drifted is not ours");
    assert_eq!(
        conditions[1],
        json!({ "type": "Launched", "status": "True", "reason": "Launched", "message": "m",
        "lastTransitionTime": "2026-01-01T00:00:05Z", "observedGeneration": 1, "mood": "good" })
    );
    assert_eq!((conditions.len(), &conditions[2]["type"]), (3, &json!("Ready")));
}

#[tokio::test(start_paused = true)]
async fn the_same_status_again_is_no_write() {
    let stage = stage().await;
    let key = stage.has_claim("a").await;
    let read = stage.read(&key).await;
    stage.cluster.write_status(&read, &read.claim.version, &launched()).await.unwrap();
    let again = stage.read(&key).await;
    let asked = stage.asked_so_far();
    let version = stage.cluster.write_status(&again, &again.claim.version, &launched()).await.unwrap();
    assert_eq!((version, stage.asked_so_far()), (again.claim.version.clone(), asked));
    let as_it_stands = &again.claim.status;
    stage.cluster.write_status(&again, &again.claim.version, as_it_stands).await.unwrap();
    assert_eq!(stage.asked_so_far(), asked, "what was read is what stands there");
}

#[tokio::test(start_paused = true)]
async fn what_a_status_no_longer_says_is_removed() {
    let stage = stage().await;
    let key = stage.has_claim("a").await;
    let read = stage.read(&key).await;
    stage.cluster.write_status(&read, &read.claim.version, &launched()).await.unwrap();
    stage.patch(&format!("{CLAIMS}/a/status"), json!({ "status": { "capacity": { "cpu": "24000m" } } })).await;
    let read = stage.read(&key).await;
    let mut less = launched();
    less.provider_id = None;
    less.capacity.remove("gone-later");
    less.conditions.pop();
    stage.cluster.write_status(&read, &read.claim.version, &less).await.unwrap();
    let status = stage.get(&format!("{CLAIMS}/a")).await["status"].clone();
    assert_eq!((&status["providerID"], &status["capacity"]), (&Value::Null, &json!({ "cpu": "24000m" })));
    assert_eq!(status["conditions"].as_array().unwrap().len(), 2);
    assert_eq!(
        stage.read(&key).await.claim.status,
        ClaimStatus {
            conditions: vec![Condition {
                reason: "Launched".into(),
                since: "2026-01-01T00:00:05Z".parse().unwrap(),
                ..less.conditions[0].clone()
            }],
            ..less
        }
    );
}

#[tokio::test(start_paused = true)]
async fn a_status_decided_on_something_older_is_lost() {
    let stage = stage().await;
    let key = stage.has_claim("a").await;
    let read = stage.read(&key).await;
    stage.patch(&format!("{CLAIMS}/a"), json!({ "metadata": { "labels": { "quicker": "1" } } })).await;
    let before = stage.get(&format!("{CLAIMS}/a")).await;
    let error = stage.cluster.write_status(&read, &read.claim.version, &launched()).await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    assert_eq!(stage.get(&format!("{CLAIMS}/a")).await, before);
}

#[tokio::test(start_paused = true)]
async fn metadata_and_then_status_are_two_writes_on_one_reading() {
    let stage = stage().await;
    let key = stage.has_claim("a").await;
    let read = stage.read(&key).await;
    let change = model::ClaimChange { record: Some(crate::claims::record()), ..model::ClaimChange::default() };
    let version = stage.cluster.change_claim(&key, &read.claim.version, &read.claim.finalizers, &change).await.unwrap();
    stage.cluster.write_status(&read, &version, &launched()).await.unwrap();
    let after = stage.read(&key).await.claim;
    assert!(after.record().is_some() && after.is(ConditionKind::Launched));
}
