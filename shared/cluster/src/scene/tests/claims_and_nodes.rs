//! Nodes and claims: each machine once, at its stage, with what it will have.

use super::*;
use model::place::{InstanceType, NodeStage, NodeThere, Offered};
use model::{CapacityType, NodeSeen, ObjectName, Operator, Requirement, Snapshot};

fn labels(more: Value) -> Value {
    json!({ "metadata": { "labels": with(json!({ "karpenter.sh/nodepool": "gpu" }), more) } })
}

fn launched(more: Value) -> Value {
    let amounts = json!({ "cpu": "4", "pods": "110", "nvidia.com/gpu": "1" });
    with(json!({ "status": { "providerID": "x://1", "capacity": amounts, "allocatable": amounts } }), more)
}

fn there(source: SceneSource) -> Vec<NodeThere> {
    let read = read_scene(&source);
    assert_eq!(read.problems, []);
    read.scene.nodes
}

#[test]
fn a_node_that_nobody_claims_is_there_as_it_is() {
    let taints = json!([{ "key": "a", "effect": "NoSchedule" }]);
    let own = node("n", with(labels(json!({})), json!({ "spec": { "taints": taints } })));
    let nodes = there(SceneSource { nodes: vec![object(own)], ..SceneSource::default() });
    let found = &nodes[0];
    assert_eq!((found.stage, found.taints.len(), found.deleting), (NodeStage::Initialized, 1, false));
    assert_eq!(found.pool.as_ref().unwrap().as_str(), "gpu");
    assert!(found.promised.is_empty());
}

#[test]
fn a_claim_and_its_node_are_one_and_go_through_their_stages() {
    let check = |of_node: Value, stage: NodeStage, taints: usize| {
        let spec = json!({ "spec": { "providerID": "x://1", "taints": [{ "key": "karpenter.sh/unregistered", "effect": "NoExecute" }] } });
        let of_claim = json!({ "spec": { "startupTaints": [{ "key": "s", "effect": "NoSchedule" }],
            "requirements": [{ "key": "disk", "operator": "In", "values": ["ssd"] }] } });
        let nodes = there(SceneSource {
            nodes: vec![object(node("n", with(spec, of_node.clone())))],
            claims: vec![claim("c", with(with(labels(json!({})), launched(json!({}))), of_claim))],
            ..SceneSource::default()
        });
        assert_eq!((nodes.len(), nodes[0].name.as_str(), nodes[0].stage), (1, "n", stage), "{of_node}");
        assert_eq!((nodes[0].taints.len(), nodes[0].startup_taints.len()), (taints, 1), "{of_node}");
        assert_eq!(amounts(&nodes[0].promised), ["cpu 4", "nvidia.com/gpu 1", "pods 110"]);
        nodes[0].labels.contains_key("disk")
    };
    assert!(
        check(json!({}), NodeStage::Starting, 0),
        "not registered: the labels and taints of the claim are on their way"
    );
    let registered = labels(json!({ "karpenter.sh/registered": "true" }));
    assert!(!check(registered.clone(), NodeStage::Starting, 1));
    assert!(!check(with(registered, labels(json!({ "karpenter.sh/initialized": "true" }))), NodeStage::Initialized, 1));
}

#[test]
fn where_a_provider_id_is_missing_the_name_tells() {
    let check = |of_node: Value, of_claim: Value, count: usize| {
        let source = SceneSource {
            nodes: vec![object(node("n", of_node))],
            claims: vec![claim("c", with(launched(json!({})), json!({ "status": of_claim })))],
            ..SceneSource::default()
        };
        assert_eq!(there(source).len(), count);
    };
    check(json!({}), json!({ "nodeName": "n" }), 1);
    check(json!({}), json!({ "nodeName": "other" }), 2);
    check(json!({ "spec": { "providerID": "x://2" } }), json!({ "nodeName": "n" }), 2);
    check(json!({ "spec": { "providerID": "x://2" } }), json!({ "nodeName": "n", "providerID": null }), 1);
}

#[test]
fn a_claim_without_a_node_is_what_its_status_says() {
    let status = json!({ "status": { "providerID": "x://1", "capacity": { "cpu": "4", "nvidia.com/gpu": "1", "pods": "110" } } });
    let own = with(labels(json!({ "node.kubernetes.io/instance-type": "m" })), status);
    let taints = json!({ "spec": { "taints": [{ "key": "a", "effect": "NoSchedule" }] } });
    let nodes = there(SceneSource { claims: vec![claim("c", with(own, taints))], ..SceneSource::default() });
    assert_eq!((nodes[0].name.as_str(), nodes[0].stage, nodes[0].taints.len()), ("c", NodeStage::InFlight, 1));
    assert_eq!(amounts(&nodes[0].allocatable), ["cpu 4", "nvidia.com/gpu 1", "pods 110"]);
}

#[test]
fn before_that_its_launch_record_tells() {
    let offering = json!({ "provider": "aks", "instanceType": "big", "capacityType": "on-demand", "zone": "z1", "arch": "amd64",
        "capacity": { "cpu": "8" }, "labels": { "topology.kubernetes.io/zone": "z1" }, "stock": "unknown" });
    let record = json!({ "v": 1, "epoch": 1, "begunAt": "2026-01-01T00:00:00Z", "deadline": "2026-01-01T01:00:00Z", "offering": offering });
    let own = json!({ "metadata": { "annotations": { "pilotlight.dev/launch": record.to_string() } } });
    let nodes = there(SceneSource { claims: vec![claim("c", own)], ..SceneSource::default() });
    assert_eq!(
        (amounts(&nodes[0].allocatable), nodes[0].labels["topology.kubernetes.io/zone"].as_str()),
        (vec!["cpu 8".to_owned()], "z1")
    );
}

fn kind(name: &str, cpu: &str, offers: &[(&str, CapacityType, u64, bool)]) -> InstanceType {
    let capacity: model::Resources = [("cpu".to_owned(), cpu.parse().unwrap())].into();
    let arch = Requirement { key: "kubernetes.io/arch".into(), operator: Operator::In, values: vec!["amd64".into()] };
    let offered = |(zone, capacity_type, price, available): &(&str, CapacityType, u64, bool)| Offered {
        zone: Some((*zone).to_owned()),
        capacity_type: *capacity_type,
        price: Some(*price),
        available: *available,
        requirements: vec![],
        reservation: None,
    };
    InstanceType {
        name: name.to_owned(),
        requirements: vec![arch],
        allocatable: capacity.clone(),
        capacity,
        volume_limits: [("csi.example.com".to_owned(), 16)].into(),
        offerings: offers.iter().map(offered).collect(),
    }
}

#[test]
fn and_before_that_it_is_the_cheapest_that_keeps_what_it_asks_for() {
    use CapacityType::{OnDemand, Spot};
    let types = vec![
        kind("small", "2", &[("a", OnDemand, 10, true)]),
        kind(
            "large",
            "8",
            &[("a", OnDemand, 40, true), ("b", Spot, 15, true), ("c", Spot, 5, false), ("a", Spot, 20, true)],
        ),
        kind("huge", "64", &[("b", OnDemand, 300, true)]),
    ];
    let found = |spec: Value| {
        let source = SceneSource {
            claims: vec![claim("c", with(labels(json!({})), json!({ "spec": spec })))],
            pools: vec![pool("gpu", json!({}))],
            catalogues: vec![Catalogue { types: types.clone(), complete: true }],
            ..SceneSource::default()
        };
        let read = read_scene(&source);
        read.scene.nodes.first().map(|node| {
            let label = |key: &str| node.labels.get(key).cloned().unwrap_or_default();
            let kind = label("node.kubernetes.io/instance-type");
            format!("{kind} {} {}", label("topology.kubernetes.io/zone"), label("karpenter.sh/capacity-type"))
        })
    };
    let need = |cpu: &str| json!({ "resources": { "requests": { "cpu": cpu } } });
    let asking =
        |key: &str, value: &str| json!({ "requirements": [{ "key": key, "operator": "In", "values": [value] }] });
    assert_eq!(found(need("1")).as_deref(), Some("small a on-demand"));
    assert_eq!(found(need("4")).as_deref(), Some("large b spot"));
    assert_eq!(found(with(need("4"), asking("topology.kubernetes.io/zone", "a"))).as_deref(), Some("large a spot"));
    assert_eq!(
        found(with(need("4"), asking("karpenter.sh/capacity-type", "on-demand"))).as_deref(),
        Some("large a on-demand")
    );
    assert_eq!(found(asking("node.kubernetes.io/instance-type", "huge")).as_deref(), Some("huge b on-demand"));
    assert_eq!(found(asking("kubernetes.io/arch", "arm64")), None);
    assert_eq!(found(need("65")), None);
}

#[test]
fn what_goes_away_says_so_and_no_longer_counts_for_its_pool() {
    let going = || json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:01:00Z" } });
    let of_pool = |name: &str, more: Value| object(node(name, with(labels(json!({})), more)));
    let terminating = json!({ "status": { "conditions": [{ "type": "InstanceTerminating", "status": "True" }] } });
    let read = read_scene(&SceneSource {
        nodes: vec![of_pool("stays", json!({})), of_pool("goes", going()), object(node("free", json!({})))],
        claims: vec![
            claim("coming", with(labels(json!({})), launched(json!({})))),
            claim(
                "leaving",
                with(with(labels(json!({})), launched(json!({ "status": { "providerID": "x://2" } }))), terminating),
            ),
        ],
        pools: vec![pool("gpu", json!({ "spec": { "limits": { "cpu": "10", "nodes": 3 } } }))],
        ..SceneSource::default()
    });
    let deleting: Vec<(&str, bool)> = read.scene.nodes.iter().map(|one| (one.name.as_str(), one.deleting)).collect();
    assert_eq!(deleting, [("stays", false), ("goes", true), ("free", false), ("coming", false), ("leaving", true)]);
    let pool = &read.scene.pools[0];
    assert_eq!(amounts(&pool.used), ["cpu 8", "nodes 2", "nvidia.com/gpu 1", "pods 220"]);
    assert_eq!(amounts(&pool.limits), ["cpu 10", "nodes 3"]);
}

/// A snapshot may be older than the list of pods without a node: one of those may be the successor of a pod that it still shows.
#[test]
fn pods_of_nodes_that_go_or_are_started_anew_are_not_taken_from_a_snapshot() {
    let seen = |name: &str, deleting: bool| NodeSeen {
        name: ObjectName::new(name).unwrap(),
        provider_id: Some(format!("x://{name}")),
        labels: [].into(),
        taints: vec![],
        capacity: [].into(),
        allocatable: [].into(),
        deleting,
        pods: vec![],
    };
    let snapshot = Snapshot {
        taken_at: jiff::Timestamp::UNIX_EPOCH,
        nodes: vec![seen("stays", false), seen("goes", true), seen("reboots", false), seen("rebooted", false)],
        shapes: vec![],
        daemons: vec![],
        unbound: vec![],
        claims: vec![],
        pools: vec![],
        classes: vec![],
    };
    let of_node = |name: &str, status: &str| {
        let condition = json!([{ "type": "Rebooting", "status": status }]);
        claim(name, json!({ "status": { "providerID": format!("x://{name}"), "conditions": condition } }))
    };
    let claims = [of_node("stays", "Unknown"), of_node("reboots", "True"), of_node("rebooted", "False")];
    let names: Vec<String> = going(&snapshot, &claims).iter().map(ToString::to_string).collect();
    assert_eq!(names, ["goes", "reboots"]);
}

#[test]
fn gpus_that_have_not_appeared_yet_count_for_the_limits_too() {
    let of_node = json!({ "spec": { "providerID": "x://1" }, "status": { "capacity": { "nvidia.com/gpu": "0" } } });
    let read = read_scene(&SceneSource {
        nodes: vec![object(node("n", of_node))],
        claims: vec![claim("c", with(labels(json!({})), launched(json!({}))))],
        pools: vec![pool("gpu", json!({}))],
        ..SceneSource::default()
    });
    assert_eq!(amounts(&read.scene.pools[0].used), ["cpu 4", "nodes 1", "nvidia.com/gpu 1", "pods 110"]);
}

#[test]
fn a_node_can_attach_as_many_volumes_as_its_drivers_say() {
    let drivers =
        json!([{ "name": "a", "nodeID": "x", "allocatable": { "count": 3 } }, { "name": "b", "nodeID": "x" }]);
    let csi = json!({ "metadata": metadata("n"), "spec": { "drivers": drivers } });
    let nodes = there(SceneSource {
        nodes: vec![object(node("n", json!({})))],
        csi_nodes: vec![object(csi)],
        ..SceneSource::default()
    });
    assert_eq!(nodes[0].volume_limits, [("a".to_owned(), 3)].into());
}

#[test]
fn what_cannot_be_read_is_named_and_the_others_stay() {
    let bad = claim("bad", json!({ "spec": { "resources": { "requests": { "cpu": "x" } } } }));
    let read = read_scene(&SceneSource {
        nodes: vec![object(json!({ "metadata": { "name": "no-uid" } })), object(node("n", json!({})))],
        claims: vec![bad, claim("nothing-known", json!({}))],
        ..SceneSource::default()
    });
    assert_eq!(read.scene.nodes.len(), 1);
    let named: Vec<(&str, &str)> = read.problems.iter().map(|one| (one.kind, one.name.as_str())).collect();
    assert_eq!(named, [("NodeClaim", "bad"), ("Node", "no-uid"), ("NodeClaim", "nothing-known")]);
}

#[test]
fn a_pod_remembers_the_claim_that_an_earlier_answer_made_for_it_also_once_it_is_a_node() {
    let planned = [(model::Uid::new("uid-p").unwrap(), model::ObjectName::new("c").unwrap())].into();
    let claims = vec![claim("c", launched(json!({})))];
    let mut source = SceneSource { claims, planned, ..source_of(waiting(json!({}))) };
    assert_eq!(placing(&source).planned, Some(0));
    source.nodes =
        vec![object(node("other", json!({}))), object(node("n", json!({ "spec": { "providerID": "x://1" } })))];
    assert_eq!(placing(&source).planned, Some(1));
    source.claims.clear();
    assert_eq!(placing(&source).planned, None);
}
