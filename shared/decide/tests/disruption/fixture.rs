//! Small clusters in a few words: pools, nodes with pods on them, and what comes of a decision.

use decide::{
    disruption::{Situation, decide},
    provision::{self, PoolFacts},
};
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use model::{
    CapacityType, ClassRef, InstanceKey, Namespace, ObjectName, Operator, PodKind, Quantity, Requirement, Resources,
    Uid,
    disruption::{
        After, Budget, ClaimHere, Decision, Disruption, Inventory, KeptCode, NodeHere, PodHere, Policy, PoolHere,
        Reason,
    },
    names,
    place::{Catalogue, InstanceType, NodeStage, NodeThere, Offered, PodThere, PodToPlace, Pool, Scene},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

pub const GPU: &str = "nvidia.com/gpu";

/// Types, with processors and cents an hour. Memory is four times the processors in GiB.
const TYPES: [(&str, i128, u64); 5] =
    [("tiny", 1, 5), ("small", 2, 10), ("medium", 4, 20), ("large", 8, 40), ("xlarge", 16, 80)];

pub fn now() -> Timestamp {
    "2026-11-17T10:00:00Z".parse().unwrap()
}

pub fn ago(minutes: i64) -> Timestamp {
    now() - SignedDuration::from_mins(minutes)
}

pub fn whole(amount: i128) -> Quantity {
    Quantity::from_thousandths(amount * 1000)
}

pub fn name(text: &str) -> ObjectName {
    ObjectName::new(text).unwrap()
}

/// A cluster with the pool `default`, which lets all its nodes go at once.
pub struct World {
    pub situation: Situation,
}

/// `n00 medium [1000, 250]`, node by node.
impl core::fmt::Debug for World {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let scene = &self.situation.provision.scene;
        let node = |(at, node): (usize, &NodeThere)| {
            let own = scene.bound.iter().filter(|pod| pod.node == at);
            let pods: Vec<i128> = own.map(|pod| pod.requests["cpu"].thousandths()).collect();
            format!("{} {} {pods:?}", node.name, node.labels[names::INSTANCE_TYPE])
        };
        f.debug_list().entries(scene.nodes.iter().enumerate().map(node)).finish()
    }
}

pub fn pool_here() -> PoolHere {
    PoolHere {
        consolidate_after: After::Time(SignedDuration::from_secs(30)),
        policy: Policy::WhenEmptyOrUnderutilized,
        budgets: vec![budget("100%")],
        time_zone: Ok(TimeZone::UTC),
        moves_gpu_work: false,
        spot_to_spot: false,
        minimum_saving: 50,
        fixed_size: None,
        hash: None,
        class_hash: None,
        images: vec![],
        kubernetes_version: None,
        expire_after: Some(SignedDuration::from_hours(720)),
        termination_grace: None,
        rack: None,
        paused: None,
    }
}

pub fn budget(nodes: &str) -> Budget {
    Budget { nodes: nodes.to_owned(), ..Budget::default() }
}

impl World {
    pub fn new() -> Self {
        let scene = Scene { catalogues: vec![catalogue()], ..Scene::default() };
        let provision = provision::Situation { scene, pools: vec![], claims: vec![], now: now() };
        let mut world = World { situation: Situation { provision, inventory: Inventory::default() } };
        world.pool("default");
        world
    }

    pub fn pool(&mut self, text: &str) -> &mut Self {
        let facts = PoolFacts {
            allowance: Default::default(),
            owner: None,
            class: ClassRef { group: "test".into(), kind: "TestClass".into(), name: name("default") },
            provider: "",
            annotations: BTreeMap::new(),
            expire_after: None,
            termination_grace_period: None,
            offerings: Arc::from([]),
        };
        let required = |key: &str, value: &str| {
            Requirement { key: key.into(), operator: Operator::In, values: vec![value.into()] }.into()
        };
        self.situation.provision.pools.push(facts);
        self.situation.inventory.pools.push(pool_here());
        self.situation.provision.scene.pools.push(Pool {
            name: name(text),
            weight: 0,
            labels: BTreeMap::new(),
            requirements: vec![required(names::CAPACITY_TYPE, "on-demand")],
            taints: vec![],
            spot_taints: vec![],
            startup_taints: vec![],
            limits: Resources::new(),
            used: Resources::new(),
            catalogue: 0,
            closed: None,
        });
        self
    }

    /// Of the pool `default`, or of another: `name` or `pool/name`.
    pub fn node(&mut self, text: &str, instance_type: &str) -> &mut Self {
        let (pool, node) = text.split_once('/').unwrap_or(("default", text));
        let catalogue = &self.situation.provision.scene.catalogues[0];
        let found = catalogue.types.iter().find(|one| one.name == instance_type).unwrap();
        let labels = [
            (names::NODE_POOL, pool),
            (names::INSTANCE_TYPE, instance_type),
            (names::CAPACITY_TYPE, "on-demand"),
            (names::ZONE, "a"),
            (names::ARCH, "amd64"),
            (names::OS, "linux"),
        ];
        let there = NodeThere {
            name: name(node),
            stage: NodeStage::Initialized,
            labels: labels.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
            taints: vec![],
            startup_taints: vec![],
            allocatable: found.allocatable.clone(),
            promised: found.allocatable.clone(),
            pool: Some(name(pool)),
            deleting: false,
            volume_limits: BTreeMap::new(),
        };
        let at = self.situation.provision.scene.nodes.len();
        self.situation.provision.scene.nodes.push(there);
        self.situation.inventory.nodes.push(NodeHere {
            node: at,
            created_at: ago(120),
            claim: Some(ClaimHere {
                key: InstanceKey {
                    claim: Uid::new(format!("uid-{node}")).unwrap(),
                    name: name(&format!("claim-{node}")),
                },
                created_at: ago(120),
                initialized_at: Some(ago(115)),
                last_pod_event: None,
                expire_after: Some(SignedDuration::from_hours(720)),
                termination_grace: None,
                drifted: None,
                pool_hash: None,
                class_hash: None,
                image: None,
            }),
            ready: true,
            cordoned: false,
            do_not_disrupt: false,
            do_not_repair: false,
            control_plane: false,
            runs_us: false,
            disrupted: false,
            nominated: None,
            unhealthy: None,
            kubelet_version: None,
            last_came: None,
            changed_at: None,
        });
        self.count_limits();
        self
    }

    pub fn count_limits(&mut self) {
        let scene = &mut self.situation.provision.scene;
        for pool in &mut scene.pools {
            let own = scene.nodes.iter().filter(|node| node.pool.as_ref() == Some(&pool.name) && !node.deleting);
            let mut used = Resources::from([("nodes".to_owned(), whole(0))]);
            for node in own {
                for (name, amount) in node.allocatable.iter().chain([(&"nodes".to_owned(), &whole(1))]) {
                    let sum = used.entry(name.clone()).or_default();
                    *sum = Quantity::from_thousandths(sum.thousandths() + amount.thousandths());
                }
            }
            pool.used = used;
        }
    }

    /// A pod on the node that was added last, with thousandths of a processor.
    pub fn pod(&mut self, text: &str, milli: i128) -> &mut Self {
        let on = self.situation.provision.scene.nodes.len() - 1;
        let mut pod = PodToPlace::new(Namespace::new("default").unwrap(), name(text), Uid::new(text).unwrap());
        pod.requests = Resources::from([("cpu".to_owned(), Quantity::from_thousandths(milli))]);
        pod.labels = model::Labels::from([("app".to_owned(), text.to_owned())]);
        self.bind(pod, on, PodKind::Ordinary)
    }

    pub fn daemon(&mut self, text: &str) -> &mut Self {
        self.pod(text, 100);
        let pod = self.last_pod();
        (pod.kind, pod.moves) = (PodKind::Daemon, None);
        self
    }

    pub fn bind(&mut self, pod: PodToPlace, on: usize, kind: PodKind) -> &mut Self {
        self.situation.provision.scene.bound.push(PodThere {
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
            node: on,
            labels: pod.labels.clone(),
            requests: pod.requests.clone(),
            anti_affinity: pod.anti_affinity.clone(),
            host_ports: pod.host_ports.clone(),
            volumes: vec![],
            terminating: false,
            daemon: None,
        });
        self.situation.inventory.pods.push(PodHere {
            uid: Some(pod.uid.clone()),
            kind,
            moves: Some(pod),
            ignored: false,
            do_not_disrupt: None,
            started_at: Some(ago(60)),
            budgets: vec![],
            unready: false,
            stays: false,
            cost: 0,
            priority: 0,
        });
        self
    }

    pub fn last_pod(&mut self) -> &mut PodHere {
        self.situation.inventory.pods.last_mut().unwrap()
    }

    pub fn last_node(&mut self) -> &mut NodeHere {
        self.situation.inventory.nodes.last_mut().unwrap()
    }

    pub fn last_claim(&mut self) -> &mut ClaimHere {
        self.last_node().claim.as_mut().unwrap()
    }

    pub fn last_there(&mut self) -> &mut NodeThere {
        self.situation.provision.scene.nodes.last_mut().unwrap()
    }

    pub fn rules(&mut self) -> &mut PoolHere {
        self.situation.inventory.pools.last_mut().unwrap()
    }

    pub fn last_pool(&mut self) -> &mut Pool {
        self.situation.provision.scene.pools.last_mut().unwrap()
    }

    pub fn decide(&self) -> Decision {
        let decision = decide(&self.situation, &mut || true);
        self.sound(&decision);
        decision
    }

    /// What holds of every decision: each node goes once or stays once, and only if it may; every pod that moves has a place.
    fn sound(&self, decision: &Decision) {
        let gone: Vec<&str> =
            decision.disruptions.iter().flat_map(|one| &one.nodes).map(|one| one.node.as_str()).collect();
        let kept: Vec<&str> = decision.kept.iter().map(|one| one.node.as_str()).collect();
        let mut all: Vec<&str> = gone.iter().chain(&kept).copied().collect();
        all.sort_unstable();
        let mut nodes: Vec<&str> = self.situation.provision.scene.nodes.iter().map(|node| node.name.as_str()).collect();
        nodes.sort_unstable();
        assert_eq!(all, nodes, "every node goes once or stays once");
        assert!(decision.kept.iter().all(|one| !one.reason.is_empty()));
        for one in &decision.disruptions {
            assert!(one.moves.iter().all(|to| match &to.to {
                model::disruption::To::Node(node) => !gone.contains(&node.as_str()),
                model::disruption::To::Replacement(at) => *at < one.replacements.len(),
                model::disruption::To::Later => one.order == model::disruption::Order::TerminateFirst,
            }));
        }
    }
}

/// `reason nodes -> what comes`, command by command: `Underutilized a,b -> medium`.
pub fn told(decision: &Decision, world: &World) -> Vec<String> {
    let catalogue = &world.situation.provision.scene.catalogues[0];
    let one = |one: &Disruption| {
        let nodes: Vec<&str> = one.nodes.iter().map(|node| node.node.as_str()).collect();
        let new: Vec<&str> = one
            .replacements
            .iter()
            .map(|made| catalogue.types[made.planned.offerings[0].instance_type as usize].name.as_str())
            .collect();
        let first = if one.order == model::disruption::Order::TerminateFirst { " first" } else { "" };
        format!("{} {}{first} -> {}", one.reason, nodes.join(","), new.join(",")).trim_end().to_owned()
    };
    decision.disruptions.iter().map(one).collect()
}

pub fn check(world: &World, expected: &[&str]) -> Decision {
    let decision = world.decide();
    assert_eq!(told(&decision, world), expected, "{:#?}", decision.kept);
    decision
}

/// Nothing goes, and the node stays for this reason.
pub fn stays(world: &World, node: &str, code: KeptCode) -> String {
    let decision = world.decide();
    let kept = decision.kept.iter().find(|one| one.node.as_str() == node);
    let kept = kept.unwrap_or_else(|| panic!("{node} goes: {:?}", told(&decision, world)));
    assert_eq!(kept.code, code, "{}", kept.reason);
    kept.reason.clone()
}

/// How many nodes go for a reason.
pub fn going(decision: &Decision, reason: Reason) -> usize {
    decision.disruptions.iter().filter(|one| one.reason == reason).map(|one| one.nodes.len()).sum()
}

fn catalogue() -> Catalogue {
    let mut types: Vec<InstanceType> =
        TYPES.iter().map(|(name, cpu, cents)| instance_type(name, *cpu, *cents, 0)).collect();
    types.push(instance_type("gpu-1", 8, 200, 1));
    types.push(instance_type("gpu-4", 32, 800, 4));
    Catalogue { types, complete: true }
}

fn instance_type(name: &str, cpu: i128, cents: u64, gpus: i128) -> InstanceType {
    let mut capacity = Resources::from([
        ("cpu".to_owned(), whole(cpu)),
        ("memory".to_owned(), whole((cpu * 4) << 30)),
        ("pods".to_owned(), whole(110)),
    ]);
    if gpus > 0 {
        capacity.insert(GPU.to_owned(), whole(gpus));
    }
    let one =
        |key: &str, value: &str| Requirement { key: key.into(), operator: Operator::In, values: vec![value.into()] };
    let offered = |zone: &str, capacity_type, price| Offered {
        zone: Some(zone.to_owned()),
        capacity_type,
        price: Some(price),
        available: true,
        requirements: vec![],
        reservation: None,
    };
    let offerings = ["a", "b"].into_iter().flat_map(|zone| {
        [offered(zone, CapacityType::OnDemand, cents * 10_000), offered(zone, CapacityType::Spot, cents * 6_000)]
    });
    InstanceType {
        name: name.to_owned(),
        requirements: vec![one(names::ARCH, "amd64"), one(names::OS, "linux")],
        allocatable: capacity.clone(),
        capacity,
        volume_limits: BTreeMap::new(),
        offerings: offerings.collect(),
    }
}

/// Names that go, in order.
pub fn gone(decision: &Decision) -> BTreeSet<String> {
    decision.disruptions.iter().flat_map(|one| &one.nodes).map(|one| one.node.to_string()).collect()
}
