//! The verbs of the API server, request by request: codes, reasons, messages, and what is stored.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use bytes::Bytes;
use common::{ask, raw};
use serde_json::{Value, json};
use world::{World, WorldOptions};

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn world() -> World {
    let world = World::start(WorldOptions::default());
    // The controllers make the namespaces; let them.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    world
}

async fn made(world: &World, path: &str, body: Value) -> Value {
    let (status, value) = ask(world, "POST", path, JSON, body).await;
    assert_eq!(status, 201, "{value}");
    value
}

#[tokio::test(start_paused = true)]
async fn a_new_object_gets_its_identity_and_a_taken_name_is_a_conflict() {
    let world = world().await;
    let map = made(&world, MAPS, json!({ "metadata": { "name": "a" }, "data": { "k": "v" } })).await;
    let metadata = &map["metadata"];
    assert_eq!((map["kind"].as_str(), map["apiVersion"].as_str()), (Some("ConfigMap"), Some("v1")));
    assert!(metadata["uid"].is_string() && metadata["resourceVersion"].is_string());
    assert!(metadata["creationTimestamp"].as_str().unwrap().starts_with("2026-01-01T00:00:"));
    assert_eq!(metadata["managedFields"][0]["manager"], "tester");
    let (status, again) = ask(&world, "POST", MAPS, JSON, json!({ "metadata": { "name": "a" } })).await;
    assert_eq!((status, &again["reason"]), (409, &json!("AlreadyExists")));
    assert_eq!(again["message"], "configmaps \"a\" already exists");
    let generated = made(&world, MAPS, json!({ "metadata": { "generateName": "b-" } })).await;
    assert!(generated["metadata"]["name"].as_str().unwrap().starts_with("b-"));
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_is_said_as_a_real_server_says_it() {
    let world = world().await;
    let cases = [
        ("GET", "/api/v1/namespaces/default/pods/x", 404, "pods \"x\" not found"),
        ("GET", "/apis/apps/v1/namespaces/default/deployments/x", 404, "deployments.apps \"x\" not found"),
        ("DELETE", "/api/v1/nodes/x", 404, "nodes \"x\" not found"),
    ];
    for (method, path, code, message) in cases {
        let (status, value) = ask(&world, method, path, JSON, Value::Null).await;
        assert_eq!((status, &value["message"]), (code, &json!(message)), "{path}");
        assert_eq!((&value["kind"], &value["status"]), (&json!("Status"), &json!("Failure")));
    }
    let (status, value) =
        ask(&world, "POST", "/api/v1/namespaces/gone/configmaps", JSON, json!({ "metadata": { "name": "a" } })).await;
    assert_eq!((status, &value["message"]), (404, &json!("namespaces \"gone\" not found")));
}

#[tokio::test(start_paused = true)]
async fn a_stale_write_loses_and_an_unchanged_one_is_no_write() {
    let world = world().await;
    let first = made(&world, MAPS, json!({ "metadata": { "name": "a" }, "data": { "k": "1" } })).await;
    let path = format!("{MAPS}/a");
    let mut second = first.clone();
    second["data"]["k"] = "2".into();
    let (status, second) = ask(&world, "PUT", &path, JSON, second).await;
    assert_eq!(status, 200, "{second}");
    let (status, lost) = ask(&world, "PUT", &path, JSON, first).await;
    assert_eq!((status, &lost["reason"]), (409, &json!("Conflict")));
    assert!(
        lost["message"]
            .as_str()
            .unwrap()
            .starts_with("Operation cannot be fulfilled on configmaps \"a\": the object has been modified")
    );
    let (_, same) = ask(&world, "PUT", &path, JSON, second.clone()).await;
    assert_eq!(same["metadata"]["resourceVersion"], second["metadata"]["resourceVersion"]);
}

#[tokio::test(start_paused = true)]
async fn finalizers_hold_an_object_until_the_last_is_gone() {
    let world = world().await;
    let path = format!("{MAPS}/a");
    made(&world, MAPS, json!({ "metadata": { "name": "a", "finalizers": ["x.dev/one"] } })).await;
    let (status, going) = ask(&world, "DELETE", &path, JSON, Value::Null).await;
    assert_eq!(status, 200);
    assert!(going["metadata"]["deletionTimestamp"].is_string());
    let (status, _) = ask(&world, "PATCH", &path, MERGE, json!({ "metadata": { "finalizers": null } })).await;
    assert_eq!(status, 200);
    assert_eq!(ask(&world, "GET", &path, JSON, Value::Null).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn deletion_has_preconditions_and_a_dry_run() {
    let world = world().await;
    let path = format!("{MAPS}/a");
    made(&world, MAPS, json!({ "metadata": { "name": "a" } })).await;
    let (status, refused) = ask(&world, "DELETE", &path, JSON, json!({ "preconditions": { "uid": "other" } })).await;
    assert_eq!((status, &refused["reason"]), (409, &json!("Conflict")));
    assert_eq!(ask(&world, "DELETE", &format!("{path}?dryRun=All"), JSON, Value::Null).await.0, 200);
    assert_eq!(ask(&world, "GET", &path, JSON, Value::Null).await.0, 200);
    let (status, done) = ask(&world, "DELETE", &path, JSON, Value::Null).await;
    assert_eq!((status, &done["status"], &done["details"]["kind"]), (200, &json!("Success"), &json!("configmaps")));
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_patch_is_understood() {
    let world = world().await;
    let path = format!("{MAPS}/a");
    made(&world, MAPS, json!({ "metadata": { "name": "a" }, "data": { "k": "1" } })).await;
    let patches = [
        (MERGE, json!({ "data": { "k": "2" } })),
        ("application/json-patch+json", json!([{ "op": "replace", "path": "/data/k", "value": "3" }])),
        ("application/strategic-merge-patch+json", json!({ "data": { "k": "4" } })),
    ];
    for (index, (content_type, patch)) in patches.into_iter().enumerate() {
        let (status, value) = ask(&world, "PATCH", &path, content_type, patch).await;
        assert_eq!((status, &value["data"]["k"]), (200, &json!((index + 2).to_string())), "{content_type}");
    }
    let apply = "application/apply-patch+yaml";
    let config = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "k": "5" } });
    let (status, value) = ask(&world, "PATCH", &format!("{path}?fieldManager=m"), apply, config.clone()).await;
    assert_eq!((status, &value["reason"]), (409, &json!("Conflict")));
    assert!(value["message"].as_str().unwrap().contains("conflict with \"tester\" using v1: .data.k"), "{value}");
    let (status, value) =
        ask(&world, "PATCH", &format!("{path}?fieldManager=m&force=true"), apply, config.clone()).await;
    assert_eq!((status, &value["data"]["k"]), (200, &json!("5")));
    let (_, again) = ask(&world, "PATCH", &format!("{path}?fieldManager=m"), apply, config).await;
    assert_eq!(
        again["metadata"]["resourceVersion"], value["metadata"]["resourceVersion"],
        "applied again, nothing changes"
    );
    assert_eq!(ask(&world, "PATCH", &path, "text/plain", json!({})).await.0, 415);
}

#[tokio::test(start_paused = true)]
async fn bad_requests_get_the_answer_of_a_real_server() {
    let world = world().await;
    let (status, value) = raw(&world, "POST", MAPS, JSON, Bytes::from("{\"metadata\": ")).await;
    assert_eq!((status, &value["reason"]), (400, &json!("BadRequest")));
    let strict = format!("{MAPS}?fieldValidation=Strict");
    let (status, value) = ask(&world, "POST", &strict, JSON, json!({ "metadata": { "name": "a" }, "dada": {} })).await;
    assert_eq!(status, 400);
    assert!(value["message"].as_str().unwrap().contains("strict decoding error: unknown field \"dada\""), "{value}");
    let (status, value) = ask(&world, "POST", MAPS, JSON, json!({ "metadata": { "name": "Not_A_Name" } })).await;
    assert_eq!((status, &value["reason"]), (422, &json!("Invalid")));
    let (status, value) = ask(&world, "GET", &format!("{MAPS}?labelSelector=a%20b"), JSON, Value::Null).await;
    assert_eq!((status, &value["reason"]), (400, &json!("BadRequest")));
    let large = json!({ "metadata": { "name": "a" }, "data": { "k": "x".repeat(4 * 1024 * 1024) } });
    assert_eq!(ask(&world, "POST", MAPS, JSON, large).await.0, 413);
    let (status, value) = ask(
        &world,
        "POST",
        "/api/v1/namespaces/default/pods",
        JSON,
        json!({ "metadata": { "name": "p" }, "spec": {} }),
    )
    .await;
    assert_eq!((status, &value["message"]), (422, &json!("Pod \"p\" is invalid: spec.containers: Required value")));
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_shows_and_stores_nothing() {
    let world = world().await;
    let (status, shown) =
        ask(&world, "POST", &format!("{MAPS}?dryRun=All"), JSON, json!({ "metadata": { "name": "a" } })).await;
    assert_eq!((status, &shown["metadata"]["name"]), (201, &json!("a")));
    assert_eq!(ask(&world, "GET", &format!("{MAPS}/a"), JSON, Value::Null).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn an_event_has_two_shapes_and_one_life() {
    let world = world().await;
    let event = json!({ "metadata": { "name": "e" }, "regarding": { "kind": "Pod", "name": "p", "namespace": "default" },
        "note": "it happened", "reason": "Happened", "type": "Normal", "action": "Do", "reportingController": "me",
        "reportingInstance": "me-1", "eventTime": "2026-01-01T00:00:00.000000Z" });
    made(&world, "/apis/events.k8s.io/v1/namespaces/default/events", event).await;
    let (status, core) = ask(&world, "GET", "/api/v1/namespaces/default/events/e", JSON, Value::Null).await;
    assert_eq!((status, &core["message"]), (200, &json!("it happened")));
    assert_eq!(core["involvedObject"]["name"], "p");
    let found = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dp";
    assert_eq!(ask(&world, "GET", found, JSON, Value::Null).await.1["items"].as_array().unwrap().len(), 1);
}
