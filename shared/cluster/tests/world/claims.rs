//! Reading claims, changing their metadata, deleting them.

use crate::stage::{CLAIMS, claim, empty_stage, key, object, stage};
use cluster::{ClaimRead, Deleted, Kind};
use model::{
    Arch, CapacityType, ClaimChange, FinalizerChange, Launch, LaunchRecord, Offering, OfferingId, ResourceVersion,
    Stock, names,
};
use serde_json::json;
use std::collections::BTreeMap;

pub fn record() -> Box<LaunchRecord> {
    let id = OfferingId {
        provider: "aks".into(),
        instance_type: "x".into(),
        zone: None,
        capacity_type: CapacityType::OnDemand,
    };
    Box::new(LaunchRecord {
        epoch: 1,
        offering: Offering {
            id,
            gpu: None,
            capacity: model::Resources::new(),
            arch: Arch::Amd64,
            price: None,
            labels: BTreeMap::new(),
            stock: Stock::Unknown,
        },
        begun_at: "2026-01-01T00:00:00Z".parse().unwrap(),
        accepted_at: None,
        deadline: "2026-01-01T00:20:00Z".parse().unwrap(),
        progress: None,
        tried: Vec::new(),
        told_joined: false,
    })
}

fn everything() -> ClaimChange {
    ClaimChange {
        record: Some(record()),
        labels: BTreeMap::from([("ours".to_owned(), "1".to_owned())]),
        annotations: BTreeMap::from([("ours".to_owned(), Some("1".to_owned()))]),
        finalizer: FinalizerChange::Add,
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_cannot_be_read_does_not_hide_the_others() {
    let stage = stage().await;
    stage.has_claim("good").await;
    let mut bad = claim("bad");
    bad["spec"]["resources"]["requests"]["cpu"] = "much".into();
    stage.post(CLAIMS, bad).await;
    let read = stage.cluster.claims().await.unwrap();
    assert_eq!(read.len(), 2);
    for claim in &read {
        match claim {
            ClaimRead::Claim(read) => assert_eq!(read.claim.key.name.as_str(), "good"),
            ClaimRead::Malformed(bad) => {
                assert_eq!(claim.key().name.as_str(), "bad");
                assert!(bad.why.starts_with("spec.resources.requests.cpu: \"much\""), "{}", bad.why);
            }
        }
    }
    assert_eq!(stage.cluster.claim(&object("nobody")).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn where_claims_are_not_served_there_is_no_empty_list_but_an_error() {
    let stage = empty_stage().await;
    let error = stage.cluster.claims().await.unwrap_err();
    assert_eq!(
        (error.kind.clone(), error.to_string()),
        (Kind::NotFound, "listing NodeClaims: it is not there (any more)".into())
    );
}

#[tokio::test(start_paused = true)]
async fn a_change_is_one_write_and_leaves_alone_what_others_wrote() {
    let stage = stage().await;
    let key = stage.has_claim("a").await;
    let (before, read) = (stage.get(&format!("{CLAIMS}/a")).await, stage.read(&key).await.claim);
    let asked = stage.asked_so_far();
    let version = stage.cluster.change_claim(&key, &read.version, &read.finalizers, &everything()).await.unwrap();
    assert_eq!(stage.asked_since(asked), ["PATCH nodeclaims/a 200"]);

    let after = stage.get(&format!("{CLAIMS}/a")).await;
    assert_eq!(after["metadata"]["resourceVersion"], version.as_str());
    assert_eq!((&after["spec"], &after["status"]), (&before["spec"], &before["status"]));
    assert_eq!(after["metadata"]["finalizers"], json!([names::FINALIZER, "x.dev/theirs"]));
    assert_eq!(after["metadata"]["labels"], json!({ "theirs": "1", "ours": "1" }));
    assert_eq!(
        (&after["metadata"]["annotations"]["theirs"], &after["metadata"]["annotations"]["ours"]),
        (&json!("1"), &json!("1"))
    );
    let managers = after["metadata"]["managedFields"].as_array().unwrap();
    assert!(managers.iter().any(|one| one["manager"] == "pilotlight"), "{managers:?}");
    assert_eq!(stage.read(&key).await.claim.launch, Launch::Recorded(record()));
}

#[tokio::test(start_paused = true)]
async fn a_change_of_nothing_is_no_write() {
    let stage = stage().await;
    let key = stage.has_claim("a").await;
    let read = stage.read(&key).await.claim;
    let asked = stage.asked_so_far();
    for finalizer in [FinalizerChange::Keep, FinalizerChange::Remove] {
        let change = ClaimChange { finalizer, ..ClaimChange::default() };
        let version = stage.cluster.change_claim(&key, &read.version, &read.finalizers, &change).await.unwrap();
        assert_eq!(version, read.version);
    }
    assert_eq!(stage.asked_so_far(), asked);
}

#[tokio::test(start_paused = true)]
async fn whoever_read_something_older_loses() {
    let stage = stage().await;
    let key = stage.has_claim("a").await;
    let read = stage.read(&key).await.claim;
    stage.patch(&format!("{CLAIMS}/a"), json!({ "metadata": { "labels": { "quicker": "1" } } })).await;
    let before = stage.get(&format!("{CLAIMS}/a")).await;
    let error = stage.cluster.change_claim(&key, &read.version, &read.finalizers, &everything()).await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    assert!(error.to_string().starts_with("changing NodeClaim a: somebody else wrote first: "), "{error}");
    assert_eq!(stage.get(&format!("{CLAIMS}/a")).await, before);
}

#[tokio::test(start_paused = true)]
async fn another_claim_of_the_same_name_is_not_touched() {
    let stage = stage().await;
    let key = stage.has_claim("a").await;
    let first = stage.read(&key).await.claim;
    stage.delete(&format!("{CLAIMS}/a")).await;
    stage.patch(&format!("{CLAIMS}/a"), json!({ "metadata": { "finalizers": null } })).await;
    let second = stage.has_claim("a").await;
    let before = stage.get(&format!("{CLAIMS}/a")).await;

    let error = stage.cluster.change_claim(&key, &first.version, &first.finalizers, &everything()).await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    let version = ResourceVersion::new(before["metadata"]["resourceVersion"].as_str().unwrap()).unwrap();
    stage.cluster.change_claim(&key, &version, &first.finalizers, &everything()).await.unwrap_err();
    assert_eq!(stage.cluster.delete_claim(&key).await, Ok(Deleted::WasGone));
    assert_eq!(stage.get(&format!("{CLAIMS}/a")).await, before);
    assert_eq!(stage.cluster.delete_claim(&second).await, Ok(Deleted::Done));
}

#[tokio::test(start_paused = true)]
async fn the_last_finalizer_lets_a_deleted_claim_go() {
    let stage = stage().await;
    let key = stage.has_claim("a").await;
    let ours = json!({ "metadata": { "finalizers": [names::FINALIZER] } });
    stage.patch(&format!("{CLAIMS}/a"), ours).await;
    assert_eq!(stage.cluster.delete_claim(&key).await, Ok(Deleted::Done));
    assert_eq!(stage.cluster.delete_claim(&key).await, Ok(Deleted::Done), "asked twice, it is asked once");
    let read = stage.read(&key).await.claim;
    assert!(read.deleted_at.is_some());

    let change = ClaimChange { finalizer: FinalizerChange::Remove, ..ClaimChange::default() };
    stage.cluster.change_claim(&key, &read.version, &read.finalizers, &change).await.unwrap();
    assert_eq!(stage.cluster.claim(&key.name).await.unwrap(), None);
    let error = stage.cluster.change_claim(&key, &read.version, &read.finalizers, &change).await.unwrap_err();
    assert_eq!(error.kind, Kind::NotFound);
    assert_eq!(stage.cluster.delete_claim(&key).await, Ok(Deleted::WasGone));
}

#[tokio::test(start_paused = true)]
async fn a_record_that_somebody_else_wrote_is_unreadable_and_the_claim_is_read() {
    let stage = stage().await;
    let mut theirs = claim("a");
    theirs["metadata"]["annotations"][names::LAUNCH] = "yes please".into();
    let made = stage.post(CLAIMS, theirs).await;
    let key = key("a", made["metadata"]["uid"].as_str().unwrap());
    assert!(matches!(stage.read(&key).await.claim.launch, Launch::Unreadable { .. }));
}
