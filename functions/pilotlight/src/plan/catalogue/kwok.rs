//! The instance-types JSON of Karpenter's KWOK provider.

use model::{
    CapacityType, Operator, Quantity, Requirement, Resources, names,
    place::{Catalogue, InstanceType, Offered, Reservation},
};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

use super::{super::strict::typed, millionths};

const SIZE: &str = "karpenter.kwok.sh/instance-size";
const FAMILY: &str = "karpenter.kwok.sh/instance-family";
const CPU: &str = "karpenter.kwok.sh/instance-cpu";
const MEMORY: &str = "karpenter.kwok.sh/instance-memory";
/// Under which a reservation goes that has no name of its own.
const RESERVATION: &str = "karpenter.kwok.sh/reservation-id";
/// Of a type that does not say how many pods it takes.
const USUAL_PODS: &str = "110";

/// Keys are in small letters here: see [`in_small_letters`].
#[derive(Debug, Deserialize)]
struct Entry {
    #[serde(default)]
    name: String,
    #[serde(default)]
    architecture: String,
    #[serde(default, rename = "operatingsystems")]
    operating_systems: Vec<String>,
    #[serde(default)]
    resources: BTreeMap<String, Value>,
    #[serde(default)]
    offerings: Vec<EntryOffering>,
}

#[derive(Debug, Deserialize)]
struct EntryOffering {
    #[serde(default)]
    price: f64,
    #[serde(default)]
    available: Option<bool>,
    #[serde(default, rename = "reservationcapacity")]
    reservation_capacity: u32,
    #[serde(default)]
    requirements: Vec<EntryRequirement>,
}

#[derive(Debug, Deserialize)]
struct EntryRequirement {
    key: String,
    operator: String,
    #[serde(default)]
    values: Vec<String>,
}

/// The catalogue, and the prices as they are written.
pub fn read(mut value: Value) -> Result<(Catalogue, Vec<Vec<f64>>), String> {
    in_small_letters(&mut value, &["offerings", "requirements"]);
    let entries: Vec<Entry> = typed(value)?;
    let mut seen = BTreeSet::new();
    let (mut types, mut prices) = (Vec::new(), Vec::new());
    for (index, entry) in entries.iter().enumerate() {
        let at = |why: String| format!("type {} ({:?}): {why}", index + 1, entry.name);
        if entry.name.is_empty() {
            return Err(at("name is missing".to_owned()));
        }
        if !seen.insert(entry.name.as_str()) {
            return Err(at("it is there twice".to_owned()));
        }
        types.push(instance_type(entry).map_err(at)?);
        prices.push(entry.offerings.iter().map(|offering| offering.price).collect());
    }
    Ok((Catalogue { types, complete: true }, prices))
}

/// Go does not mind the case of keys, and Karpenter's own files have both. `below` are the lists that this holds for too, each in
/// the one before; names of resources stay as they are.
fn in_small_letters(list: &mut Value, below: &[&str]) {
    for fields in list.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        *fields = std::mem::take(fields).into_iter().map(|(key, value)| (key.to_lowercase(), value)).collect();
        if let Some((first, rest)) = below.split_first()
            && let Some(list) = fields.get_mut(*first)
        {
            in_small_letters(list, rest);
        }
    }
}

fn instance_type(entry: &Entry) -> Result<InstanceType, String> {
    let capacity = capacity(&entry.resources)?;
    let or = |text: &str, usual: &str| if text.is_empty() { usual.to_owned() } else { text.to_owned() };
    let systems =
        if entry.operating_systems.is_empty() { vec!["linux".to_owned()] } else { entry.operating_systems.clone() };
    let cpu = decimal(capacity.get("cpu").copied().unwrap_or_default());
    let memory = capacity.get("memory").copied().unwrap_or_default().to_string();
    let mut requirements = vec![
        only(names::ARCH, vec![or(&entry.architecture, "amd64")]),
        only(names::OS, systems),
        only(SIZE, vec![size(&entry.name).unwrap_or(&cpu).to_owned()]),
        only(FAMILY, vec![family(&entry.name)]),
        only(CPU, vec![cpu.clone()]),
        only(MEMORY, vec![memory]),
    ];
    let mut offerings = Vec::new();
    for (index, offering) in entry.offerings.iter().enumerate() {
        let read = offered(&entry.name, index, offering).map_err(|why| format!("offering {}: {why}", index + 1))?;
        offerings.push(read);
    }
    hoist(&mut requirements, &mut offerings);
    Ok(InstanceType {
        name: entry.name.clone(),
        requirements,
        allocatable: capacity.clone(),
        capacity,
        volume_limits: BTreeMap::new(),
        offerings,
    })
}

fn capacity(given: &BTreeMap<String, Value>) -> Result<Resources, String> {
    let mut capacity = Resources::new();
    for (name, value) in given {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        capacity.insert(name.clone(), text.parse().map_err(|error| format!("resources.{name}: {error}"))?);
    }
    if let Ok(pods) = USUAL_PODS.parse() {
        capacity.entry("pods".to_owned()).or_insert(pods);
    }
    Ok(capacity)
}

fn offered(name: &str, index: usize, given: &EntryOffering) -> Result<Offered, String> {
    let price = millionths(given.price).ok_or_else(|| format!("Price is {}: it cannot be", given.price))?;
    let mut requirements = Vec::new();
    for (place, one) in given.requirements.iter().enumerate() {
        let operator: Operator = one.operator.parse().map_err(|error| format!("Requirements[{place}]: {error}"))?;
        requirements.push(Requirement { key: one.key.clone(), operator, values: one.values.clone() });
    }
    let zone = one_value(&requirements, names::ZONE)?;
    let kind = one_value(&requirements, names::CAPACITY_TYPE)?;
    let capacity_type: CapacityType = kind.parse().map_err(|error| format!("{}: {error}", names::CAPACITY_TYPE))?;
    requirements.retain(|one| one.key != names::ZONE && one.key != names::CAPACITY_TYPE);
    let reservation = (capacity_type == CapacityType::Reserved).then(|| {
        let named = requirements.iter().find(|one| one.key.ends_with("reservation-id"));
        let id = named.and_then(|one| one.values.first().cloned());
        Reservation { id: id.unwrap_or_else(|| format!("{name}.{zone}.{index}")), left: given.reservation_capacity }
    });
    if let Some(reservation) =
        reservation.as_ref().filter(|_| !requirements.iter().any(|one| one.key.ends_with("reservation-id")))
    {
        requirements.push(only(RESERVATION, vec![reservation.id.clone()]));
    }
    Ok(Offered {
        zone: Some(zone),
        capacity_type,
        price: Some(price),
        available: given.available.unwrap_or(true),
        requirements,
        reservation,
    })
}

fn one_value(requirements: &[Requirement], key: &str) -> Result<String, String> {
    let found = requirements.iter().find(|one| one.key == key && one.operator == Operator::In);
    match found.map(|one| one.values.as_slice()).unwrap_or_default() {
        [value] => Ok(value.clone()),
        values => Err(format!("Requirements need exactly one value of {key}, there are {}", values.len())),
    }
}

/// What every offering says alike is the type's.
fn hoist(of_type: &mut Vec<Requirement>, offerings: &mut [Offered]) {
    let Some(first) = offerings.first() else { return };
    let alike = |one: &&Requirement| offerings.iter().all(|other| other.requirements.contains(one));
    let shared: Vec<Requirement> = first.requirements.iter().filter(alike).cloned().collect();
    for offering in offerings {
        offering.requirements.retain(|one| !shared.contains(one));
    }
    of_type.extend(shared);
}

fn only(key: &str, values: Vec<String>) -> Requirement {
    Requirement { key: key.to_owned(), operator: Operator::In, values }
}

/// `family.size`, where the size is one that clouds use.
fn size(name: &str) -> Option<&str> {
    let (family, size) = name.split_once('.')?;
    let word = !family.is_empty() && family.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let plain = ["nano", "micro", "small", "medium", "large", "metal"].contains(&size);
    let many = size.strip_suffix("xlarge").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    (word && (plain || many)).then_some(size)
}

/// What stands before the first dot or dash, or else the first letter.
fn family(name: &str) -> String {
    match name.split_once(['.', '-']) {
        Some((family, _)) => family.to_owned(),
        None => name.chars().take(1).collect(),
    }
}

/// As people write CPUs: never 1Ki for 1024 of them.
fn decimal(amount: Quantity) -> String {
    match amount.thousandths() {
        thousandths if thousandths % 1000 == 0 => (thousandths / 1000).to_string(),
        thousandths => format!("{thousandths}m"),
    }
}
