//! The workload of Karpenter's scheduling benchmark, rebuilt: its instance types, and pods from lines `kind,label,selector,cpu_m,mem_Mi`.

use std::collections::BTreeMap;

use model::place::{
    Catalogue, InstanceType, NodeTerm, Offered, PodTerm, PodToPlace, Pool, Scene, Selector, Spread, Weighted,
};
use model::{CapacityType, Namespace, ObjectName, Operator, Quantity, Requirement, Resources, Uid, names};

use crate::Result;

const TYPES: u64 = 400;
const MEBI: i128 = 1 << 20;

/// A pool without any rule, and pods, one for each line.
pub fn scene(lines: &str) -> Result<Scene> {
    let mut pods = vec![];
    for (at, line) in lines.lines().enumerate() {
        pods.push(pod(at, line).map_err(|cause| format!("line {}: {cause}", at + 1))?);
    }
    with_types(pods)
}

/// The benchmark's pods with preferences only: they would like to be in one zone, and apart from each other.
pub fn preferences(count: usize) -> Result<Scene> {
    let apart = |weight, key: &str| Weighted { weight, term: PodTerm::own_namespace(key, selector("app", "nginx")) };
    let in_zone = Requirement { key: names::ZONE.into(), operator: Operator::In, values: vec!["test-zone-1".into()] };
    let mut pods = vec![];
    for at in 0..count {
        let mut pod = plain(at, &[("app", "nginx")], 100, 4096)?;
        let term = NodeTerm { expressions: vec![in_zone.clone()], fields: vec![] };
        pod.preferred_node_affinity = vec![Weighted { weight: 1, term }];
        pod.preferred_anti_affinity = vec![apart(10, names::ZONE), apart(1, names::HOSTNAME)];
        pods.push(pod);
    }
    with_types(pods)
}

fn with_types(pods: Vec<PodToPlace>) -> Result<Scene> {
    let limits = amounts(&[("cpu", 10_000_000_000), ("memory", 10_000_000 * 1024 * MEBI * 1000)]);
    let pool = Pool { limits, ..pool("default")? };
    let types = (1..=TYPES).map(instance_type).collect();
    Ok(Scene { pods, pools: vec![pool], catalogues: vec![Catalogue { types, complete: true }], ..Scene::default() })
}

/// A pool without any rule, over the first catalogue.
pub fn pool(name: &str) -> Result<Pool> {
    Ok(Pool {
        name: ObjectName::new(name)?,
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
    })
}

/// A type with so many CPUs and twice as many GiB.
fn instance_type(cpus: u64) -> InstanceType {
    let memory = i128::from(cpus) * 2 * 1024 * MEBI;
    let capacity = |cpu: i128, memory: i128| {
        amounts(&[("cpu", cpu), ("memory", memory * 1000), ("pods", i128::from(cpus) * 10_000)])
    };
    let is_large = cpus > 4;
    let mut requirements = vec![
        one_of(names::ARCH, &["amd64"]),
        one_of(names::OS, &["darwin", "linux", "windows"]),
        one_of("integer", &[&cpus.to_string()]),
        one_of("size", &[if is_large { "large" } else { "small" }]),
    ];
    if is_large {
        requirements.push(one_of("special", &["optional"]));
    }
    let dollars = 0.1 * cpus as f64 + 0.1 * memory as f64 / 1e9;
    let offered = |capacity_type, zone: &str| Offered {
        zone: Some(zone.into()),
        capacity_type,
        price: Some((dollars * 1e6).round() as u64),
        available: true,
        requirements: vec![],
        reservation: None,
    };
    let (spot, on_demand) = (CapacityType::Spot, CapacityType::OnDemand);
    InstanceType {
        name: format!("fake-it-{}", cpus - 1),
        requirements,
        capacity: capacity(i128::from(cpus) * 1000, memory),
        allocatable: capacity(i128::from(cpus) * 1000 - 100, memory - 10 * MEBI),
        volume_limits: BTreeMap::new(),
        offerings: vec![
            offered(spot, "test-zone-1"),
            offered(spot, "test-zone-2"),
            offered(on_demand, "test-zone-1"),
            offered(on_demand, "test-zone-2"),
            offered(on_demand, "test-zone-3"),
        ],
    }
}

fn pod(at: usize, line: &str) -> Result<PodToPlace> {
    let [kind, label, selected, cpu, memory] = line.split(',').collect::<Vec<_>>()[..] else {
        return Err(format!("{line:?} has not five fields").into());
    };
    let (cpu, memory) = (cpu.parse()?, memory.parse()?);
    let spread = |key: &str| vec![Spread::hard(key, 1, selector("my-label", selected))];
    let term = |key: &str, of: &str, value: &str| vec![PodTerm::own_namespace(key, selector(of, value))];
    Ok(match kind {
        "generic" => plain(at, &[("my-label", label)], cpu, memory)?,
        "spread-zone" => PodToPlace { spread: spread(names::ZONE), ..plain(at, &[("my-label", label)], cpu, memory)? },
        "spread-host" => {
            PodToPlace { spread: spread(names::HOSTNAME), ..plain(at, &[("my-label", label)], cpu, memory)? }
        }
        "affinity-zone" => {
            let affinity = term(names::ZONE, "my-affininity", selected);
            PodToPlace { affinity, ..plain(at, &[("my-affininity", label)], cpu, memory)? }
        }
        "anti-host" => {
            let anti_affinity = term(names::HOSTNAME, "app", selected);
            PodToPlace { anti_affinity, ..plain(at, &[("app", label)], cpu, memory)? }
        }
        _ => return Err(format!("{kind:?} is no kind of pod").into()),
    })
}

fn plain(at: usize, labels: &[(&str, &str)], cpu_milli: i128, memory_mib: i128) -> Result<PodToPlace> {
    let name = format!("pod-{at:05}");
    let mut pod = PodToPlace::new(Namespace::new("default")?, ObjectName::new(name.clone())?, Uid::new(name)?);
    pod.labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    pod.requests = amounts(&[("cpu", cpu_milli), ("memory", memory_mib * MEBI * 1000)]);
    Ok(pod)
}

fn selector(key: &str, value: &str) -> Selector {
    Selector { labels: [(key.to_owned(), value.to_owned())].into(), expressions: vec![] }
}

fn one_of(key: &str, values: &[&str]) -> Requirement {
    Requirement {
        key: key.into(),
        operator: Operator::In,
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    }
}

pub fn amounts(of: &[(&str, i128)]) -> Resources {
    of.iter().map(|(name, thousandths)| ((*name).to_owned(), Quantity::from_thousandths(*thousandths))).collect()
}
