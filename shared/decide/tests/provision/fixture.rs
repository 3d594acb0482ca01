//! Small clusters in a few words: a pool, what it can buy, nodes, pods.

use decide::provision::{PoolFacts, Provisioning, Situation, Told, plan};
use jiff::Timestamp;
use model::{
    Arch, CapacityType, Claim, ClassRef, Condition, ConditionKind, InstanceKey, Namespace, ObjectName, Offering,
    OfferingId, Operator, PodRef, PoolRef, Price, Quantity, Requirement, Resources, Stock, Truth, Uid, names,
    place::{Catalogue, InstanceType, NodeStage, NodeThere, Offered, PodThere, PodToPlace, Pool, Scene},
};
use std::collections::BTreeMap;

use crate::common;

pub const GPU: &str = "nvidia.com/gpu";

pub fn now() -> Timestamp {
    "2026-11-17T10:00:00Z".parse().unwrap()
}

pub fn whole(amount: i128) -> Quantity {
    Quantity::from_thousandths(amount * 1000)
}

pub fn name(text: &str) -> ObjectName {
    ObjectName::new(text).unwrap()
}

pub fn uid(text: &str) -> Uid {
    Uid::new(text).unwrap()
}

pub fn pod(text: &str, gpus: i128) -> PodToPlace {
    let mut pod = PodToPlace::new(Namespace::new("default").unwrap(), name(text), uid(text));
    pod.requests = Resources::from([("cpu".to_owned(), whole(1)), (GPU.to_owned(), whole(gpus))]);
    pod
}

pub fn reference(pod: &PodToPlace) -> PodRef {
    PodRef { namespace: pod.namespace.clone(), name: pod.name.clone(), uid: pod.uid.clone() }
}

/// A type with so many GPUs, at so many cents an hour.
pub fn offering(provider: &str, instance_type: &str, gpus: i128, cents: u64) -> Offering {
    Offering {
        id: OfferingId {
            provider: provider.into(),
            instance_type: instance_type.into(),
            zone: None,
            capacity_type: CapacityType::OnDemand,
        },
        gpu: None,
        capacity: Resources::from([
            (GPU.to_owned(), whole(gpus)),
            ("cpu".to_owned(), whole(64)),
            ("pods".to_owned(), whole(110)),
        ]),
        arch: Arch::Amd64,
        price: Some(Price {
            millionths_per_hour: cents * 10_000,
            currency: "EUR".into(),
            as_of: "2026-11-01".parse().unwrap(),
        }),
        labels: BTreeMap::new(),
        stock: Stock::Available,
    }
}

fn instance_type(of: &Offering) -> InstanceType {
    InstanceType {
        name: of.id.instance_type.clone(),
        requirements: vec![
            Requirement { key: names::ARCH.into(), operator: Operator::In, values: vec!["amd64".into()] },
            Requirement { key: names::OS.into(), operator: Operator::In, values: vec!["linux".into()] },
        ],
        capacity: of.capacity.clone(),
        allocatable: of.capacity.clone(),
        volume_limits: BTreeMap::new(),
        offerings: vec![Offered {
            zone: None,
            capacity_type: CapacityType::OnDemand,
            price: of.price.as_ref().map(|price| price.millionths_per_hour),
            available: true,
            requirements: vec![],
            reservation: None,
        }],
    }
}

/// One pool called `gpu` that can buy these, and pods that wait.
pub fn situation(provider: &'static str, offerings: Vec<Offering>, pods: Vec<PodToPlace>) -> Situation {
    let (group, kind) = if provider == "power" {
        ("pilotlight.dev", "PowerNodeClass")
    } else {
        ("pilotlight.dev", "ScalewayNodeClass")
    };
    let class = ClassRef { group: group.into(), kind: kind.into(), name: name("default") };
    let pool = Pool {
        name: name("gpu"),
        weight: 0,
        labels: BTreeMap::from([("team".into(), "a".into())]),
        requirements: vec![],
        taints: vec![],
        spot_taints: vec![],
        startup_taints: vec![],
        limits: Resources::new(),
        used: Resources::new(),
        catalogue: 0,
        closed: None,
    };
    let types = offerings.iter().map(instance_type).collect();
    let scene =
        Scene { pods, pools: vec![pool], catalogues: vec![Catalogue { types, complete: true }], ..Scene::default() };
    let facts = PoolFacts {
        owner: Some(PoolRef { name: name("gpu"), uid: uid("pool") }),
        class,
        provider,
        annotations: BTreeMap::new(),
        expire_after: Some("Never".into()),
        termination_grace_period: None,
        offerings: offerings.into(),
        allowance: Default::default(),
    };
    Situation { scene, pools: vec![facts], claims: vec![], now: now() }
}

pub fn decide(situation: &Situation) -> Provisioning {
    plan(situation, &mut || true)
}

/// A node with these GPUs, of which pods have some.
pub fn add_node(situation: &mut Situation, text: &str, gpus: i128, used: i128) {
    let at = situation.scene.nodes.len();
    let allocatable = Resources::from([
        (GPU.to_owned(), whole(gpus)),
        ("cpu".to_owned(), whole(64)),
        ("pods".to_owned(), whole(110)),
    ]);
    situation.scene.nodes.push(NodeThere {
        name: name(text),
        stage: NodeStage::Initialized,
        labels: BTreeMap::from([(names::INSTANCE_TYPE.to_owned(), text.to_owned())]),
        taints: vec![],
        startup_taints: vec![],
        allocatable,
        promised: Resources::new(),
        pool: Some(name("gpu")),
        deleting: false,
        volume_limits: BTreeMap::new(),
    });
    if used > 0 {
        let wanted = pod(&format!("on-{text}"), used);
        situation.scene.bound.push(PodThere {
            namespace: wanted.namespace,
            name: wanted.name,
            node: at,
            labels: model::Labels::new(),
            requests: wanted.requests,
            anti_affinity: vec![],
            host_ports: vec![],
            volumes: vec![],
            terminating: false,
            daemon: None,
        });
    }
}

/// A claim that stands in the cluster.
pub fn claim(text: &str, class: &ClassRef) -> Claim {
    Claim {
        key: InstanceKey { claim: uid(text), name: name(text) },
        created_at: now(),
        labels: BTreeMap::from([(names::NODE_POOL.to_owned(), "gpu".to_owned())]),
        class: class.clone(),
        ..common::claim(text)
    }
}

pub fn initialized(claim: &mut Claim, seconds_ago: i64) {
    claim.status.conditions.push(Condition {
        kind: ConditionKind::Initialized,
        status: Truth::True,
        reason: "Initialized".into(),
        message: String::new(),
        since: now() - jiff::SignedDuration::from_secs(seconds_ago),
    });
}

/// The cluster after a decision was carried out: its claims are there, without nodes.
pub fn carried_out(situation: &Situation, done: &Provisioning) -> Situation {
    let mut next = situation.clone();
    for made in &done.claims {
        let mut there = claim(made.name.as_str(), &made.class);
        there.annotations = made.annotations.clone();
        there.labels = made.labels.clone();
        there.requirements = made.requirements.iter().map(|one| one.requirement.clone()).collect();
        let types = &next.scene.catalogues[0].types;
        let listed = made.requirements.iter().find(|one| one.requirement.key == names::INSTANCE_TYPE).unwrap();
        let first = types.iter().filter(|one| listed.requirement.values.contains(&one.name));
        let first = first.min_by_key(|one| one.offerings[0].price).unwrap().clone();
        next.scene.nodes.push(NodeThere {
            name: made.name.clone(),
            stage: NodeStage::InFlight,
            labels: made.labels.clone(),
            taints: vec![],
            startup_taints: vec![],
            allocatable: first.allocatable.clone(),
            promised: first.allocatable,
            pool: Some(name("gpu")),
            deleting: false,
            volume_limits: BTreeMap::new(),
        });
        next.claims.push(there);
    }
    next
}

/// The types that each claim may become, claim by claim.
pub fn types_of(done: &Provisioning) -> Vec<Vec<String>> {
    let of = |claim: &model::ClaimToMake| {
        let listed = claim.requirements.iter().find(|one| one.requirement.key == names::INSTANCE_TYPE);
        listed.map(|one| one.requirement.values.clone()).unwrap_or_default()
    };
    let mut types: Vec<Vec<String>> = done.claims.iter().map(of).collect();
    types.sort();
    types
}

pub fn told<'a>(done: &'a Provisioning, pod: &PodToPlace) -> &'a Told {
    done.told(&reference(pod)).expect("every pod is told something")
}
