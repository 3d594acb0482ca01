//! DaemonSets: what comes to every node.

use super::*;

fn set(template: Value) -> Value {
    let usual = json!({ "spec": { "selector": {}, "template": { "spec": { "containers": [{ "name": "c",
        "resources": { "limits": { "cpu": "200m" } } }] } } } });
    with(named(usual, "agent", "kube-system"), json!({ "spec": { "template": { "spec": template } } }))
}

fn pod_of(name: &str, node: &str, cpu: &str, created: &str) -> Value {
    let owner =
        json!([{ "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "u", "controller": true }]);
    running(
        name,
        node,
        json!({
            "metadata": { "namespace": "kube-system", "ownerReferences": owner, "creationTimestamp": created },
            "spec": { "containers": [{ "name": "c", "resources": { "requests": { "cpu": cpu } } }],
                "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms":
                    [{ "matchFields": [{ "key": "metadata.name", "operator": "In", "values": [node] }] }] } } } }
        }),
    )
}

#[test]
fn without_a_pod_the_template_tells_and_its_limits_are_requests() {
    let scene = read_scene(&SceneSource { daemon_sets: vec![object(set(json!({})))], ..SceneSource::default() }).scene;
    let daemon = &scene.daemons[0];
    assert_eq!((daemon.name.as_str(), amounts(&daemon.requests)), ("agent", vec!["cpu 200m".to_owned()]));
    let tolerated = |key: &str| daemon.tolerations.iter().any(|one| one.key.as_deref() == Some(key));
    assert!(tolerated("node.kubernetes.io/not-ready") && tolerated("node.kubernetes.io/unschedulable"));
    assert!(!tolerated("node.kubernetes.io/network-unavailable"));
}

#[test]
fn the_newest_pod_tells_what_it_takes_and_the_template_where_it_goes() {
    let term = json!([{ "matchExpressions": [{ "key": "gpu", "operator": "Exists" }] }]);
    let template = json!({ "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": term } } } });
    let source = |template: Value| SceneSource {
        daemon_sets: vec![object(set(template))],
        nodes: vec![object(node("n", json!({}))), object(node("m", json!({})))],
        pods: vec![
            object(pod_of("agent-1", "n", "300m", "2026-01-02T00:00:00Z")),
            object(pod_of("agent-0", "m", "100m", "2026-01-01T00:00:00Z")),
        ],
        ..SceneSource::default()
    };
    let scene = read_scene(&source(template)).scene;
    assert_eq!(amounts(&scene.daemons[0].requests), ["cpu 300m"]);
    assert_eq!(scene.daemons[0].node_affinity[0].expressions[0].key, "gpu");
    assert_eq!(scene.bound.iter().map(|pod| pod.daemon).collect::<Vec<_>>(), [Some(0), Some(0)]);
    assert!(
        read_scene(&source(json!({}))).scene.daemons[0].node_affinity.is_empty(),
        "the term of the controller is not its own"
    );
}

#[test]
fn one_that_cannot_be_read_is_named_and_the_others_stay() {
    let bad = set(json!({ "containers": [{ "name": "c", "resources": { "requests": { "cpu": "x" } } }] }));
    let good = with(set(json!({})), json!({ "metadata": { "name": "good" } }));
    let going =
        with(set(json!({})), json!({ "metadata": { "name": "going", "deletionTimestamp": "2026-01-01T00:00:09Z" } }));
    let sets = vec![object(bad), object(good), object(going)];
    let read = read_scene(&SceneSource { daemon_sets: sets, ..SceneSource::default() });
    assert_eq!(read.scene.daemons.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["good"]);
    assert_eq!((read.problems.len(), read.problems[0].name.as_str()), (1, "kube-system/agent"));
    assert!(read.problems[0].why.contains("spec.template.spec.containers[0]"), "{}", read.problems[0].why);
}
