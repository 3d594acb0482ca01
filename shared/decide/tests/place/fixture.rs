//! A small market and the words to speak about it: pods, pools and nodes in a line each.

use std::collections::BTreeMap;

use decide::place::place;
use model::place::{
    Catalogue, InstanceType, NodeStage, NodeTerm, NodeThere, Offered, Placing, PodTerm, PodThere, PodToPlace, Pool,
    PoolRequirement, Scene, Selector, Spread, Where, Why,
};
use model::{
    CapacityType, Effect, Namespace, ObjectName, Operator, Quantity, Requirement, Resources, Taint, Toleration, Uid,
    names,
};

use crate::holds::violations;

pub const ZONES: [&str; 3] = ["zone-a", "zone-b", "zone-c"];
pub const GPU: &str = "nvidia.com/gpu";

/// Four types without GPUs and two with them, in three zones, spot at half the price, one pool over all of them.
pub fn scene(pods: Vec<PodToPlace>) -> Scene {
    let types = vec![
        machine("small", "2", "8Gi", 0, 100_000),
        machine("medium", "4", "16Gi", 0, 200_000),
        machine("large", "16", "64Gi", 0, 800_000),
        machine("memory", "4", "64Gi", 0, 500_000),
        machine("gpu-1", "8", "64Gi", 1, 2_000_000),
        machine("gpu-8", "64", "512Gi", 8, 16_000_000),
    ];
    Scene {
        pods,
        pools: vec![pool("default")],
        catalogues: vec![Catalogue { types, complete: true }],
        ..Scene::default()
    }
}

pub fn machine(name: &str, cpu: &str, memory: &str, gpus: u32, price: u64) -> InstanceType {
    let mut capacity = resources(&[("cpu", cpu), ("memory", memory), ("pods", "110")]);
    if gpus > 0 {
        capacity.insert(GPU.into(), gpus.to_string().parse().unwrap());
    }
    let offered = |zone: &&str, capacity_type| Offered {
        zone: Some((*zone).to_owned()),
        capacity_type,
        price: Some(if capacity_type == CapacityType::Spot { price / 2 } else { price }),
        available: true,
        requirements: vec![],
        reservation: None,
    };
    let offerings =
        ZONES.iter().flat_map(|zone| [offered(zone, CapacityType::OnDemand), offered(zone, CapacityType::Spot)]);
    InstanceType {
        name: name.into(),
        requirements: vec![asks("kubernetes.io/arch In amd64"), asks("kubernetes.io/os In linux")],
        allocatable: capacity.clone(),
        capacity,
        volume_limits: BTreeMap::new(),
        offerings: offerings.collect(),
    }
}

pub fn pool(name: &str) -> Pool {
    Pool {
        name: ObjectName::new(name).unwrap(),
        weight: 0,
        labels: BTreeMap::new(),
        requirements: vec![],
        taints: vec![],
        spot_taints: vec![],
        startup_taints: vec![],
        limits: Resources::new(),
        used: Resources::new(),
        catalogue: 0,
        closed: None,
    }
}

/// A pod that asks for one CPU.
pub fn pod(name: &str) -> PodToPlace {
    let mut pod =
        PodToPlace::new(Namespace::new("default").unwrap(), ObjectName::new(name).unwrap(), Uid::new(name).unwrap());
    pod.requests = resources(&[("cpu", "1")]);
    pod
}

/// Numbered pods that are made alike.
pub fn pods(name: &str, count: usize, make: impl Fn(PodToPlace) -> PodToPlace) -> Vec<PodToPlace> {
    (0..count).map(|at| make(pod(&format!("{name}-{at}")))).collect()
}

/// A node that is up, of the type `medium` in the first zone.
pub fn node(name: &str) -> NodeThere {
    let has = [
        (names::HOSTNAME, name),
        (names::ZONE, ZONES[0]),
        (names::INSTANCE_TYPE, "medium"),
        (names::CAPACITY_TYPE, "on-demand"),
        (names::ARCH, "amd64"),
        (names::OS, "linux"),
        (names::NODE_POOL, "default"),
    ];
    NodeThere {
        name: ObjectName::new(name).unwrap(),
        stage: NodeStage::Initialized,
        labels: labels(&has),
        taints: vec![],
        startup_taints: vec![],
        allocatable: resources(&[("cpu", "4"), ("memory", "16Gi"), ("pods", "110")]),
        promised: Resources::new(),
        pool: Some(ObjectName::new("default").unwrap()),
        deleting: false,
        volume_limits: BTreeMap::new(),
    }
}

/// A pod on a node, by position, that takes one CPU.
pub fn bound(name: &str, node: usize, has: &[(&str, &str)]) -> PodThere {
    PodThere {
        namespace: Namespace::new("default").unwrap(),
        name: ObjectName::new(name).unwrap(),
        node,
        labels: labels(has),
        requests: resources(&[("cpu", "1")]),
        anti_affinity: vec![],
        host_ports: vec![],
        volumes: vec![],
        terminating: false,
        daemon: None,
    }
}

pub fn labels<L: FromIterator<(String, String)>>(of: &[(&str, &str)]) -> L {
    of.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

pub fn resources(of: &[(&str, &str)]) -> Resources {
    of.iter().map(|(name, amount)| ((*name).to_owned(), amount.parse::<Quantity>().unwrap())).collect()
}

/// `key Operator value,value`.
pub fn asks(text: &str) -> Requirement {
    let mut words = text.split(' ');
    let key = words.next().unwrap().to_owned();
    let operator: Operator = words.next().unwrap().parse().unwrap();
    let values = words.next().map(|values| values.split(',').map(str::to_owned).collect()).unwrap_or_default();
    Requirement { key, operator, values }
}

pub fn term(expressions: &[&str]) -> NodeTerm {
    NodeTerm { expressions: expressions.iter().map(|text| asks(text)).collect(), fields: vec![] }
}

pub fn min_values(text: &str, least: u32) -> PoolRequirement {
    PoolRequirement { requirement: asks(text), min_values: Some(least) }
}

pub fn selector(of: &[(&str, &str)]) -> Selector {
    Selector { labels: labels(of), expressions: vec![] }
}

pub fn with_app(key: &str, app: &str) -> PodTerm {
    PodTerm::own_namespace(key, selector(&[("app", app)]))
}

pub fn spread(key: &str, skew: u32, app: &str) -> Spread {
    Spread::hard(key, skew, selector(&[("app", app)]))
}

pub fn taint(key: &str, effect: Effect) -> Taint {
    Taint { key: key.into(), value: String::new(), effect }
}

pub fn tolerates(key: &str) -> Toleration {
    Toleration { key: Some(key.into()), value: None, effect: None }
}

/// Solves, and holds the answer to every rule.
pub fn solve(scene: &Scene) -> Placing {
    let placing = place(scene, &mut || true);
    let broken = violations(scene, &placing);
    assert!(broken.is_empty(), "{broken:#?}\n{placing:#?}");
    assert_eq!(place(scene, &mut || true), placing, "the same scene gives the same answer");
    placing
}

/// Solves a scene in which every pod finds a place.
pub fn solve_all(scene: &Scene) -> Placing {
    let placing = solve(scene);
    for (pod, on) in scene.pods.iter().zip(&placing.pods) {
        assert!(!matches!(on, Where::Nowhere(_)), "{}: {on:?}", pod.name);
    }
    placing
}

pub fn on(scene: &Scene, placing: &Placing, pod: usize) -> String {
    placing.pods[pod].name(scene, placing).unwrap_or_else(|| "nowhere".to_owned())
}

pub fn why(placing: &Placing, pod: usize) -> &Why {
    match &placing.pods[pod] {
        Where::Nowhere(why) => why,
        placed => panic!("it has a place: {placed:?}"),
    }
}

pub fn placed(placing: &Placing) -> usize {
    placing.pods.iter().filter(|on| !matches!(on, Where::Nowhere(_))).count()
}

/// The cheapest type of a claim.
pub fn cheapest<'s>(scene: &'s Scene, placing: &Placing, claim: usize) -> &'s str {
    let of = placing.claims[claim].offerings[0];
    &scene.catalogues[scene.pools[placing.claims[claim].pool].catalogue].types[of.instance_type as usize].name
}

/// The names of all types of a claim.
pub fn types<'s>(scene: &'s Scene, placing: &Placing, claim: usize) -> Vec<&'s str> {
    let claim = &placing.claims[claim];
    let all = &scene.catalogues[scene.pools[claim.pool].catalogue].types;
    let mut names: Vec<&str> = claim.offerings.iter().map(|of| all[of.instance_type as usize].name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The zones that a claim leaves open, and its other values, by key.
pub fn values(scene: &Scene, placing: &Placing, claim: usize, key: &str) -> Vec<String> {
    let all = placing.claims[claim].all_requirements(scene);
    all.into_iter().find(|of| of.requirement.key == key).map(|of| of.requirement.values).unwrap_or_default()
}

/// The scene after its claims were made: each on its way as its cheapest offering, and the pods still waiting for them.
pub fn carried_out(scene: &Scene, placing: &Placing) -> Scene {
    let mut next = scene.clone();
    for claim in &placing.claims {
        let of = claim.offerings[0];
        let kind = &scene.catalogues[scene.pools[claim.pool].catalogue].types[of.instance_type as usize];
        let offered = &kind.offerings[of.offering as usize];
        let mut made = node(&format!("made-{}", claim.name));
        made.stage = NodeStage::InFlight;
        made.labels = claim.labels.clone();
        made.labels.insert(names::INSTANCE_TYPE.into(), kind.name.clone());
        made.labels.insert(names::CAPACITY_TYPE.into(), offered.capacity_type.as_str().into());
        made.labels.extend(offered.zone.iter().map(|zone| (names::ZONE.to_owned(), zone.clone())));
        for stated in kind.requirements.iter().filter(|stated| stated.operator == Operator::In) {
            made.labels.entry(stated.key.clone()).or_insert_with(|| stated.values[0].clone());
        }
        made.taints = scene.pools[claim.pool].taints.clone();
        made.allocatable = kind.allocatable.clone();
        made.volume_limits = kind.volume_limits.clone();
        for pod in &claim.pods {
            next.pods[*pod].planned = Some(next.nodes.len());
        }
        next.nodes.push(made);
    }
    for (pod, on) in next.pods.iter_mut().zip(&placing.pods) {
        if let Where::Node(node) = on {
            pod.planned = Some(*node);
        }
    }
    next
}
