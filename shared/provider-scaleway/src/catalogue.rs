//! What can be had: the GPU types bundled with their source and date, and the same as Scaleway says it now.
//!
//! Source of the bundled table: `GET /products/servers` of fr-par-1, fr-par-2 and pl-waw-2, recorded on 2026-07-30 in the
//! public test cassettes of Scaleway's Terraform provider (spec/power-scaleway.md §3.8). Prices are for compute only;
//! disks and addresses are extra. The stock of that day is not bundled: stock is known now or not at all.

use jiff::civil::{Date, date};
use model::{Arch, CapacityType, Gpu, Offering, OfferingId, Price, Quantity, Resources, Stock};
use std::collections::BTreeMap;

use crate::PROVIDER;
use crate::names::{CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, region_of};
use crate::wire::{Availability, Product};

/// A GPU type as it was sold on `AS_OF`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundledType {
    pub name: &'static str,
    pub gpu: &'static str,
    pub count: u32,
    pub gpu_memory_gib: u64,
    pub cpus: u64,
    pub memory_gib: u64,
    /// Millionths of a euro an hour.
    pub price: u64,
    pub scratch_gb: u64,
    pub zones: &'static [&'static str],
}

pub const AS_OF: Date = date(2026, 7, 30);

const PAR1_PAR2: &[&str] = &["fr-par-1", "fr-par-2"];
const PAR1_PAR2_WAW2: &[&str] = &["fr-par-1", "fr-par-2", "pl-waw-2"];
const PAR2_WAW2: &[&str] = &["fr-par-2", "pl-waw-2"];
const PAR2: &[&str] = &["fr-par-2"];

/// The zones that sold GPUs on that day.
pub const GPU_ZONES: [&str; 3] = ["fr-par-1", "fr-par-2", "pl-waw-2"];

/// The guest sees 1.5 % less memory than is sold; a little more is held back, so that nothing is planned that does not fit.
const MEMORY_SEEN: (u64, u64) = (975, 1000);

/// A root disk grows with what a claim asks for, up to what a block volume can be.
const MOST_DISK: u64 = 10_000_000_000_000;

#[rustfmt::skip]
pub const BUNDLED: [BundledType; 17] = [
    row("L4-1-24G", "L4", 1, 24, 8, 48, 787_500, 0, PAR1_PAR2_WAW2),
    row("L4-2-24G", "L4", 2, 24, 16, 96, 1_575_000, 0, PAR1_PAR2_WAW2),
    row("L4-4-24G", "L4", 4, 24, 32, 192, 3_150_000, 0, PAR1_PAR2_WAW2),
    row("L4-8-24G", "L4", 8, 24, 64, 384, 6_300_000, 0, PAR1_PAR2_WAW2),
    row("L40S-1-48G", "L40S", 1, 48, 8, 96, 1_469_900, 1600, PAR2_WAW2),
    row("L40S-2-48G", "L40S", 2, 48, 16, 192, 2_939_800, 3200, PAR2_WAW2),
    row("L40S-4-48G", "L40S", 4, 48, 32, 384, 5_879_700, 6400, PAR2_WAW2),
    row("L40S-8-48G", "L40S", 8, 48, 64, 768, 11_759_300, 12_800, PAR2_WAW2),
    row("H100-1-80G", "H100-PCIe", 1, 80, 24, 240, 2_866_500, 3000, PAR2_WAW2),
    row("H100-2-80G", "H100-PCIe", 2, 80, 48, 480, 5_733_000, 6000, PAR2_WAW2),
    row("H100-SXM-2-80G", "H100-SXM", 2, 80, 32, 240, 6_619_800, 3200, PAR2),
    row("H100-SXM-4-80G", "H100-SXM", 4, 80, 64, 480, 12_771_000, 6400, PAR2),
    row("H100-SXM-8-80G", "H100-SXM", 8, 80, 128, 960, 25_330_800, 12_800, PAR2),
    row("B300-SXM-2-288G", "B300-SXM", 2, 288, 56, 960, 18_960_000, 6000, PAR2),
    row("B300-SXM-4-288G", "B300-SXM", 4, 288, 112, 1920, 34_080_000, 12_000, PAR2),
    row("B300-SXM-8-288G", "B300-SXM", 8, 288, 224, 3840, 60_000_000, 24_000, PAR2),
    row("RENDER-S", "P100", 1, 16, 10, 42, 1_221_000, 0, PAR1_PAR2),
];

#[expect(clippy::too_many_arguments, reason = "the columns of the table above")]
const fn row(
    name: &'static str,
    gpu: &'static str,
    count: u32,
    gpu_memory_gib: u64,
    cpus: u64,
    memory_gib: u64,
    price: u64,
    scratch_gb: u64,
    zones: &'static [&'static str],
) -> BundledType {
    BundledType { name, gpu, count, gpu_memory_gib, cpus, memory_gib, price, scratch_gb, zones }
}

/// A bundled type by its name in any case.
pub fn bundled_type(name: &str) -> Option<&'static BundledType> {
    BUNDLED.iter().find(|known| known.name.eq_ignore_ascii_case(name))
}

/// The bundled offerings of these zones, with unknown stock.
pub fn bundled_offerings(zones: &[String]) -> Vec<Offering> {
    let pairs = zones.iter().flat_map(|zone| BUNDLED.iter().map(move |known| (zone, known)));
    pairs
        .filter(|(zone, known)| known.zones.contains(&zone.as_str()))
        .map(|(zone, known)| {
            let shape = Shape {
                name: known.name,
                gpu: known.gpu,
                count: known.count,
                gpu_memory_mib: known.gpu_memory_gib << 10,
                cpus: known.cpus,
                memory: known.memory_gib << 30,
                arch: Arch::Amd64,
            };
            offering(&shape, zone, known.price, AS_OF, Stock::Unknown)
        })
        .collect()
}

/// The GPU types of a zone as Scaleway lists them now.
pub(crate) fn live_offerings(
    zone: &str,
    products: &BTreeMap<String, Product>,
    stock: &BTreeMap<String, Availability>,
    today: Date,
) -> Vec<Offering> {
    let sold = products.iter().filter(|(_, product)| !product.end_of_service);
    sold.filter_map(|(name, product)| {
        let (count, info) = (product.gpu.filter(|count| *count > 0)?, product.gpu_info.as_ref()?);
        let shape = Shape {
            name,
            gpu: &info.gpu_name,
            count,
            gpu_memory_mib: info.gpu_memory >> 20,
            cpus: product.ncpus,
            memory: product.ram,
            arch: if product.arch == "arm64" { Arch::Arm64 } else { Arch::Amd64 },
        };
        let price = (product.hourly_price * 1e6).round() as u64;
        let stock = match stock.get(name).map(|one| one.availability.as_str()) {
            Some("available") => Stock::Available,
            Some("scarce") => Stock::Scarce,
            Some("shortage") => Stock::Shortage,
            _ => Stock::Unknown,
        };
        Some(offering(&shape, zone, price, today, stock))
    })
    .collect()
}

struct Shape<'a> {
    name: &'a str,
    gpu: &'a str,
    count: u32,
    gpu_memory_mib: u64,
    cpus: u64,
    memory: u64,
    arch: Arch,
}

fn offering(shape: &Shape<'_>, zone: &str, price: u64, as_of: Date, stock: Stock) -> Offering {
    let whole = |amount: u64| Quantity::from_thousandths(i128::from(amount) * 1000);
    let capacity: Resources = [
        ("cpu", whole(shape.cpus)),
        ("memory", whole(shape.memory / MEMORY_SEEN.1 * MEMORY_SEEN.0)),
        ("ephemeral-storage", whole(MOST_DISK)),
        ("pods", whole(110)),
        ("nvidia.com/gpu", whole(u64::from(shape.count))),
    ]
    .map(|(name, amount)| (name.to_owned(), amount))
    .into();
    let gpu = Gpu {
        model: shape.gpu.to_owned(),
        count: shape.count,
        memory_mib: shape.gpu_memory_mib,
        mig_capable: shape.gpu.starts_with("H100") || shape.gpu.starts_with("B300"),
    };
    Offering {
        id: OfferingId {
            provider: PROVIDER.to_owned(),
            instance_type: shape.name.to_owned(),
            zone: Some(zone.to_owned()),
            capacity_type: CapacityType::OnDemand,
        },
        gpu: Some(gpu),
        capacity,
        arch: shape.arch,
        // A price of nothing is one that nobody told us.
        price: (price > 0).then(|| Price { millionths_per_hour: price, currency: "EUR".to_owned(), as_of }),
        labels: standard_labels(shape.name, zone, shape.arch),
        stock,
    }
}

/// What every node of a type in a zone says about itself.
pub(crate) fn standard_labels(commercial_type: &str, zone: &str, arch: Arch) -> BTreeMap<String, String> {
    let arch = match arch {
        Arch::Amd64 => "amd64",
        Arch::Arm64 => "arm64",
    };
    [
        (INSTANCE_TYPE_LABEL, commercial_type),
        ("topology.kubernetes.io/zone", zone),
        ("topology.kubernetes.io/region", region_of(zone)),
        (CAPACITY_TYPE_LABEL, CapacityType::OnDemand.as_str()),
        ("kubernetes.io/arch", arch),
        ("kubernetes.io/os", "linux"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_bundled_type_is_offered_in_each_of_its_zones_with_price_and_date() {
        let zones: Vec<String> = GPU_ZONES.map(str::to_owned).to_vec();
        let offerings = bundled_offerings(&zones);
        assert_eq!(offerings.len(), 32, "the type and zone pairs of the recorded day");
        for offering in &offerings {
            let price = offering.price.as_ref().unwrap();
            assert_eq!((price.currency.as_str(), price.as_of), ("EUR", AS_OF));
            assert!(offering.gpu.as_ref().unwrap().count > 0 && offering.stock == Stock::Unknown);
        }
        let l4 = offerings.iter().find(|one| one.id.to_string() == "scaleway/L4-1-24G/fr-par-1/on-demand").unwrap();
        assert_eq!(l4.price.as_ref().unwrap().millionths_per_hour, 787_500);
        assert_eq!(l4.capacity["nvidia.com/gpu"].to_string(), "1");
    }
}
