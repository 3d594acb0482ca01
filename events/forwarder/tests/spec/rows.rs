//! What is read of an object and what is written about it, without a cluster.

use forwarder::{
    cache::Difference,
    event::Letterhead,
    filter::{Wake, of_workspace},
    keep::{Row, Seen},
    rows::{Claim, Node, Pod, Workspace},
};
use jiff::Timestamp;
use model::{ClusterId, PodKind};
use schema::{CloudEvent, Known};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

fn read<R: Row>(object: Value) -> R {
    let seen: Seen<R> = serde_json::from_value(object).expect("whatever an API server sends is read");
    seen.row
}

fn requests(spec: Value) -> BTreeMap<String, String> {
    let pod: Pod = read(json!({ "metadata": { "name": "p" }, "spec": spec }));
    pod.shape.requests.iter().map(|(name, amount)| (name.clone(), amount.to_string())).collect()
}

fn check_requests(spec: Value, expected: &[(&str, &str)]) {
    let text = |(name, amount): &(&str, &str)| ((*name).to_owned(), (*amount).to_owned());
    assert_eq!(requests(spec.clone()), expected.iter().map(text).collect(), "{spec}");
}

#[test]
fn a_pod_asks_for_what_the_scheduler_counts() {
    let container = |cpu: &str| json!({ "resources": { "requests": { "cpu": cpu } } });
    let sidecar = |cpu: &str| json!({ "restartPolicy": "Always", "resources": { "requests": { "cpu": cpu } } });
    check_requests(json!({ "containers": [container("1"), container("500m")] }), &[("cpu", "1500m")]);
    check_requests(json!({ "containers": [container("1")], "initContainers": [container("3")] }), &[("cpu", "3")]);
    let with_sidecar = json!({ "containers": [container("1")], "initContainers": [sidecar("1"), container("500m")] });
    check_requests(with_sidecar, &[("cpu", "2")]);
    let starting = json!({ "containers": [container("1")], "initContainers": [sidecar("1"), container("4")] });
    check_requests(starting, &[("cpu", "5")]);
    let overhead = json!({ "containers": [container("1")], "overhead": { "cpu": "250m", "memory": "128Mi" } });
    check_requests(overhead, &[("cpu", "1250m"), ("memory", "128Mi")]);
    let of_the_pod = json!({ "containers": [container("1")], "resources": { "requests": { "cpu": "8" } } });
    check_requests(of_the_pod, &[("cpu", "8")]);
}

#[test]
fn amounts_may_be_numbers_and_those_that_make_no_sense_are_left_out() {
    let amounts = json!({ "cpu": 2, "nvidia.com/gpu": "1", "memory": "lots", "odd": -1, "half": 0.5 });
    let claim: Claim = read(json!({ "metadata": { "name": "c" }, "spec": { "resources": { "requests": amounts } } }));
    let shown: Vec<String> = claim.requests.iter().map(|(name, amount)| format!("{name}={amount}")).collect();
    assert_eq!(shown, ["cpu=2", "half=500m", "nvidia.com/gpu=1"]);
}

#[test]
fn any_owner_tells_what_a_pod_is_and_it_counts_whatever_of_it_cannot_be_read() {
    let owner =
        |kind: &str| json!([{ "kind": "Other", "name": "o", "controller": true }, { "kind": kind, "name": "agent" }]);
    let container =
        json!({ "resources": { "requests": { "cpu": "1" } }, "ports": [{ "containerPort": 1, "hostPort": 90000 }] });
    let check = |kind: &str, expected: PodKind, set: Option<&str>| {
        let pod: Pod = read(
            json!({ "metadata": { "name": "p", "ownerReferences": owner(kind) }, "spec": { "containers": [container] } }),
        );
        assert_eq!((pod.kind, pod.shape.daemon.as_deref(), pod.shape.requests.len()), (expected, set, 1), "{kind}");
    };
    check("DaemonSet", PodKind::Daemon, Some("agent"));
    check("Node", PodKind::Mirror, None);
    check("ReplicaSet", PodKind::Ordinary, None);
}

#[test]
fn an_object_with_nothing_in_it_stops_nobody() {
    read::<Pod>(json!({}));
    read::<Node>(json!({ "metadata": {}, "status": {} }));
    read::<Claim>(json!({ "metadata": { "name": "c" } }));
    read::<Workspace>(json!({ "metadata": { "name": "w" } }));
}

fn workspace(more: Value) -> Arc<Workspace> {
    let mut object = json!({ "metadata": { "name": "phi", "namespace": "llm", "uid": "u", "resourceVersion": "7", "generation": 1 },
        "resource": { "instanceType": "Standard_NC24ads_A100_v4", "count": 2 }, "inference": { "preset": { "name": "phi-4" } } });
    object["metadata"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Arc::new(read(object))
}

fn written(wake: &Wake) -> Value {
    let head =
        Letterhead { cluster: ClusterId::default(), extensions: BTreeMap::from([("team".to_owned(), json!("a"))]) };
    let letter =
        head.write(wake, Some(r#"{"version":2,"takenAt":"2026-01-01T00:00:00Z"}"#), Timestamp::UNIX_EPOCH).unwrap();
    let value: Value = serde_json::from_str(&letter.text).unwrap();
    let event = CloudEvent::from_value(value.clone()).unwrap();
    let Known::Event(kind) = schema::known(&event.kind) else { panic!("{}", event.kind) };
    schema::read(&event, kind).expect("the functions understand it");
    value
}

#[test]
fn a_workspace_is_told_with_what_it_asks_for_and_its_deletion_to_on_delete() {
    let wakes = of_workspace(&Difference { before: None, after: Some(workspace(json!({}))) });
    let [wake] = wakes.as_slice() else { panic!("{wakes:?}") };
    let event = written(wake);
    assert_eq!((wake.function(), &event["subject"], &event["team"]), ("on-workspace", &json!("llm/phi"), &json!("a")));
    let expected = json!({ "namespace": "llm", "name": "phi", "uid": "u", "resourceVersion": "7",
        "instanceType": "Standard_NC24ads_A100_v4", "count": 2, "preset": "phi-4" });
    assert_eq!(event["data"]["workspace"], expected);
    let going = Some(workspace(json!({ "deletionTimestamp": "2026-01-01T00:00:00Z" })));
    let wakes = of_workspace(&Difference { before: Some(workspace(json!({}))), after: going });
    assert_eq!((wakes[0].function(), &written(&wakes[0])["subject"]), ("on-delete", &json!("workspace/llm/phi")));
}

#[test]
fn a_workspace_that_only_has_another_version_is_no_news() {
    let after = Some(workspace(json!({ "resourceVersion": "8" })));
    assert!(of_workspace(&Difference { before: Some(workspace(json!({}))), after }).is_empty());
}

#[test]
fn a_claim_without_a_class_is_not_written_about_and_says_why() {
    let row: Arc<Claim> = Arc::new(read(json!({ "metadata": { "name": "c", "uid": "u", "resourceVersion": "1" } })));
    let head = Letterhead { cluster: ClusterId::default(), extensions: BTreeMap::new() };
    let error = head.write(&Wake::Claim { row, gone: false }, None, Timestamp::UNIX_EPOCH).unwrap_err();
    assert!(error.to_string().contains("no event can be written about it"), "{error}");
}
