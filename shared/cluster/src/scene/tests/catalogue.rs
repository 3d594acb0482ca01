//! Offerings of providers as a catalogue.

use super::*;
use model::{
    Arch, CapacityType, Effect, Offering, OfferingId, Price, Scope, Stock, StockMemory, Taint, Unavailable,
    place::{NodeStage, NodeThere},
};

fn offering(instance_type: &str, zone: Option<&str>, capacity_type: CapacityType, more: &[(&str, &str)]) -> Offering {
    let id = OfferingId {
        provider: "aks".into(),
        instance_type: instance_type.into(),
        zone: zone.map(Into::into),
        capacity_type,
    };
    let labels = [("node.kubernetes.io/instance-type", instance_type), ("region", "west")];
    Offering {
        id,
        gpu: None,
        capacity: [("cpu".to_owned(), "4".parse().unwrap())].into(),
        arch: Arch::Arm64,
        price: Some(Price { millionths_per_hour: 5, currency: "EUR".into(), as_of: "2026-01-01".parse().unwrap() }),
        labels: labels.iter().chain(more).map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        stock: Stock::Unknown,
    }
}

fn now() -> jiff::Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

#[test]
fn offerings_of_a_type_are_one_type_and_what_they_say_alike_is_the_types() {
    let offerings = [
        offering("a", Some("w-1"), CapacityType::OnDemand, &[("scope", "zonal")]),
        offering("b", Some("w-1"), CapacityType::OnDemand, &[]),
        offering("a", None, CapacityType::Spot, &[("scope", "regional"), ("topology.kubernetes.io/zone", "0")]),
    ];
    let found = catalogue(&offerings, &StockMemory::default(), now());
    assert_eq!(found.types.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let first = &found.types[0];
    let keys: Vec<&str> = first.requirements.iter().map(|one| one.key.as_str()).collect();
    assert_eq!(keys, ["kubernetes.io/arch", "kubernetes.io/os", "region"]);
    assert_eq!(first.requirements[0].values, ["arm64"]);
    let (zonal, regional) = (&first.offerings[0], &first.offerings[1]);
    assert_eq!((zonal.zone.as_deref(), zonal.requirements[0].values[0].as_str()), (Some("w-1"), "zonal"));
    assert_eq!((regional.zone.as_deref(), regional.capacity_type), (Some("0"), CapacityType::Spot));
    assert_eq!((first.allocatable == first.capacity, zonal.price, zonal.available), (true, Some(5), true));
}

#[test]
fn what_is_short_or_was_refused_lately_cannot_be_had() {
    let mut short = offering("a", Some("1"), CapacityType::OnDemand, &[]);
    short.stock = Stock::Shortage;
    let refused = offering("a", Some("2"), CapacityType::OnDemand, &[]);
    let forgotten = offering("a", Some("3"), CapacityType::OnDemand, &[]);
    let line = |of: &Offering, until: &str| Unavailable {
        scope: Scope::Offering(of.id.clone()),
        until: until.parse().unwrap(),
        reason: "InsufficientCapacity".into(),
    };
    let memory =
        StockMemory { lines: vec![line(&refused, "2026-01-01T00:05:00Z"), line(&forgotten, "2025-12-31T00:00:00Z")] };
    let found = catalogue(&[short, refused, forgotten], &memory, now());
    assert_eq!(found.types[0].offerings.iter().map(|one| one.available).collect::<Vec<_>>(), [false, false, true]);
}

#[test]
fn a_machine_is_there_once() {
    let machines = ["box-1", "box-2"]
        .map(|name| offering(name, None, CapacityType::OnDemand, &[("kubernetes.io/hostname", name)]));
    let taken = NodeThere {
        name: model::ObjectName::new("n").unwrap(),
        stage: NodeStage::InFlight,
        labels: [("node.kubernetes.io/instance-type".to_owned(), "box-2".to_owned())].into(),
        taints: vec![],
        startup_taints: vec![],
        allocatable: Default::default(),
        promised: Default::default(),
        pool: None,
        deleting: true,
        volume_limits: Default::default(),
    };
    let left: Vec<String> =
        machine_quotas(&machines, &[taken]).iter().map(|quota| amounts(&quota.remaining).join("")).collect();
    assert_eq!(left, ["nodes 1", "nodes 0"]);
    let types = catalogue(&machines, &StockMemory::default(), now()).types;
    assert!(types[0].requirements.iter().all(|one| one.key != "kubernetes.io/hostname"));
}

/// How often a machine called `box`, whose Node is called `ws-1`, is left when this Node is there.
fn left(called: &str, instance_type: Option<&str>, stage: NodeStage, taints: &[&str]) -> i128 {
    let machine = offering("box", None, CapacityType::OnDemand, &[("kubernetes.io/hostname", "ws-1")]);
    let taint = |key: &&str| Taint { key: (*key).to_owned(), value: String::new(), effect: Effect::NoSchedule };
    let labels = instance_type.map(|own| ("node.kubernetes.io/instance-type".to_owned(), own.to_owned()));
    let node = NodeThere {
        name: model::ObjectName::new(called).unwrap(),
        stage,
        labels: labels.into_iter().collect(),
        taints: taints.iter().map(taint).collect(),
        startup_taints: vec![],
        allocatable: Default::default(),
        promised: Default::default(),
        pool: None,
        deleting: false,
        volume_limits: Default::default(),
    };
    machine_quotas(&[machine], &[node])[0].remaining["nodes"].thousandths() / 1000
}

#[test]
fn a_machine_that_is_up_is_known_by_the_name_of_its_node() {
    let up = NodeStage::Initialized;
    assert_eq!(left("ws-1", None, up, &[]), 0);
    assert_eq!(left("box", None, up, &[]), 1, "its Node has another name");
    assert_eq!(left("ws-1", Some("other"), up, &[]), 1, "it says itself what it is");
    assert_eq!(left("ws-1", None, NodeStage::InFlight, &[]), 1, "a claim has a name of its own");
    assert_eq!(left("n", Some("box"), NodeStage::InFlight, &[]), 0);
}

#[test]
fn a_machine_that_was_switched_off_can_be_had_though_its_node_stays() {
    let off = ["karpenter.sh/disrupted", "node.kubernetes.io/unreachable"];
    for own in [None, Some("box")] {
        assert_eq!(left("ws-1", own, NodeStage::Initialized, &off), 1);
        assert_eq!(left("ws-1", own, NodeStage::Initialized, &off[..1]), 0, "it is being emptied");
        assert_eq!(left("ws-1", own, NodeStage::Initialized, &off[1..]), 1, "somebody else did it");
        let cordoned = [off[1], "node.kubernetes.io/unschedulable"];
        assert_eq!(left("ws-1", own, NodeStage::Initialized, &cordoned), 0, "somebody works on it");
    }
}
