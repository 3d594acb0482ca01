//! What a node costs now, and how it was bought.

use model::{
    CapacityType, names,
    place::{Catalogue, NodeThere, Offered},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paid {
    /// Millionths an hour.
    pub price: u64,
    /// Position of its type in the catalogue.
    pub instance_type: usize,
    pub capacity_type: CapacityType,
}

/// By type, zone and capacity type. Where the zone is missing, the cheapest that it could be: nothing is saved on a guess. Where
/// nobody says how it was bought, it was bought as usual.
/// The error says what is missing.
pub fn paid(node: &NodeThere, catalogue: Option<&Catalogue>) -> Result<Paid, String> {
    let label = |key: &str| node.labels.get(key).map(String::as_str).filter(|value| !value.is_empty());
    let Some(name) = label(names::INSTANCE_TYPE).or_else(|| label(names::INSTANCE_TYPE_BETA)) else {
        return Err(format!("it has no label {}", names::INSTANCE_TYPE));
    };
    let found = catalogue.and_then(|all| all.types.iter().enumerate().find(|(_, one)| one.name == name));
    let Some((instance_type, found)) = found else { return Err(format!("instance type {name} is not on offer")) };
    let zone = label(names::ZONE);
    let on_demand = CapacityType::OnDemand.as_str();
    let usual = found.offerings.iter().any(|one| one.capacity_type == CapacityType::OnDemand).then_some(on_demand);
    let how = label(names::CAPACITY_TYPE).or(usual);
    let is_it = |one: &&Offered| {
        let zoned = match (&one.zone, zone) {
            (Some(own), Some(zone)) => own == zone,
            // A regional one leaves no label, or zero.
            (None, Some(zone)) => zone == "0",
            (_, None) => true,
        };
        zoned && how.is_none_or(|how| one.capacity_type.as_str() == how)
    };
    let matching = found.offerings.iter().filter(is_it).filter_map(|one| Some((one.price?, one.capacity_type)));
    let Some((price, capacity_type)) = matching.min_by_key(|(price, _)| *price) else {
        let place = zone.map(|zone| format!(" in {zone}")).unwrap_or_default();
        let how = how.map(|how| format!(" as {how}")).unwrap_or_default();
        return Err(format!("nobody knows what {name}{place}{how} costs"));
    };
    Ok(Paid { price, instance_type, capacity_type })
}
