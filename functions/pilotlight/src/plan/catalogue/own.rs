//! Our own format: types with labels and amounts, and where and how each is offered. YAML or JSON.

use model::{
    CapacityType, Operator, Requirement, Resources, names,
    place::{Catalogue, InstanceType, Offered, Reservation},
};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

use super::{super::strict::typed, millionths};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Own {
    types: Vec<OwnType>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OwnType {
    name: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    capacity: BTreeMap<String, Value>,
    /// What is left of the capacity, where something is held back.
    #[serde(default)]
    allocatable: BTreeMap<String, Value>,
    #[serde(default)]
    volume_limits: BTreeMap<String, u32>,
    offerings: Vec<OwnOffering>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OwnOffering {
    #[serde(default)]
    zone: Option<String>,
    #[serde(default = "on_demand")]
    capacity_type: String,
    #[serde(default)]
    price: Option<f64>,
    #[serde(default = "yes")]
    available: bool,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    reservation: Option<OwnReservation>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnReservation {
    id: String,
    left: u32,
}

/// The catalogue. Its prices are as exact as the solve counts them.
pub fn read(value: Value) -> Result<(Catalogue, Vec<Vec<f64>>), String> {
    let own: Own = typed(value)?;
    let mut seen = BTreeSet::new();
    let mut types = Vec::new();
    for (index, given) in own.types.iter().enumerate() {
        let at = |why: String| format!("types[{index}] ({:?}): {why}", given.name);
        if given.name.is_empty() || !seen.insert(given.name.as_str()) {
            return Err(at("a type needs a name, and one that no other has".to_owned()));
        }
        types.push(instance_type(given).map_err(at)?);
    }
    Ok((Catalogue { types, complete: true }, vec![]))
}

fn instance_type(given: &OwnType) -> Result<InstanceType, String> {
    let capacity = amounts("capacity", &given.capacity)?;
    // What is not said of it is not held back: a type that names its CPU takes pods all the same.
    let mut allocatable = capacity.clone();
    allocatable.extend(amounts("allocatable", &given.allocatable)?);
    let mut labels = given.labels.clone();
    labels.entry(names::ARCH.to_owned()).or_insert_with(|| "amd64".to_owned());
    labels.entry(names::OS.to_owned()).or_insert_with(|| "linux".to_owned());
    let mut offerings = Vec::new();
    for (index, one) in given.offerings.iter().enumerate() {
        let at = |why: String| format!("offerings[{index}].{why}");
        let capacity_type: CapacityType =
            one.capacity_type.parse().map_err(|error| at(format!("capacityType: {error}")))?;
        let price =
            one.price.map(|price| millionths(price).ok_or_else(|| at(format!("price is {price}: it cannot be"))));
        offerings.push(Offered {
            zone: one.zone.clone(),
            capacity_type,
            price: price.transpose()?,
            available: one.available,
            requirements: required(&one.labels),
            reservation: one.reservation.as_ref().map(|one| Reservation { id: one.id.clone(), left: one.left }),
        });
    }
    Ok(InstanceType {
        name: given.name.clone(),
        requirements: required(&labels),
        allocatable,
        capacity,
        volume_limits: given.volume_limits.clone(),
        offerings,
    })
}

fn amounts(field: &str, given: &BTreeMap<String, Value>) -> Result<Resources, String> {
    let amount = |(name, value): (&String, &Value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let parsed = text.parse().map_err(|error| format!("{field}.{name}: {error}"))?;
        Ok((name.clone(), parsed))
    };
    given.iter().map(amount).collect()
}

fn required(labels: &BTreeMap<String, String>) -> Vec<Requirement> {
    let only = |(key, value): (&String, &String)| Requirement {
        key: key.clone(),
        operator: Operator::In,
        values: vec![value.clone()],
    };
    labels.iter().map(only).collect()
}

fn on_demand() -> String {
    CapacityType::OnDemand.as_str().to_owned()
}

fn yes() -> bool {
    true
}
