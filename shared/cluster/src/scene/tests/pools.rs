//! NodePools: what they may make, and why one makes nothing.

use super::*;
use model::place::Pool;

fn read(source: PoolSource) -> Pool {
    read_scene(&SceneSource { pools: vec![source], ..SceneSource::default() }).scene.pools.remove(0)
}

fn template(more: Value) -> Value {
    json!({ "spec": { "template": more } })
}

#[test]
fn a_pool_keeps_its_words_and_knows_its_class() {
    let requirement =
        json!({ "key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["a", "b"], "minValues": 2 });
    let spec = json!({ "requirements": [requirement], "taints": [{ "key": "gpu", "effect": "NoSchedule" }],
        "startupTaints": [{ "key": "cni", "value": "x", "effect": "NoExecute" }] });
    let given = json!({ "spec": { "weight": 10, "limits": { "cpu": 100 },
        "template": { "metadata": { "labels": { "team": "a" } }, "spec": spec } } });
    let pool = read(pool("gpu", given));
    assert_eq!((pool.name.as_str(), pool.weight, pool.closed.as_deref()), ("gpu", 10, None));
    assert_eq!((pool.requirements[0].min_values, pool.taints.len(), pool.startup_taints.len()), (Some(2), 1, 1));
    let labels: Vec<(&str, &str)> = pool.labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(labels, [("karpenter.azure.com/aksnodeclass", "gpu"), ("team", "a")]);
    assert_eq!(amounts(&pool.limits), ["cpu 100"]);
}

#[test]
fn a_pool_that_makes_no_nodes_says_why() {
    let check = |given: Value, words: &str| {
        let closed = read(pool("gpu", given.clone())).closed.unwrap();
        assert!(closed.contains(words), "{given}: {closed}");
    };
    let condition = |kind: &str, status: &str| {
        json!({ "status": { "conditions": [{ "type": kind, "status": status, "reason": "R", "message": "class is gone",
            "lastTransitionTime": "2026-01-01T00:00:00Z" }] } })
    };
    check(json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } }), "deleted");
    check(json!({ "spec": { "replicas": 3 } }), "spec.replicas");
    check(condition("Ready", "False"), "class is gone");
    check(condition("NodeClassReady", "Unknown"), "NodeClassReady");
    let healthy = read(pool("gpu", condition("Ready", "True"))).closed;
    let informational = read(pool("gpu", condition("NodeRegistrationHealthy", "False"))).closed;
    assert_eq!((healthy, informational), (None, None));
    let without = PoolSource { catalogue: Err("nobody knows its class".into()), ..pool("gpu", json!({})) };
    assert_eq!(read(without).closed.as_deref(), Some("nobody knows its class"));
}

#[test]
fn a_pool_that_cannot_be_read_is_closed_and_names_the_field() {
    let check = |given: Value, words: &str| {
        let both = read_scene(&SceneSource {
            pools: vec![pool("bad", given.clone()), pool("good", json!({}))],
            ..SceneSource::default()
        });
        let closed = both.scene.pools[0].closed.clone().unwrap_or_default();
        assert!(closed.contains(words), "{given}: {closed}");
        assert_eq!((both.scene.pools[1].closed.as_deref(), both.problems.len()), (None, 1));
    };
    let requires = |key: &str, operator: &str, values: Value| {
        template(json!({ "spec": { "requirements": [{ "key": key, "operator": operator, "values": values }] } }))
    };
    check(json!({ "spec": { "weight": 101 } }), "spec.weight");
    check(json!({ "spec": { "limits": { "cpu": "many" } } }), "spec.limits.cpu");
    check(requires("a", "Near", json!([])), "requirements[0].operator");
    check(requires("a", "In", json!([])), "requirements[0].values");
    check(requires("a", "Gt", json!(["x"])), "requirements[0].values");
    check(requires("a", "Exists", json!(["x"])), "requirements[0].values");
    check(requires("karpenter.sh/nodepool", "In", json!(["x"])), "karpenter.sh/nodepool");
    check(requires("kubernetes.io/hostname", "In", json!(["x"])), "kubernetes.io/hostname");
    check(requires("karpenter.sh/capacity-type", "In", json!(["preemptible"])), "capacity-type");
    let few = json!([{ "key": "a", "operator": "In", "values": ["x"], "minValues": 2 }]);
    check(template(json!({ "spec": { "requirements": few } })), "minValues");
    check(template(json!({ "metadata": { "labels": { "karpenter.sh/other": "x" } } })), "karpenter.sh/other");
    let twice = json!({ "taints": [{ "key": "a", "effect": "NoSchedule" }], "startupTaints": [{ "key": "a", "value": "b", "effect": "NoSchedule" }] });
    check(template(json!({ "spec": twice })), "a:NoSchedule is there twice");
}
