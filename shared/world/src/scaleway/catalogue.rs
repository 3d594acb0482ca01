//! The commercial types: the GPU types as recorded on 2026-07-30, and CPU types to fill the pages.
//!
//! A zone lists as many types as fr-par-1 did (135, so three pages). The names and figures of GPU types are real; CPU
//! types follow the families Scaleway sells, but not every name of theirs exists.

use super::options::Availability::{self, Available, Scarce, Shortage};
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The zones of the product. GPU types are sold in three of them only.
pub const ZONES: [&str; 10] = [
    "fr-par-1", "fr-par-2", "fr-par-3", "nl-ams-1", "nl-ams-2", "nl-ams-3", "pl-waw-1", "pl-waw-2", "pl-waw-3",
    "it-mil-1",
];

#[derive(Debug, Clone, PartialEq)]
pub struct CommercialType {
    pub name: String,
    pub arch: &'static str,
    pub cpus: u64,
    pub memory_gib: u64,
    pub euro_per_hour: f64,
    /// (model, count, GiB of memory each)
    pub gpu: Option<(&'static str, u64, u64)>,
    pub local_storage_gb: u64,
    pub scratch_gb: u64,
    pub block_bandwidth_mb: u64,
    /// Where it is sold, with the stock of the recorded day; `None` for types that every zone has.
    zones: Option<&'static [(&'static str, Availability)]>,
}

type GpuRow = (&'static str, &'static str, u64, u64, u64, u64, f64, u64, u64, &'static [(&'static str, Availability)]);

const PAR1: &str = "fr-par-1";
const PAR2: &str = "fr-par-2";
const WAW2: &str = "pl-waw-2";

/// name, GPU, count, GiB each, vCPU, RAM GiB, EUR/h, scratch GB, block MB/s, zones with their stock that day.
#[rustfmt::skip]
const GPU_TYPES: [GpuRow; 17] = [
    ("B300-SXM-2-288G", "B300-SXM", 2, 288, 56, 960, 18.96, 6000, 5243, &[(PAR2, Shortage)]),
    ("B300-SXM-4-288G", "B300-SXM", 4, 288, 112, 1920, 34.08, 12000, 5243, &[(PAR2, Shortage)]),
    ("B300-SXM-8-288G", "B300-SXM", 8, 288, 224, 3840, 60.00, 24000, 5243, &[(PAR2, Shortage)]),
    ("H100-1-80G", "H100-PCIe", 1, 80, 24, 240, 2.8665, 3000, 2097, &[(PAR2, Shortage), (WAW2, Shortage)]),
    ("H100-2-80G", "H100-PCIe", 2, 80, 48, 480, 5.733, 6000, 4194, &[(PAR2, Shortage), (WAW2, Shortage)]),
    ("H100-SXM-2-80G", "H100-SXM", 2, 80, 32, 240, 6.6198, 3200, 5243, &[(PAR2, Available)]),
    ("H100-SXM-4-80G", "H100-SXM", 4, 80, 64, 480, 12.771, 6400, 5243, &[(PAR2, Available)]),
    ("H100-SXM-8-80G", "H100-SXM", 8, 80, 128, 960, 25.3308, 12800, 5243, &[(PAR2, Available)]),
    ("L4-1-24G", "L4", 1, 24, 8, 48, 0.7875, 0, 1049, &[(PAR1, Available), (PAR2, Available), (WAW2, Available)]),
    ("L4-2-24G", "L4", 2, 24, 16, 96, 1.575, 0, 1573, &[(PAR1, Shortage), (PAR2, Available), (WAW2, Available)]),
    ("L4-4-24G", "L4", 4, 24, 32, 192, 3.15, 0, 2621, &[(PAR1, Shortage), (PAR2, Scarce), (WAW2, Available)]),
    ("L4-8-24G", "L4", 8, 24, 64, 384, 6.30, 0, 5243, &[(PAR1, Shortage), (PAR2, Shortage), (WAW2, Scarce)]),
    ("L40S-1-48G", "L40S", 1, 48, 8, 96, 1.4699, 1600, 1049, &[(PAR2, Scarce), (WAW2, Shortage)]),
    ("L40S-2-48G", "L40S", 2, 48, 16, 192, 2.9398, 3200, 1573, &[(PAR2, Shortage), (WAW2, Shortage)]),
    ("L40S-4-48G", "L40S", 4, 48, 32, 384, 5.8797, 6400, 2621, &[(PAR2, Shortage), (WAW2, Shortage)]),
    ("L40S-8-48G", "L40S", 8, 48, 64, 768, 11.7593, 12800, 5243, &[(PAR2, Shortage), (WAW2, Shortage)]),
    ("RENDER-S", "P100", 1, 16, 10, 42, 1.221, 0, 2147, &[(PAR1, Available), (PAR2, Available)]),
];

/// prefix, arch, vCPUs, GiB a vCPU, EUR/h a vCPU, suffix
type CpuFamily = (&'static str, &'static str, &'static [u64], u64, f64, &'static str);

#[rustfmt::skip]
const CPU_FAMILIES: [CpuFamily; 23] = [
    ("BASIC2-A", "arm64", &[2, 4, 8, 16], 2, 0.0115, ""),
    ("BASIC2-A", "arm64", &[2, 4, 8, 16], 4, 0.0172, ""),
    ("BASIC3-X", "x86_64", &[2, 4, 8, 16, 32], 2, 0.0155, ""),
    ("BASIC3-X", "x86_64", &[2, 4, 8, 16, 32], 4, 0.0225, ""),
    ("COMPUTE3-X", "x86_64", &[2, 4, 8, 16, 32, 64], 2, 0.0275, ""),
    ("COMPUTE3-X", "x86_64", &[2, 4, 8, 16, 32, 64], 1, 0.0245, ""),
    ("COPARM1-", "arm64", &[2, 4, 8, 16, 32], 4, 0.0215, ""),
    ("ENT1-", "x86_64", &[2, 4, 8, 16, 32, 64, 96], 4, 0.0368, ""),
    ("MEMORY3-X", "x86_64", &[2, 4, 8, 16, 32, 64], 8, 0.0515, ""),
    ("MEMORY3-X", "x86_64", &[2, 4, 8, 16, 32, 64], 16, 0.0925, ""),
    ("POP2-", "x86_64", &[2, 4, 8, 16, 32, 64], 4, 0.0368, ""),
    ("POP2-", "x86_64", &[2, 4, 8, 16, 32], 4, 0.0728, "-WIN"),
    ("POP2-HC-", "x86_64", &[2, 4, 8, 16, 32, 64], 2, 0.0266, ""),
    ("POP2-HC-", "x86_64", &[2, 4, 8, 16, 32], 2, 0.0626, "-WIN"),
    ("POP2-HM-", "x86_64", &[2, 4, 8, 16, 32, 64], 8, 0.0515, ""),
    ("POP2-HM-", "x86_64", &[2, 4, 8, 16, 32], 8, 0.0875, "-WIN"),
    ("POP2-HN-", "x86_64", &[3, 5, 10], 1, 0.1272, ""),
    ("PRO2-", "x86_64", &[2, 4, 8, 16, 32], 4, 0.0275, ""),
    ("STANDARD2-A", "arm64", &[2, 4, 8, 16, 32, 48], 4, 0.0235, ""),
    ("STANDARD2-X", "x86_64", &[2, 4, 8, 16], 4, 0.0335, ""),
    ("STANDARD3-X", "x86_64", &[2, 4, 8, 16, 32, 64], 2, 0.0315, ""),
    ("STANDARD3-X", "x86_64", &[2, 4, 8, 16, 32, 64], 4, 0.0365, ""),
    ("STARDUST1-", "x86_64", &[1], 1, 0.00015, ""),
];

/// name, vCPU, GiB, EUR/h, GB of local disk: the types that still have some, and the small PLAY2.
#[rustfmt::skip]
const NAMED_CPU_TYPES: [(&str, u64, u64, f64, u64); 12] = [
    ("DEV1-S", 2, 2, 0.0088, 20), ("DEV1-M", 3, 4, 0.0198, 40), ("DEV1-L", 4, 8, 0.042, 80), ("DEV1-XL", 4, 12, 0.06378, 120),
    ("GP1-XS", 4, 16, 0.1016, 150), ("GP1-S", 8, 32, 0.2042, 300), ("GP1-M", 16, 64, 0.4064, 600), ("GP1-L", 32, 128, 0.759, 600),
    ("GP1-XL", 48, 256, 1.6714, 600), ("PLAY2-PICO", 1, 2, 0.014, 0), ("PLAY2-NANO", 2, 4, 0.027, 0), ("PLAY2-MICRO", 4, 8, 0.054, 0),
];

pub(super) fn gpu_types() -> impl Iterator<Item = &'static str> {
    GPU_TYPES.iter().map(|row| row.0)
}

/// The stock of a type in a zone on the recorded day; `None` where it is not sold. CPU types are always there.
pub fn recorded_availability(name: &str, zone: &str) -> Option<Availability> {
    find(name, zone)?.recorded(zone)
}

/// Every type, by name. Built once: every server in every list looks its type up.
static TYPES: LazyLock<Vec<CommercialType>> = LazyLock::new(|| {
    let mut all: Vec<CommercialType> = GPU_TYPES.iter().map(gpu_type).chain(cpu_types()).collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
});

/// Everything sold in a zone, by name.
pub fn sold_in(zone: &str) -> Vec<&'static CommercialType> {
    TYPES.iter().filter(|offered| offered.recorded(zone).is_some()).collect()
}

pub fn find(name: &str, zone: &str) -> Option<&'static CommercialType> {
    let place = TYPES.binary_search_by(|offered| offered.name.as_str().cmp(name)).ok()?;
    TYPES.get(place).filter(|offered| offered.recorded(zone).is_some())
}

fn gpu_type(row: &GpuRow) -> CommercialType {
    let &(name, model, count, memory, cpus, memory_gib, euro_per_hour, scratch_gb, block_bandwidth_mb, zones) = row;
    CommercialType {
        name: name.to_owned(),
        arch: "x86_64",
        cpus,
        memory_gib,
        euro_per_hour,
        gpu: Some((model, count, memory)),
        local_storage_gb: if name == "RENDER-S" { 400 } else { 0 },
        scratch_gb,
        block_bandwidth_mb,
        zones: Some(zones),
    }
}

fn cpu_types() -> impl Iterator<Item = CommercialType> {
    let cpu = |name, arch, cpus, memory_gib, euro_per_hour, local_storage_gb| CommercialType {
        name,
        arch,
        cpus,
        memory_gib,
        euro_per_hour,
        gpu: None,
        local_storage_gb,
        scratch_gb: 0,
        block_bandwidth_mb: 42 * cpus,
        zones: None,
    };
    let families = CPU_FAMILIES.iter().flat_map(move |&(prefix, arch, sizes, ratio, price, suffix)| {
        sizes.iter().map(move |&cpus| {
            let memory = cpus * ratio;
            cpu(format!("{prefix}{cpus}C-{memory}G{suffix}"), arch, cpus, memory, price * cpus as f64, 0)
        })
    });
    let named = NAMED_CPU_TYPES
        .iter()
        .map(move |&(name, cpus, memory, price, disk)| cpu(name.to_owned(), "x86_64", cpus, memory, price, disk));
    families.chain(named)
}

impl CommercialType {
    fn recorded(&self, zone: &str) -> Option<Availability> {
        match self.zones {
            Some(zones) => zones.iter().find(|(sold_in, _)| *sold_in == zone).map(|(_, availability)| *availability),
            None => ZONES.contains(&zone).then_some(Available),
        }
    }

    /// As an entry of `GET /products/servers`.
    pub(super) fn to_json(&self) -> Value {
        let gigabyte = 1_000_000_000_u64;
        let bandwidth = 100_000_000 * self.cpus.clamp(1, 200);
        let local = if self.local_storage_gb > 0 {
            json!({"min_size": gigabyte, "max_size": 800 * gigabyte})
        } else {
            json!({"min_size": 0, "max_size": 0})
        };
        json!({
            "alt_names": [], "arch": self.arch, "ncpus": self.cpus, "ram": self.memory_gib << 30,
            "gpu": self.gpu.map_or(0, |(_, count, _)| count),
            "gpu_info": self.gpu.map(|(model, _, memory)| {
                json!({"gpu_manufacturer": "NVIDIA", "gpu_name": model, "gpu_memory": memory << 30})
            }),
            "mig_profile": null,
            "volumes_constraint": {"min_size": 0, "max_size": self.local_storage_gb * gigabyte},
            "per_volume_constraint": {"l_ssd": local},
            "scratch_storage_max_size": (self.scratch_gb > 0).then_some(self.scratch_gb * gigabyte),
            "scratch_storage_max_volumes_count": u64::from(self.scratch_gb > 0),
            "hourly_price": self.euro_per_hour, "monthly_price": self.euro_per_hour * 730.0,
            "capabilities": {"boot_types": ["local", "rescue"], "placement_groups": true, "block_storage": true,
                             "hot_snapshots_local_volume": self.local_storage_gb > 0, "private_network": 8,
                             "max_file_systems": 0},
            "network": {"ipv6_support": true, "sum_internal_bandwidth": bandwidth, "sum_internet_bandwidth": bandwidth,
                        "interfaces": [{"internal_bandwidth": bandwidth, "internet_bandwidth": bandwidth}]},
            "block_bandwidth": self.block_bandwidth_mb * 1_000_000, "end_of_service": false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fr_par_1_lists_135_types_on_three_pages_and_hides_gpu_types_behind_the_first() {
        let names: Vec<String> = sold_in("fr-par-1").into_iter().map(|offered| offered.name.clone()).collect();
        assert_eq!(names.len(), 135);
        assert!(names.iter().take(50).all(|name| !name.starts_with("L4-")));
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn l40s_is_not_sold_in_fr_par_1() {
        assert_eq!(recorded_availability("L40S-1-48G", "fr-par-1"), None);
        assert_eq!(recorded_availability("L40S-1-48G", "fr-par-2"), Some(Scarce));
    }
}
