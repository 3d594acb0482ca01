//! What a pod asks for: amounts, ports, affinities, spread, priorities, default selectors.

use super::*;
use model::{
    Operator,
    place::{NodePolicy, Protocol, WhenUnsatisfiable},
};

fn requests(spec: Value) -> Vec<String> {
    amounts(&placing(&source_of(waiting(json!({ "spec": spec })))).requests)
}

fn container(requests: Value) -> Value {
    json!({ "name": "c", "resources": { "requests": requests } })
}

#[test]
fn requests_are_the_larger_of_starting_and_running_plus_the_overhead() {
    let check = |spec: Value, expected: &[&str]| assert_eq!(requests(spec.clone()), expected, "{spec}");
    let two = json!([container(json!({ "cpu": "1", "memory": "1Gi" })), container(json!({ "cpu": "500m" }))]);
    check(json!({ "containers": two }), &["cpu 1500m", "memory 1Gi"]);
    check(json!({ "containers": two, "initContainers": [container(json!({ "cpu": "2" }))] }), &["cpu 2", "memory 1Gi"]);
    let sidecar = with(container(json!({ "cpu": "1" })), json!({ "restartPolicy": "Always" }));
    let init = container(json!({ "cpu": "2" }));
    check(json!({ "containers": two, "initContainers": [sidecar] }), &["cpu 2500m", "memory 1Gi"]);
    check(json!({ "containers": two, "initContainers": [sidecar, init] }), &["cpu 3", "memory 1Gi"]);
    check(json!({ "containers": two, "initContainers": [init, sidecar] }), &["cpu 2500m", "memory 1Gi"]);
    check(json!({ "containers": two, "overhead": { "memory": "1Gi" } }), &["cpu 1500m", "memory 2Gi"]);
    let of_pod = json!({ "requests": { "cpu": "4", "example.com/odd": "1" } });
    check(json!({ "containers": two, "resources": of_pod }), &["cpu 4", "memory 1Gi"]);
    let limited = json!([{ "name": "c", "resources": { "limits": { "nvidia.com/gpu": 1, "cpu": "2" }, "requests": { "cpu": "1" } } }]);
    check(json!({ "containers": limited }), &["cpu 1", "nvidia.com/gpu 1"]);
    check(json!({ "containers": [container(json!({ "nvidia.com/gpu": "0" }))] }), &[]);
}

#[test]
fn what_cannot_be_read_is_the_pods_own_reason_and_names_the_field() {
    let check = |spec: Value, words: &str| {
        let (code, why) = refused(&source_of(waiting(json!({ "spec": spec }))));
        assert_eq!(code, "Malformed");
        assert!(why.contains(words), "{why}");
    };
    let spread = |more: Value| {
        let usual = json!({ "maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule" });
        json!({ "topologySpreadConstraints": [with(usual, more)] })
    };
    check(json!({ "containers": [] }), "spec.containers");
    check(json!({ "containers": [container(json!({ "cpu": "lots" }))] }), "spec.containers[0].resources.requests.cpu");
    check(json!({ "containers": [{ "name": "c", "ports": [{ "containerPort": 1, "hostPort": 70000 }] }] }), "ports[0]");
    check(spread(json!({ "maxSkew": 0 })), "spec.topologySpreadConstraints[0].maxSkew");
    check(spread(json!({ "topologyKey": "" })), "topologyKey");
    check(spread(json!({ "whenUnsatisfiable": "Maybe" })), "whenUnsatisfiable");
    check(needs(json!([requires("Near", json!([]))])), "nodeSelectorTerms[0].matchExpressions[0].operator");
    check(needs(json!([requires("Gt", json!(["-5"]))])), "nodeSelectorTerms[0].matchExpressions[0].values");
    check(needs(json!([])), "nodeSelectorTerms is empty");
    let half = container(json!({ "nvidia.com/gpu": "500m" }));
    check(json!({ "containers": [half] }), "spec.containers[0].resources.requests.nvidia.com/gpu is 500m");
    let limited = json!({ "name": "c", "resources": { "limits": { "nvidia.com/gpu": "1500m" } } });
    check(json!({ "initContainers": [limited] }), "spec.initContainers[0].resources.limits.nvidia.com/gpu");
}

fn needs(terms: Value) -> Value {
    let required = json!({ "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": terms } });
    json!({ "affinity": { "nodeAffinity": required } })
}

fn requires(operator: &str, values: Value) -> Value {
    json!({ "matchExpressions": [{ "key": "a", "operator": operator, "values": values }] })
}

#[test]
fn an_empty_term_matches_no_node_and_others_beside_it_still_do() {
    let (code, why) = refused(&source_of(waiting(json!({ "spec": needs(json!([{}, {}])) }))));
    assert!(code == "LabelsNotMet" && why.contains("empty term"), "{code}: {why}");
    let other = needs(json!([{}, requires("Gt", json!(["0"]))]));
    assert!(placing(&source_of(waiting(json!({ "spec": other })))).invalid.is_none());
}

#[test]
fn devices_through_resource_claims_are_not_served_and_the_pod_is_told() {
    let spec = json!({ "spec": { "resourceClaims": [{ "name": "gpu", "resourceClaimName": "g" }] } });
    let (code, why) = refused(&source_of(waiting(spec)));
    assert!(code == "ResourceClaimsNotServed" && why.contains("gpu"), "{code} {why}");
}

#[test]
fn ports_of_the_node_are_those_of_regular_containers() {
    let ports = |spec: Value| {
        let pod = placing(&source_of(waiting(json!({ "spec": spec }))));
        pod.host_ports.iter().map(|port| (port.ip.clone(), port.port, port.protocol)).collect::<Vec<_>>()
    };
    let one = json!([{ "name": "c", "ports": [{ "containerPort": 80, "hostPort": 8080, "protocol": "UDP", "hostIP": "10.0.0.1" },
        { "containerPort": 81 }] }]);
    assert_eq!(ports(json!({ "containers": one })), [("10.0.0.1".to_owned(), 8080, Protocol::Udp)]);
    let starting = json!({ "containers": [{ "name": "c" }], "initContainers": one });
    assert_eq!(ports(starting), []);
    let on_host = json!({ "hostNetwork": true, "containers": [{ "name": "c", "ports": [{ "containerPort": 81 }] }] });
    assert_eq!(ports(on_host), [(String::new(), 81, Protocol::Tcp)]);
}

#[test]
fn affinities_and_spread_keep_their_words() {
    let selector = json!({ "matchLabels": { "app": "a" }, "matchExpressions": [{ "key": "tier", "operator": "In", "values": ["x"] }] });
    let term = json!({ "topologyKey": "z", "labelSelector": selector, "namespaces": ["other"], "namespaceSelector": {},
        "matchLabelKeys": ["v"], "mismatchLabelKeys": ["w"] });
    let preferred_node = json!([{ "weight": 7, "preference": { "matchExpressions": [{ "key": "a", "operator": "Gt", "values": ["3"] }] } }]);
    let pod = placing(&source_of(waiting(json!({ "spec": {
        "nodeSelector": { "disk": "ssd" },
        "affinity": {
            "nodeAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": preferred_node,
                "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [{},
                    { "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["n"] }] }] } },
            "podAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [term],
                "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 5, "podAffinityTerm": { "topologyKey": "z" } }] },
            "podAntiAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 9, "podAffinityTerm": term }] } },
        "topologySpreadConstraints": [
            { "maxSkew": 2, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}, "minDomains": 3,
              "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor", "matchLabelKeys": ["pod-template-hash"] },
            { "maxSkew": 1, "topologyKey": "h", "whenUnsatisfiable": "DoNotSchedule" }] } }))));
    assert_eq!(pod.invalid, None);
    assert_eq!(pod.node_selector.get("disk").map(String::as_str), Some("ssd"));
    assert_eq!(
        (pod.node_affinity[0].expressions.len(), pod.node_affinity[1].fields[0].key.as_str()),
        (0, "metadata.name")
    );
    assert_eq!(
        (pod.preferred_node_affinity[0].weight, pod.preferred_node_affinity[0].term.expressions[0].operator),
        (7, Operator::Gt)
    );
    let near = &pod.affinity[0];
    let selected = near.selector.as_ref().unwrap();
    assert_eq!((selected.labels.len(), selected.expressions[0].key.as_str()), (1, "tier"));
    assert_eq!((near.namespaces[0].as_str(), near.namespace_selector.is_some()), ("other", true));
    assert_eq!(
        (near.match_label_keys.as_slice(), near.mismatch_label_keys.as_slice()),
        (&["v".to_owned()][..], &["w".to_owned()][..])
    );
    assert_eq!(pod.preferred_affinity[0].term.selector, None, "an absent selector selects nothing and is no empty one");
    assert_eq!(pod.preferred_anti_affinity[0].weight, 9);
    let (soft, hard) = (&pod.spread[0], &pod.spread[1]);
    assert_eq!(
        (soft.max_skew, soft.when_unsatisfiable, soft.min_domains),
        (2, WhenUnsatisfiable::ScheduleAnyway, Some(3))
    );
    assert_eq!((soft.node_affinity_policy, soft.node_taints_policy), (NodePolicy::Ignore, NodePolicy::Honor));
    assert_eq!((hard.node_affinity_policy, hard.node_taints_policy), (NodePolicy::Honor, NodePolicy::Ignore));
    assert_eq!((soft.selector.is_some(), hard.selector.is_none()), (true, true));
}

#[test]
fn the_priority_is_the_pods_own_or_that_of_its_class() {
    let check = |spec: Value, expected: i32| {
        let class = |name: &str, value: i32, default: bool| json!({ "metadata": metadata(name), "value": value, "globalDefault": default });
        let classes = object(json!([class("high", 9, false), class("usual", 3, true)]));
        let source = SceneSource { priority_classes: classes, ..source_of(waiting(json!({ "spec": spec }))) };
        assert_eq!(placing(&source).priority, expected, "{spec}");
    };
    check(json!({ "priority": -5, "priorityClassName": "high" }), -5);
    check(json!({ "priorityClassName": "high" }), 9);
    check(json!({ "priorityClassName": "system-node-critical" }), 2_000_001_000);
    check(json!({ "priorityClassName": "unknown" }), 0);
    check(json!({}), 3);
}

#[test]
fn the_scheduler_configuration_gives_default_constraints_or_names_the_field() {
    let text = "podTopologySpread:\n  defaultConstraints:\n  - {maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway}\n";
    let found = scheduler_config(text).unwrap();
    assert_eq!((found.len(), found[0].topology_key.as_str()), (1, "z"));
    assert_eq!(scheduler_config(" \n"), Ok(vec![]));
    assert!(
        scheduler_config(&text.replace("maxSkew: 1", "maxSkew: 0"))
            .unwrap_err()
            .contains("defaultConstraints[0].maxSkew")
    );
    assert!(scheduler_config("podTopologySpreads: {}").unwrap_err().contains("podTopologySpreads"));
}

#[test]
fn with_default_constraints_a_pod_knows_what_selects_its_kind() {
    let text =
        "{podTopologySpread: {defaultConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]}}";
    let owner = json!({ "metadata": { "labels": { "app": "a", "v": "1" }, "ownerReferences":
        [{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": true }] } });
    let mut source = SceneSource { default_spread: scheduler_config(text).unwrap(), ..source_of(waiting(owner)) };
    assert_eq!(placing(&source).default_selector, None);
    let service = |name: &str, selector: Value| named(json!({ "spec": { "selector": selector } }), name, "team-a");
    source.services = object(json!([
        service("mine", json!({ "app": "a" })),
        service("other", json!({ "app": "b" })),
        service("none", json!({}))
    ]));
    assert_eq!(placing(&source).default_selector.unwrap().labels, [("app".to_owned(), "a".to_owned())].into());
    let set = json!({ "spec": { "selector": { "matchLabels": { "v": "1" }, "matchExpressions": [{ "key": "x", "operator": "Exists" }] } } });
    source.replica_sets = object(json!([named(set, "r", "team-a")]));
    let both = placing(&source).default_selector.unwrap();
    assert_eq!((both.labels.len(), both.expressions.len()), (2, 1));
}

#[test]
fn namespaces_have_their_name_as_a_label() {
    let namespace = json!({ "metadata": { "name": "a", "labels": { "team": "x" } } });
    let scene = read_scene(&SceneSource { namespaces: vec![object(namespace)], ..SceneSource::default() }).scene;
    let labels = &scene.namespaces["a"];
    assert_eq!((labels["team"].as_str(), labels["kubernetes.io/metadata.name"].as_str()), ("x", "a"));
}
