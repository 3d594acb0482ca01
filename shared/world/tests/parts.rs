//! Watches, subresources and the rarer forms, request by request.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use bytes::Bytes;
use common::{ask, machine, raw};
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use std::time::Duration;
use world::{World, WorldOptions};

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";

async fn made(world: &World, path: &str, body: Value) -> Value {
    let (status, value) = ask(world, "POST", path, JSON, body).await;
    assert_eq!(status, 201, "{value}");
    value
}

fn pod(name: &str) -> Value {
    json!({ "metadata": { "name": name, "labels": { "app": "a" }, "annotations": { "world.pilotlight.dev/log": "hello" } },
        "spec": { "containers": [{ "name": "c", "image": "i" }] } })
}

/// The lines of a watch that ends by itself.
async fn watched(world: &World, query: &str) -> Vec<Value> {
    let request = Request::builder().uri(format!("{MAPS}?watch=true&{query}")).body(Bytes::new()).unwrap();
    let body = world.kubernetes().call(request).await.unwrap().into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_watch_sends_what_is_there_marks_its_end_and_goes_on_with_bookmarks() {
    let world = World::start(WorldOptions::default());
    made(&world, MAPS, json!({ "metadata": { "name": "a" } })).await;
    let initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=70";
    let events = watched(&world, &format!("{initial}&fieldSelector=metadata.name%3Da")).await;
    assert_eq!(kinds(&events), ["ADDED", "BOOKMARK", "BOOKMARK"]);
    let annotation = |event: &Value| event["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"].clone();
    assert_eq!((annotation(&events[1]), annotation(&events[2])), (json!("true"), Value::Null));
}

#[tokio::test(start_paused = true)]
async fn leaving_a_selector_is_a_deletion_and_entering_it_an_addition() {
    let world = World::start(WorldOptions::default());
    made(&world, MAPS, json!({ "metadata": { "name": "a", "labels": { "in": "yes" } } })).await;
    let watching = world.clone();
    let events = tokio::spawn(async move { watched(&watching, "labelSelector=in%3Dyes&timeoutSeconds=30").await });
    for value in ["no", "no", "yes"] {
        world.clock.sleep(Duration::from_secs(2)).await;
        let change = json!({ "metadata": { "labels": { "in": value } }, "data": { "n": value } });
        assert_eq!(ask(&world, "PATCH", &format!("{MAPS}/a"), MERGE, change).await.0, 200);
    }
    assert_eq!(kinds(&events.await.unwrap()), ["ADDED", "DELETED", "ADDED"]);
}

#[tokio::test(start_paused = true)]
async fn a_collection_is_deleted_as_far_as_the_selector_goes() {
    let world = World::start(WorldOptions::default());
    for (name, label) in [("a", "x"), ("b", "x"), ("c", "y")] {
        made(&world, MAPS, json!({ "metadata": { "name": name, "labels": { "l": label } } })).await;
    }
    let (status, gone) = ask(&world, "DELETE", &format!("{MAPS}?labelSelector=l%3Dx"), JSON, Value::Null).await;
    assert_eq!((status, gone["items"].as_array().unwrap().len()), (200, 2));
    assert_eq!(ask(&world, "GET", &format!("{MAPS}/a"), JSON, Value::Null).await.0, 404);
    assert_eq!(ask(&world, "GET", &format!("{MAPS}/c"), JSON, Value::Null).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_bound_once_and_says_its_log_once_it_runs() {
    let world = World::start(WorldOptions::default());
    let mut waiting = pod("p");
    waiting["spec"]["schedulerName"] = "nobody".into();
    made(&world, PODS, waiting).await;
    world.fleet().join(machine("n"));
    world.clock.sleep(Duration::from_secs(60)).await;
    assert_eq!(ask(&world, "GET", &format!("{PODS}/p/log"), JSON, Value::Null).await.0, 400, "not started");
    let binding =
        json!({ "apiVersion": "v1", "kind": "Binding", "metadata": { "name": "p" }, "target": { "name": "n" } });
    let path = format!("{PODS}/p/binding");
    assert_eq!(ask(&world, "POST", &path, JSON, binding.clone()).await.0, 201);
    let (status, again) = ask(&world, "POST", &path, JSON, binding).await;
    assert_eq!(status, 409);
    assert!(again["message"].as_str().unwrap().ends_with("pod p is already assigned to node \"n\""), "{again}");
    world.clock.sleep(Duration::from_secs(60)).await;
    assert_eq!(ask(&world, "GET", &format!("{PODS}/p/log"), JSON, Value::Null).await, (200, json!("hello")));
}

#[tokio::test(start_paused = true)]
async fn an_eviction_asks_the_budget() {
    let world = World::start(WorldOptions::default());
    world.fleet().join(machine("n"));
    made(&world, PODS, pod("p")).await;
    let budget = json!({ "metadata": { "name": "b" }, "spec": { "minAvailable": 1, "selector": { "matchLabels": { "app": "a" } } } });
    made(&world, "/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget).await;
    world.clock.sleep(Duration::from_secs(60)).await;
    let eviction = json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": "p" } });
    let path = format!("{PODS}/p/eviction");
    let (status, refused) = ask(&world, "POST", &path, JSON, eviction.clone()).await;
    assert_eq!((status, &refused["reason"]), (429, &json!("TooManyRequests")));
    assert_eq!(refused["message"], "Cannot evict pod as it would violate the pod's disruption budget.");
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b";
    assert_eq!(ask(&world, "DELETE", budgets, JSON, Value::Null).await.0, 200);
    assert_eq!(ask(&world, "POST", &path, JSON, eviction).await.0, 201);
    let going = ask(&world, "GET", &format!("{PODS}/p"), JSON, Value::Null).await.1;
    assert!(going["metadata"]["deletionTimestamp"].is_string());
    let target = going["status"]["conditions"].as_array().unwrap().iter().any(|one| one["type"] == "DisruptionTarget");
    assert!(target, "{going}");
}

#[tokio::test(start_paused = true)]
async fn a_namespace_goes_when_its_finalizer_is_taken_off() {
    let world = World::start(WorldOptions::default());
    let namespace = json!({ "metadata": { "name": "x", "finalizers": ["example.dev/hold"] } });
    let mut made = made(&world, "/api/v1/namespaces", namespace).await;
    ask(&world, "DELETE", "/api/v1/namespaces/x", JSON, Value::Null).await;
    made["spec"]["finalizers"] = json!([]);
    assert_eq!(ask(&world, "PUT", "/api/v1/namespaces/x/finalize", JSON, made).await.0, 200);
    let left = ask(&world, "GET", "/api/v1/namespaces/x", JSON, Value::Null).await.1;
    assert_eq!((&left["status"]["phase"], &left["spec"]["finalizers"]), (&json!("Terminating"), &Value::Null));
    ask(&world, "PATCH", "/api/v1/namespaces/x", MERGE, json!({ "metadata": { "finalizers": null } })).await;
    assert_eq!(ask(&world, "GET", "/api/v1/namespaces/x", JSON, Value::Null).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn yaml_is_read_and_metadata_alone_can_be_had() {
    let world = World::start(WorldOptions::default());
    let yaml = Bytes::from("metadata: {name: from-yaml}\ndata: {k: v}\n");
    assert_eq!(raw(&world, "POST", MAPS, "application/yaml", yaml).await.0, 201);
    let accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    let request =
        Request::builder().uri(format!("{MAPS}/from-yaml")).header("accept", accept).body(Bytes::new()).unwrap();
    let body = world.kubernetes().call(request).await.unwrap().into_body().collect().await.unwrap().to_bytes();
    let partial: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        (&partial["kind"], &partial["metadata"]["name"]),
        (&json!("PartialObjectMetadata"), &json!("from-yaml"))
    );
    assert!(partial.get("data").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_generation_counts_what_is_asked_for_and_nothing_else() {
    let world = World::start(WorldOptions::default());
    let template =
        json!({ "metadata": { "labels": { "app": "d" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let deployment = json!({ "metadata": { "name": "d" }, "spec": { "replicas": 0, "selector": { "matchLabels": { "app": "d" } }, "template": template } });
    let path = "/apis/apps/v1/namespaces/default/deployments";
    assert_eq!(made(&world, path, deployment).await["metadata"]["generation"], 1);
    let one = format!("{path}/d");
    let (_, labelled) = ask(&world, "PATCH", &one, MERGE, json!({ "metadata": { "labels": { "a": "b" } } })).await;
    assert_eq!(labelled["metadata"]["generation"], 1);
    let (_, scaled) = ask(&world, "PATCH", &one, MERGE, json!({ "spec": { "replicas": 1 } })).await;
    assert_eq!(scaled["metadata"]["generation"], 2);
}
