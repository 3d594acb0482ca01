//! Where the week is played: pools of three providers, with the prices and sizes that come with the providers.

use decide::provision::PoolFacts;
use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};
use model::{
    Arch, CapacityType, ClassRef, Gpu, ObjectName, Offering, OfferingId, PoolRef, Price, Quantity, Resources, Stock,
    StockMemory, Uid,
    disruption::{After, Budget, Policy, PoolHere, RackTimes},
    place::{Catalogue, InstanceType, Offered, OfferingRef, Pool},
};
use std::collections::BTreeMap;

use crate::Result;

/// A pool and all that is known of it.
pub struct Cloud {
    pub pool: Pool,
    pub facts: PoolFacts,
    pub catalogue: Catalogue,
    pub here: PoolHere,
    /// Minutes from asking for a machine until its GPUs can be used. What a cloud takes is paid for from the beginning.
    pub boots: u32,
}

const ZONES: [&str; 3] = ["1", "2", "3"];
/// GPU sizes a team would allow: one to eight GPUs.
const AKS_SIZES: [&str; 7] = [
    "Standard_NC4as_T4_v3",
    "Standard_NC16as_T4_v3",
    "Standard_NC64as_T4_v3",
    "Standard_NC24ads_A100_v4",
    "Standard_NC48ads_A100_v4",
    "Standard_NC96ads_A100_v4",
    "Standard_ND96asr_v4",
];
/// Sizes without GPUs: CPUs, GiB, millionths of a dollar an hour (list prices, eastus).
const AKS_PLAIN: [(&str, u32, u32, u64); 3] =
    [("Standard_D4s_v5", 4, 16, 192_000), ("Standard_D8s_v5", 8, 32, 384_000), ("Standard_D16s_v5", 16, 64, 768_000)];
/// Machines of one's own: how many, with how many GPUs, and what they draw in watts at 0.25 a kWh.
const RACK: [(u32, u32, u64); 3] = [(6, 2, 900), (4, 4, 1800), (2, 8, 4000)];

/// The most nodes of a pool: fifty in all.
const MOST: [(&str, u64); 4] = [("rack", 12), ("scaleway", 12), ("aks", 18), ("plain", 8)];

pub fn clouds() -> Result<Vec<Cloud>> {
    let zones: Vec<String> = provider_scaleway::catalogue::GPU_ZONES.map(str::to_owned).to_vec();
    let aks = provider_aks::bundled("westeurope", &ZONES).into_iter();
    let aks = aks.filter(|one| AKS_SIZES.contains(&one.id.instance_type.as_str()));
    let scaleway = provider_scaleway::catalogue::bundled_offerings(&zones);
    let rack = RackTimes {
        idle: SignedDuration::from_mins(10),
        on: SignedDuration::from_mins(15),
        rest: SignedDuration::from_mins(5),
    };
    let [(own, most_own), (scw, most_scw), (azure, most_azure), (plain, most_plain)] = MOST;
    Ok(vec![
        cloud(own, ("power", "PowerNodeClass"), most_own, machines(), 5, Some(rack))?,
        cloud(scw, ("scaleway", "ScalewayNodeClass"), most_scw, on_demand(scaleway), 4, None)?,
        cloud(azure, ("aks", "AKSNodeClass"), most_azure, on_demand(aks), 6, None)?,
        cloud(plain, ("aks", "AKSNodeClass"), most_plain, plain_sizes(), 3, None)?,
    ])
}

impl Cloud {
    pub fn offered(&self, at: OfferingRef) -> Option<(&InstanceType, &Offered)> {
        let shape = self.catalogue.types.get(at.instance_type as usize)?;
        Some((shape, shape.offerings.get(at.offering as usize)?))
    }

    /// Each of its machines is there once.
    pub fn is_rack(&self) -> bool {
        self.here.rack.is_some()
    }
}

fn cloud(
    name: &str,
    (provider, kind): (&'static str, &str),
    most: u64,
    offerings: Vec<Offering>,
    boots: u32,
    rack: Option<RackTimes>,
) -> Result<Cloud> {
    let pool = Pool {
        name: ObjectName::new(name)?,
        weight: 0,
        labels: BTreeMap::new(),
        requirements: vec![],
        taints: vec![],
        spot_taints: vec![],
        startup_taints: vec![],
        limits: Resources::from([("nodes".to_owned(), whole(most))]),
        used: Resources::new(),
        catalogue: 0,
        closed: None,
    };
    let facts = PoolFacts {
        owner: Some(PoolRef { name: ObjectName::new(name)?, uid: Uid::new(name)? }),
        class: ClassRef { group: "pilotlight.dev".to_owned(), kind: kind.to_owned(), name: ObjectName::new("week")? },
        provider,
        annotations: BTreeMap::new(),
        expire_after: None,
        termination_grace_period: None,
        offerings: offerings.clone().into(),
        allowance: Default::default(),
    };
    let catalogue = cluster::scene::catalogue(&offerings, &StockMemory::default(), Timestamp::UNIX_EPOCH);
    Ok(Cloud { pool, facts, catalogue, here: here(rack), boots })
}

/// What a NodePool that says nothing about it means.
fn here(rack: Option<RackTimes>) -> PoolHere {
    PoolHere {
        consolidate_after: After::Time(SignedDuration::ZERO),
        policy: Policy::WhenEmptyOrUnderutilized,
        budgets: vec![Budget { nodes: "10%".to_owned(), ..Budget::default() }],
        time_zone: Ok(TimeZone::UTC),
        moves_gpu_work: false,
        spot_to_spot: false,
        minimum_saving: MINIMUM_SAVING,
        fixed_size: None,
        hash: None,
        class_hash: None,
        images: vec![],
        kubernetes_version: None,
        expire_after: None,
        termination_grace: None,
        rack,
        paused: None,
    }
}

/// A tenth, as for a pool without the annotation.
const MINIMUM_SAVING: u32 = 100;

fn on_demand(offerings: impl IntoIterator<Item = Offering>) -> Vec<Offering> {
    offerings.into_iter().filter(|one| one.id.capacity_type == CapacityType::OnDemand).collect()
}

fn plain_sizes() -> Vec<Offering> {
    let size = |(name, cpus, gib, price): &(&str, u32, u32, u64)| offering("aks", name, None, (*cpus, *gib), *price);
    AKS_PLAIN.iter().map(size).collect()
}

fn machines() -> Vec<Offering> {
    let mut all = vec![];
    for (count, gpus, watts) in RACK {
        for at in 1..=count {
            let gpu = Gpu { model: "L40S".to_owned(), count: gpus, memory_mib: 46_068, mig_capable: false };
            let size = (gpus * 12, gpus * 64);
            all.push(offering("power", &format!("rack-{gpus}gpu-{at}"), Some(gpu), size, watts * 250));
        }
    }
    all
}

fn offering(provider: &str, name: &str, gpu: Option<Gpu>, (cpus, gib): (u32, u32), price: u64) -> Offering {
    let mut capacity = Resources::from([
        ("cpu".to_owned(), whole(u64::from(cpus))),
        ("memory".to_owned(), whole(u64::from(gib) << 30)),
        ("pods".to_owned(), whole(110)),
    ]);
    if let Some(gpu) = &gpu {
        capacity.insert(GPU.to_owned(), whole(u64::from(gpu.count)));
    }
    let id = OfferingId {
        provider: provider.to_owned(),
        instance_type: name.to_owned(),
        zone: None,
        capacity_type: CapacityType::OnDemand,
    };
    let price = Price { millionths_per_hour: price, currency: "USD".to_owned(), as_of: Date::default() };
    let labels = BTreeMap::new();
    Offering { id, gpu, capacity, arch: Arch::Amd64, price: Some(price), labels, stock: Stock::Available }
}

pub const GPU: &str = "nvidia.com/gpu";

pub fn whole(number: u64) -> Quantity {
    Quantity::from_thousandths(i128::from(number) * 1000)
}
