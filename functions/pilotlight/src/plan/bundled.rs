//! What providers offer without being asked: the tables that come with this program, and machines that a class lists.

use cluster::{
    crd::{NodePool, PowerMachine},
    scene::{catalogue, rack_catalogue},
};
use jiff::civil::Date;
use model::{
    Arch, CapacityType, Gpu, Offering, OfferingId, Price, Quantity, Resources, Stock, StockMemory, names,
    place::Catalogue,
};
use std::{collections::BTreeMap, env};

use super::{catalogue::Market, manifest::Manifest};

/// Where Azure is taken to be asked if nothing says so.
const USUAL_LOCATION: &str = "eastus";
/// A region of Azure that has zones has these.
const ZONES: [&str; 3] = ["1", "2", "3"];

/// Every pool's class is looked up by its kind. An error is a machine that cannot be read.
pub fn market(manifest: &mut Manifest) -> Result<Market, String> {
    let mut catalogues: Vec<Catalogue> = Vec::new();
    let mut machines = Vec::new();
    let mut classes = BTreeMap::new();
    for at in 0..manifest.pools.len() {
        let Some(pool) = manifest.pools.get(at) else { continue };
        let class = pool.spec.template.spec.node_class_ref.clone();
        let key = (class.kind.clone(), class.name.clone());
        if classes.contains_key(&key) {
            continue;
        }
        let found: Result<Vec<Offering>, String> = match class.kind.as_str() {
            "AKSNodeClass" | "KaitoNodeClass" => {
                let location = location(pool);
                let warning =
                    format!("NodePool {}: prices and sizes are those bundled for AKS, in {location}", name(pool));
                manifest.warnings.push(warning);
                Ok(provider_aks::bundled(&location, &ZONES))
            }
            "ScalewayNodeClass" => {
                let zones: Vec<String> = provider_scaleway::catalogue::GPU_ZONES.map(str::to_owned).to_vec();
                Ok(provider_scaleway::catalogue::bundled_offerings(&zones))
            }
            "PowerNodeClass" => {
                let own = rack(manifest, pool, &class.name);
                machines.extend(own.iter().flatten().cloned());
                own
            }
            "" => Err("it names no node class, so nobody knows what it can buy: pass --catalog".to_owned()),
            other => Err(format!("nobody knows what a {other} offers: pass --catalog")),
        };
        let read = if class.kind == "PowerNodeClass" { rack_catalogue } else { catalogue };
        let known = found.map(|offerings| {
            catalogues.push(read(&offerings, &StockMemory::default(), jiff::Timestamp::default()));
            catalogues.len() - 1
        });
        classes.insert(key, known);
    }
    Ok(Market::by_class(catalogues, machines, classes))
}

fn name(pool: &NodePool) -> &str {
    pool.metadata.name.as_deref().unwrap_or_default()
}

/// What the pool says about its region, or the provider's own variable.
fn location(pool: &NodePool) -> String {
    let required = &pool.spec.template.spec.requirements;
    let region = required.iter().find(|one| one.key == names::REGION && one.operator == "In");
    let zone = required.iter().find(|one| one.key == names::ZONE && one.operator == "In");
    let of_zone = zone.and_then(|one| one.values.first()).and_then(|zone| zone.rsplit_once('-'));
    let said = region.and_then(|one| one.values.first().cloned()).or(of_zone.map(|(region, _)| region.to_owned()));
    let variable = || env::var("LOCATION").ok().filter(|text| !text.is_empty());
    said.or_else(variable).unwrap_or_else(|| USUAL_LOCATION.to_owned())
}

fn rack(manifest: &Manifest, pool: &NodePool, class: &str) -> Result<Vec<Offering>, String> {
    let found = manifest.power_classes.iter().find(|one| one.metadata.name.as_deref() == Some(class));
    let Some(found) = found else {
        let nobody_made_it = pool.metadata.uid.is_none();
        if nobody_made_it {
            return manifest.power_classes.iter().flat_map(|one| &one.spec.machines).map(machine).collect();
        }
        return Err(format!("PowerNodeClass {class} is not among the files: its machines are what there is"));
    };
    found.spec.machines.iter().map(machine).collect()
}

/// As the power provider offers it, without asking whether it is on.
fn machine(given: &PowerMachine) -> Result<Offering, String> {
    let at = |field: &str, why: String| format!("machine {}: {field}: {why}", given.name);
    if given.gpu.count < 1 {
        return Err(at("gpu.count", "is below 1: a machine has at least one GPU".to_owned()));
    }
    let mut capacity = Resources::new();
    for (name, amount) in &given.capacity {
        let parsed = amount.0.parse().map_err(|error| at(&format!("capacity.{name}"), format!("{error}")))?;
        capacity.insert(name.clone(), parsed);
    }
    capacity.insert(given.gpu.resource.clone(), Quantity::from_thousandths(i128::from(given.gpu.count) * 1000));
    let id = OfferingId {
        provider: provider_power::PROVIDER.to_owned(),
        instance_type: given.name.clone(),
        zone: None,
        capacity_type: CapacityType::OnDemand,
    };
    let gpu = Gpu {
        model: given.gpu.model.clone().unwrap_or_default(),
        count: given.gpu.count,
        memory_mib: given.gpu.memory_mib.map(u64::from).unwrap_or_default(),
        mig_capable: given.gpu.mig_capable,
    };
    let mut labels = given.labels.clone();
    labels.insert(names::HOSTNAME.to_owned(), given.node.clone().unwrap_or_else(|| given.name.clone()));
    Ok(Offering {
        id,
        gpu: Some(gpu),
        capacity,
        arch: if given.arch == "arm64" { Arch::Arm64 } else { Arch::Amd64 },
        price: Some(price(given).ok_or_else(|| at("energy", "it has no price that can be read".to_owned()))?),
        labels,
        stock: Stock::Unknown,
    })
}

/// Watts times the price of energy; a machine of which neither is known has been paid for.
fn price(given: &PowerMachine) -> Option<Price> {
    let Some(energy) = &given.energy else {
        return Some(Price { millionths_per_hour: 0, currency: "USD".to_owned(), as_of: Date::default() });
    };
    let per_kwh: f64 = energy.price_per_kwh.parse().ok().filter(|price: &f64| price.is_finite() && *price >= 0.0)?;
    let millionths = (f64::from(energy.watts) * per_kwh * 1000.0).ceil() as u64;
    Some(Price {
        millionths_per_hour: millionths,
        currency: energy.currency.clone(),
        as_of: energy.as_of.parse().unwrap_or_default(),
    })
}
