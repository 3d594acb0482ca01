//! What providers offer, offering by offering, as the catalogue of types that placing goes through.

use jiff::Timestamp;
use model::{
    Arch, Offering, Operator, Requirement, Resources, Stock, StockMemory, names,
    place::{Catalogue, InstanceType, NodeStage, NodeThere, Offered, Quota},
};
use std::collections::BTreeMap;

use super::amounts::whole;

/// What the solve knows from elsewhere: the name of the type, and what an offering says in fields of its own. A machine's own host
/// name is nothing that a type has.
const SAID_OTHERWISE: [&str; 4] = [names::INSTANCE_TYPE, names::ZONE, names::CAPACITY_TYPE, names::HOSTNAME];

type Labels = BTreeMap<String, String>;

/// Groups offerings by type, in their order. What is out of stock, or was refused lately, is there but cannot be had.
/// Nothing is held back from a type but what DaemonSets need: its capacity is what a node of it shows.
pub fn catalogue(offerings: &[Offering], memory: &StockMemory, now: Timestamp) -> Catalogue {
    let mut groups: Vec<Vec<&Offering>> = Vec::new();
    let mut by_shape: BTreeMap<(&str, &Resources), usize> = BTreeMap::new();
    for offering in offerings {
        let at = *by_shape.entry((&offering.id.instance_type, &offering.capacity)).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(at) {
            group.push(offering);
        }
    }
    let types = groups.iter().filter_map(|group| instance_type(group, memory, now)).collect();
    Catalogue { types, complete: false }
}

/// More of it than any machine has: for machines of which only the GPUs are known.
const PLENTY: [(&str, i64); 4] = [("cpu", 10_000), ("memory", 1 << 50), ("ephemeral-storage", 1 << 60), ("pods", 110)];

/// The catalogue of machines that exist. What nobody said of a machine is no limit; of machines that cost the same, the smallest
/// that suffices comes first: a share of a cent for each GPU decides.
pub fn rack_catalogue(machines: &[Offering], memory: &StockMemory, now: Timestamp) -> Catalogue {
    let mut machines = machines.to_vec();
    for machine in &mut machines {
        let gpus = machine.gpu.as_ref().map_or(0, |gpu| u64::from(gpu.count));
        if let Some(price) = &mut machine.price {
            price.millionths_per_hour = price.millionths_per_hour.saturating_add(gpus);
        }
    }
    let mut catalogue = catalogue(&machines, memory, now);
    // All machines of a rack are listed.
    catalogue.complete = true;
    for machine in &mut catalogue.types {
        fill_with_plenty(&mut machine.allocatable);
    }
    catalogue
}

/// Whatever is not said of a machine.
pub fn fill_with_plenty(amounts: &mut Resources) {
    for (name, plenty) in PLENTY {
        amounts.entry(name.to_owned()).or_insert(whole(plenty));
    }
}

/// A machine that exists is there once: whoever uses it, nobody else can. For offerings of providers with one machine an offering.
pub fn machine_quotas(machines: &[Offering], nodes: &[NodeThere]) -> Vec<Quota> {
    let quota = |machine: &Offering| {
        let name = &machine.id.instance_type;
        Quota {
            name: format!("the one machine {name}"),
            counts: vec![only(names::INSTANCE_TYPE, name)],
            remaining: Resources::from([("nodes".to_owned(), whole(i64::from(!is_up(machine, nodes.iter()))))]),
        }
    };
    machines.iter().map(quota).collect()
}

/// Whether one of the nodes is this machine. It is known by its type, or by the name of its Node: nobody labels the Node of a machine
/// that was always on.
pub fn is_up<'n>(machine: &Offering, mut nodes: impl Iterator<Item = &'n NodeThere>) -> bool {
    let name = &machine.id.instance_type;
    let host = machine.labels.get(names::HOSTNAME).unwrap_or(name);
    let is_it = |node: &NodeThere| match node.labels.get(names::INSTANCE_TYPE) {
        Some(own) => own == name,
        // A claim that has no Node yet is called as it likes.
        None => node.stage != NodeStage::InFlight && node.name.as_str() == host,
    };
    nodes.any(|node| is_it(node) && !is_off(node))
}

/// The Node of a machine that was switched off stays, out of reach: closed, if we did it, or as it was, if somebody else did. Whoever
/// cordons one works on it.
fn is_off(node: &NodeThere) -> bool {
    let has = |key: &str| node.taints.iter().any(|taint| taint.key == key);
    let is_free = has(names::DISRUPTED_TAINT) || (node.pool.is_none() && !has(CORDONED));
    !node.deleting && is_free && (has(UNREACHABLE) || has(NOT_READY))
}

const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const NOT_READY: &str = "node.kubernetes.io/not-ready";
const CORDONED: &str = "node.kubernetes.io/unschedulable";

fn instance_type(group: &[&Offering], memory: &StockMemory, now: Timestamp) -> Option<InstanceType> {
    let first = group.first()?;
    let all: Vec<Labels> = group.iter().map(|offering| labels(offering)).collect();
    let (common, mut requirements) = (shared(&all), Vec::new());
    requirements.extend(common.iter().map(|(key, value)| only(key, value)));
    let offerings = group.iter().zip(&all).map(|(offering, labels)| {
        let own = labels.iter().filter(|(key, _)| !common.contains_key(*key));
        Offered {
            zone: offering.labels.get(names::ZONE).or(offering.id.zone.as_ref()).cloned(),
            capacity_type: offering.id.capacity_type,
            price: offering.price.as_ref().map(|price| price.millionths_per_hour),
            available: offering.stock != Stock::Shortage && memory.against(offering, now).is_none(),
            requirements: own.map(|(key, value)| only(key, value)).collect(),
            reservation: None,
        }
    });
    Some(InstanceType {
        name: first.id.instance_type.clone(),
        requirements,
        capacity: first.capacity.clone(),
        allocatable: first.capacity.clone(),
        volume_limits: BTreeMap::new(),
        offerings: offerings.collect(),
    })
}

fn labels(offering: &Offering) -> Labels {
    let mut labels = offering.labels.clone();
    labels.retain(|key, _| !SAID_OTHERWISE.contains(&key.as_str()));
    let arch = match offering.arch {
        Arch::Amd64 => "amd64",
        Arch::Arm64 => "arm64",
    };
    labels.entry(names::ARCH.to_owned()).or_insert_with(|| arch.to_owned());
    labels.entry(names::OS.to_owned()).or_insert_with(|| "linux".to_owned());
    labels
}

/// What all of them say alike.
fn shared(all: &[Labels]) -> Labels {
    let mut shared = all.first().cloned().unwrap_or_default();
    shared.retain(|key, value| all.iter().all(|labels| labels.get(key) == Some(value)));
    shared
}

fn only(key: &str, value: &str) -> Requirement {
    Requirement { key: key.to_owned(), operator: Operator::In, values: vec![value.to_owned()] }
}
