//! A cluster after the load has gone down: nodes of three sizes in three zones, between a tenth and all of each in use, by pods of
//! which a fifth must be spread over zones or hosts.

use std::collections::BTreeMap;
use std::sync::Arc;

use decide::disruption::Situation;
use decide::provision::{self, PoolFacts};
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use model::disruption::{After, Budget, ClaimHere, Inventory, NodeHere, PodHere, Policy, PoolHere};
use model::place::{NodeStage, NodeThere, PodThere, PodToPlace};
use model::{ClassRef, InstanceKey, ObjectName, PodKind, Resources, Uid, names};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore as _, SeedableRng as _};

use crate::Result;
use crate::solver::mixed;

/// Positions of the types that nodes are made of: 8, 16 and 32 CPUs.
const TYPES: [usize; 3] = [7, 15, 31];
const ZONES: [&str; 3] = ["test-zone-1", "test-zone-2", "test-zone-3"];

pub fn situation(nodes: usize) -> Result<Situation> {
    let mut stream = ChaCha8Rng::seed_from_u64(7);
    let mut below = |most: u32| stream.next_u32() % most;
    let now: Timestamp = "2026-11-17T10:00:00Z".parse()?;
    let mut lines = String::new();
    for _ in 0..nodes * 24 {
        let cpu = [100, 250, 500, 1000, 1500][below(5) as usize];
        let memory = [100, 256, 512, 1024, 2048][below(5) as usize];
        let label = char::from(b'a' + below(7) as u8);
        let kind = ["spread-zone", "spread-host", "generic"][(below(10) as usize).min(2)];
        lines.push_str(&format!("{kind},{label},{label},{cpu},{memory}\n"));
    }
    let mut scene = mixed(&lines)?;
    let mut waiting = core::mem::take(&mut scene.pods).into_iter();
    let mut inventory = Inventory { pools: vec![pool_here()], ..Inventory::default() };
    for at in 0..nodes {
        let of = TYPES[below(3) as usize];
        let (there, here) = node(at, &scene.catalogues[0].types[of], ZONES[below(3) as usize], now)?;
        let mut left = there.allocatable["cpu"].thousandths() * i128::from(10 + below(90)) / 100;
        let mut memory = there.allocatable["memory"].thousandths();
        scene.nodes.push(there);
        inventory.nodes.push(here);
        for pod in waiting.by_ref() {
            let (cpu, bytes) = (pod.requests["cpu"].thousandths(), pod.requests["memory"].thousandths());
            if cpu > left || bytes > memory {
                break;
            }
            (left, memory) = (left - cpu, memory - bytes);
            scene.bound.push(bound(&pod, at));
            inventory.pods.push(pod_here(pod, now));
        }
    }
    let provision = provision::Situation { scene, pools: vec![facts()?], claims: vec![], now };
    Ok(Situation { provision, inventory })
}

/// Millionths an hour, of all nodes.
pub fn cost(situation: &Situation) -> u64 {
    let scene = &situation.provision.scene;
    let price = |node: &NodeThere| {
        let of = node.labels.get(names::INSTANCE_TYPE)?;
        scene.catalogues[0].types.iter().find(|one| one.name == *of)?.offerings[0].price
    };
    scene.nodes.iter().filter_map(price).sum()
}

fn node(at: usize, of: &model::place::InstanceType, zone: &str, now: Timestamp) -> Result<(NodeThere, NodeHere)> {
    let labels = [
        (names::NODE_POOL, "default"),
        (names::INSTANCE_TYPE, of.name.as_str()),
        (names::CAPACITY_TYPE, "on-demand"),
        (names::ZONE, zone),
        (names::ARCH, "amd64"),
        (names::OS, "linux"),
    ];
    let name = format!("node-{at:05}");
    let there = NodeThere {
        name: ObjectName::new(name.clone())?,
        stage: NodeStage::Initialized,
        labels: labels.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
        taints: vec![],
        startup_taints: vec![],
        allocatable: of.allocatable.clone(),
        promised: Resources::new(),
        pool: Some(ObjectName::new("default")?),
        deleting: false,
        volume_limits: BTreeMap::new(),
    };
    let made = now - SignedDuration::from_hours(5);
    let claim = ClaimHere {
        key: InstanceKey { claim: Uid::new(name.clone())?, name: ObjectName::new(name)? },
        created_at: made,
        initialized_at: Some(made),
        last_pod_event: None,
        expire_after: None,
        termination_grace: None,
        drifted: None,
        pool_hash: None,
        class_hash: None,
        image: None,
    };
    let here = NodeHere {
        node: at,
        created_at: made,
        claim: Some(claim),
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
    };
    Ok((there, here))
}

fn bound(pod: &PodToPlace, node: usize) -> PodThere {
    PodThere {
        namespace: pod.namespace.clone(),
        name: pod.name.clone(),
        node,
        labels: pod.labels.clone(),
        requests: pod.requests.clone(),
        anti_affinity: pod.anti_affinity.clone(),
        host_ports: vec![],
        volumes: vec![],
        terminating: false,
        daemon: None,
    }
}

fn pod_here(pod: PodToPlace, now: Timestamp) -> PodHere {
    PodHere {
        uid: Some(pod.uid.clone()),
        kind: PodKind::Ordinary,
        moves: Some(pod),
        ignored: false,
        do_not_disrupt: None,
        started_at: Some(now),
        budgets: vec![],
        unready: false,
        stays: false,
        cost: 0,
        priority: 0,
    }
}

fn pool_here() -> PoolHere {
    PoolHere {
        consolidate_after: After::Time(SignedDuration::from_secs(30)),
        policy: Policy::WhenEmptyOrUnderutilized,
        budgets: vec![Budget { nodes: "100%".to_owned(), ..Budget::default() }],
        time_zone: Ok(TimeZone::UTC),
        moves_gpu_work: false,
        spot_to_spot: false,
        minimum_saving: 50,
        fixed_size: None,
        hash: None,
        class_hash: None,
        images: vec![],
        kubernetes_version: None,
        expire_after: None,
        termination_grace: None,
        rack: None,
        paused: None,
    }
}

fn facts() -> Result<PoolFacts> {
    Ok(PoolFacts {
        owner: None,
        class: ClassRef { group: "bench".into(), kind: "BenchClass".into(), name: ObjectName::new("default")? },
        provider: "",
        annotations: BTreeMap::new(),
        expire_after: None,
        termination_grace_period: None,
        offerings: Arc::from([]),
        allowance: Default::default(),
    })
}
