//! Which pods are placed, which are counted where they are, and which are somebody else's.

use super::*;

fn owned(kind: &str) -> Value {
    json!({ "metadata": { "ownerReferences": [{ "apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "o", "controller": true }] } })
}

#[test]
fn a_pod_that_the_scheduler_gave_up_on_is_placed_and_others_say_why_not() {
    let check = |pod: Value, expected: Option<(&str, &str)>| {
        let read = read_scene(&source_of(waiting(pod.clone())));
        let found = read.left_out.first().map(|one| (one.code, one.why.as_str()));
        match expected {
            None => assert_eq!((read.scene.pods.len(), found), (1, None), "{pod}"),
            Some((code, words)) => {
                assert!(found.is_some_and(|(own, why)| own == code && why.contains(words)), "{pod}: {found:?}");
                assert!(read.scene.pods.is_empty());
            }
        }
    };
    let without_pool = |more: Value| {
        let out = json!({ "matchExpressions": [{ "key": "karpenter.sh/nodepool", "operator": "DoesNotExist" }] });
        let terms: Vec<Value> = std::iter::once(out).chain(more.as_array().unwrap().clone()).collect();
        json!({ "spec": { "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution":
            { "nodeSelectorTerms": terms } } } } })
    };
    check(json!({}), None);
    check(owned("ReplicaSet"), None);
    check(owned("DaemonSet"), Some(("NotProvisionable", "DaemonSet")));
    check(owned("Node"), Some(("NotProvisionable", "static")));
    let without_controller = json!({ "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "o", "uid": "o" });
    check(json!({ "metadata": { "ownerReferences": [without_controller] } }), Some(("NotProvisionable", "DaemonSet")));
    check(json!({ "status": { "nominatedNodeName": "n" } }), Some(("NotProvisionable", "node n")));
    check(json!({ "status": { "conditions": [] } }), Some(("NotProvisionable", "has not said")));
    let gated = json!({ "spec": { "schedulingGates": [{ "name": "quota" }] },
        "status": { "conditions": [{ "type": "PodScheduled", "status": "False", "reason": "SchedulingGated" }] } });
    check(gated, Some(("NotProvisionable", "gate quota")));
    check(without_pool(json!([])), Some(("OptedOut", "no pool")));
    let other_term = json!([{ "matchExpressions": [{ "key": "a", "operator": "Exists" }] }]);
    check(without_pool(other_term), None);
}

#[test]
fn what_has_ended_or_never_began_is_nowhere() {
    for over in [
        json!({ "status": { "phase": "Succeeded" } }),
        json!({ "status": { "phase": "Failed" } }),
        json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:09Z" } }),
    ] {
        let read = read_scene(&source_of(waiting(over)));
        assert!(read.scene.pods.is_empty() && read.left_out.is_empty() && read.problems.is_empty());
    }
}

#[test]
fn a_pod_on_its_node_counts_there_whatever_of_it_cannot_be_read() {
    let check = |spec: Value, unread: &[&str], counted: (&[&str], usize, usize)| {
        let container = json!({ "name": "main", "resources": { "requests": { "cpu": "3" } },
            "ports": [{ "containerPort": 80, "hostPort": 80 }] });
        let spec = with(json!({ "containers": [container] }), spec);
        let pods = vec![object(running("odd", "n", json!({ "spec": spec })))];
        let read =
            read_scene(&SceneSource { pods, nodes: vec![object(node("n", json!({})))], ..SceneSource::default() });
        let there = &read.scene.bound[0];
        let found = (amounts(&there.requests), there.host_ports.len(), there.anti_affinity.len());
        assert_eq!(found, (counted.0.iter().map(|one| (*one).to_owned()).collect(), counted.1, counted.2));
        let said: Vec<&str> = read.problems.iter().map(|one| one.why.as_str()).collect();
        assert!(said.len() == usize::from(!unread.is_empty()), "{said:?}");
        assert!(unread.iter().all(|word| said[0].contains(word)), "{said:?}");
    };
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let nowhere = json!({ "nodeSelectorTerms": [{ "matchExpressions": [{ "key": "x", "operator": "In" }] }] });
    check(json!({ "affinity": { "nodeAffinity": { required: nowhere } } }), &[], (&["cpu 3"], 1, 0));
    let apart = json!([{ "topologyKey": "" }, { "topologyKey": "zone" }]);
    let apart = json!({ "affinity": { "podAntiAffinity": { required: apart } } });
    check(apart, &["podAntiAffinity", "[0].topologyKey"], (&["cpu 3"], 1, 1));
    let ports = json!({ "name": "main", "resources": { "requests": { "cpu": "lots" } },
        "ports": [{ "containerPort": 1, "hostPort": 90000 }, { "containerPort": 1, "hostPort": 81 }] });
    check(json!({ "containers": [ports] }), &["requests.cpu", "ports[0]"], (&[], 1, 0));
}

#[test]
fn a_pod_on_a_node_that_nobody_knows_is_a_problem_of_its_own() {
    let mut source = source_of(running("lost", "nowhere", json!({})));
    source.pods.push(object(waiting(json!({}))));
    let read = read_scene(&source);
    assert_eq!(read.problems.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["team-a/lost"]);
    assert!(read.problems[0].why.contains("nowhere"));
    assert_eq!(read.scene.pods.len(), 1);
}

/// One node that is being deleted and one pod on it, before budgets.
fn leaving(pod: Value, budgets: Value) -> SceneRead {
    let going = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:01:00Z" } });
    read_scene(&SceneSource {
        nodes: vec![object(node("going", going))],
        pods: vec![object(running("web-0", "going", pod))],
        budgets: object(budgets),
        now: "2026-01-01T01:00:00Z".parse().unwrap(),
        ..SceneSource::default()
    })
}

#[test]
fn pods_of_a_node_that_goes_are_placed_anew_unless_they_stay_for_now() {
    let check = |pod: Value, budgets: Value, moves: bool| {
        let read = leaving(pod.clone(), budgets.clone());
        let counts = (read.scene.pods.len(), read.scene.bound.len());
        assert_eq!(counts, if moves { (1, 0) } else { (0, 1) }, "{pod} {budgets}");
    };
    let none = || json!([]);
    let budget = |spec: Value| {
        let selector = json!({ "selector": { "matchLabels": { "app": "web" } } });
        named(json!({ "spec": with(selector, spec) }), "b", "team-a")
    };
    let web = || json!({ "metadata": { "labels": { "app": "web" } } });
    check(json!({}), none(), true);
    check(owned("DaemonSet"), none(), false);
    check(owned("Node"), none(), false);
    let terminating = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:59:59Z" } });
    check(terminating.clone(), none(), false);
    check(with(terminating, owned("StatefulSet")), none(), true);
    let annotated = |value: &str| json!({ "metadata": { "annotations": { "karpenter.sh/do-not-disrupt": value } }, "status": { "startTime": "2026-01-01T00:30:00Z" } });
    check(annotated("true"), none(), false);
    check(annotated("1h"), none(), false);
    check(annotated("10m"), none(), true);
    check(annotated("soon"), none(), true);
    check(web(), json!([budget(json!({ "maxUnavailable": 0 }))]), false);
    check(web(), json!([budget(json!({ "maxUnavailable": "0%" }))]), false);
    check(web(), json!([budget(json!({ "minAvailable": "100%" }))]), false);
    check(web(), json!([budget(json!({ "maxUnavailable": 1 }))]), true);
    check(json!({}), json!([budget(json!({ "maxUnavailable": 0 }))]), true);
    check(web(), json!([budget(json!({ "maxUnavailable": 1 })), budget(json!({ "minAvailable": 1 }))]), false);
    let tolerates_all = json!({ "spec": { "tolerations": [{ "operator": "Exists" }] } });
    check(with(web(), tolerates_all), json!([budget(json!({ "maxUnavailable": 0 }))]), false);
    let unready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "False" }] } });
    let lenient = budget(json!({ "maxUnavailable": 0, "unhealthyPodEvictionPolicy": "AlwaysAllow" }));
    check(with(web(), unready), json!([lenient]), true);
}

#[test]
fn a_pod_on_a_node_counts_there_with_what_it_takes_and_whom_it_keeps_away() {
    let pod = running(
        "a",
        "n",
        json!({ "metadata": { "labels": { "app": "a" } }, "spec": {
        "containers": [{ "name": "main", "ports": [{ "containerPort": 80, "hostPort": 8080 }], "resources": { "requests": { "cpu": "1" } } }],
        "affinity": { "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution":
            [{ "topologyKey": "kubernetes.io/hostname", "labelSelector": { "matchLabels": { "app": "a" } } }] } } } }),
    );
    let read = read_scene(&SceneSource { nodes: vec![object(node("n", json!({})))], ..source_of(pod) });
    let there = &read.scene.bound[0];
    assert_eq!((there.node, amounts(&there.requests), there.host_ports[0].port), (0, vec!["cpu 1".to_owned()], 8080));
    assert_eq!((there.anti_affinity.len(), there.terminating, there.daemon), (1, false, None));
}
