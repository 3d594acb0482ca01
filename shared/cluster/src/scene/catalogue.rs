//! What providers offer, offering by offering, as the catalogue of types that placing goes through.

use jiff::Timestamp;
use model::{
    Arch, Offering, Operator, Requirement, Resources, Stock, StockMemory, names,
    place::{Catalogue, InstanceType, NodeThere, Offered, Quota},
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
    Catalogue { types }
}

/// A machine that exists is there once: whoever uses it, nobody else can. For offerings of providers with one machine an offering.
pub fn machine_quotas(machines: &[Offering], nodes: &[NodeThere]) -> Vec<Quota> {
    let quota = |machine: &Offering| {
        let name = &machine.id.instance_type;
        let taken = nodes.iter().any(|node| node.labels.get(names::INSTANCE_TYPE) == Some(name));
        Quota {
            name: format!("the one machine {name}"),
            counts: vec![only(names::INSTANCE_TYPE, name)],
            remaining: Resources::from([("nodes".to_owned(), whole(i64::from(!taken)))]),
        }
    };
    machines.iter().map(quota).collect()
}

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
