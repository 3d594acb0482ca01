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

#[test]
fn a_pool_that_no_api_server_would_have_taken_is_closed_and_names_the_field() {
    let check = |given: Value, words: &str| {
        let read = read_scene(&SceneSource { pools: vec![pool("bad", given.clone())], ..SceneSource::default() });
        let closed = read.scene.pools[0].closed.clone().unwrap_or_default();
        assert!(closed.contains(words) && read.problems.len() == 1, "{given}: {closed}");
    };
    let labelled = |key: &str, value: &str| template(json!({ "metadata": { "labels": { key: value } } }));
    let requires = |key: &str, values: Value| {
        template(json!({ "spec": { "requirements": [{ "key": key, "operator": "NotIn", "values": values }] } }))
    };
    let tainted = |taint: Value| template(json!({ "spec": { "taints": [taint] } }));
    let budget = |budget: Value| json!({ "spec": { "disruption": { "budgets": [{ "nodes": "1" }, budget] } } });
    check(labelled("team", "a b!"), "metadata.labels.team");
    check(labelled("team", &"v".repeat(64)), "metadata.labels.team");
    check(labelled("a/b/c", "x"), "metadata.labels: \"a/b/c\"");
    check(labelled("A.com/b", "x"), "metadata.labels");
    check(requires("", json!(["x"])), "requirements[0].key");
    check(requires("a", json!(["x", "-"])), "requirements[0].values");
    check(tainted(json!({ "key": "", "effect": "NoSchedule" })), "taints[0].key");
    check(tainted(json!({ "key": "a", "value": "b c", "effect": "NoSchedule" })), "taints[0].value");
    let startup = json!({ "startupTaints": [{ "key": "a/", "effect": "NoSchedule" }] });
    check(template(json!({ "spec": startup })), "startupTaints[0].key");
    for soon in ["soon", "", "5", "h", "1.5h", "5d", "-5m"] {
        check(template(json!({ "spec": { "expireAfter": soon } })), "spec.expireAfter");
    }
    check(template(json!({ "spec": { "terminationGracePeriod": "Never" } })), "terminationGracePeriod");
    check(json!({ "spec": { "disruption": { "consolidateAfter": "later" } } }), "consolidateAfter");
    check(json!({ "spec": { "disruption": { "consolidationPolicy": "Always" } } }), "consolidationPolicy");
    for nodes in ["110%", "%", "-1", "many", ""] {
        check(budget(json!({ "nodes": nodes })), "budgets[1].nodes");
    }
    check(budget(json!({ "reasons": ["Whim"] })), "budgets[1].reasons");
    check(budget(json!({ "schedule": "0 9 * * *" })), "budgets[1]: schedule and duration");
    check(budget(json!({ "schedule": "0 9", "duration": "1h" })), "budgets[1].schedule");
    check(budget(json!({ "schedule": "@daily", "duration": "90s" })), "budgets[1].duration");
}

#[test]
fn a_pool_with_everything_that_may_be_said_is_open() {
    let budgets = json!([{ "nodes": "100%" }, { "nodes": "0", "reasons": ["Empty", "Unhealthy"] },
        { "nodes": "5", "schedule": "0 9 * * mon-fri", "duration": "8h30m" }, { "schedule": "@daily", "duration": "10m0s" }]);
    let labels = json!({ "team": "", "example.com/a.b_c-d": "v".repeat(63), "UPPER": "1" });
    let spec = json!({ "expireAfter": "1h30m", "terminationGracePeriod": "0s",
        "taints": [{ "key": "example.com/gpu", "effect": "NoSchedule" }] });
    let given = json!({ "spec": { "template": { "metadata": { "labels": labels }, "spec": spec },
        "disruption": { "consolidateAfter": "Never", "consolidationPolicy": "Balanced", "budgets": budgets } } });
    assert_eq!(read(pool("gpu", given)).closed, None);
}
