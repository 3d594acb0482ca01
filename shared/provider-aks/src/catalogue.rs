//! GPU VM sizes as they are bundled: every size of the KAITO tables, those it has dropped included.

use jiff::civil::{Date, date};

/// One VM size of Azure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub name: &'static str,
    /// What its quota is counted under, as Compute spells it.
    pub family: &'static str,
    pub vcpus: u64,
    pub memory_gib: u64,
    pub gpus: u32,
    /// Of one GPU, or of the part of one that the size has.
    pub gpu_memory_gib: u64,
    pub gpu: &'static str,
    /// USD an hour, on demand, Linux, in millionths.
    pub price: u64,
    /// Whether zones can be asked for where the region has some.
    pub zonal: bool,
    pub spot: bool,
}

/// The day the prices below are meant for. Source: near Azure's public list for eastus, Linux, pay as you go, the same figures
/// as the world's price list (shared/world/src/arm/catalogue.rs); shapes by the tables of KAITO (shared/spec/kaito.md). They
/// order offerings until the price list itself is read; they are not an invoice.
pub(crate) const AS_OF: Date = date(2025, 1, 1);

impl Size {
    /// Compute finds sizes without case, and so do claims.
    pub fn named(name: &str) -> Option<&'static Size> {
        SIZES.iter().find(|size| size.name.eq_ignore_ascii_case(name))
    }

    pub fn is_amd(&self) -> bool {
        matches!(self.gpu, "V620" | "MI25" | "MI300X")
    }

    pub fn gpu_resource(&self) -> &'static str {
        if self.is_amd() { "amd.com/gpu" } else { "nvidia.com/gpu" }
    }

    /// Whether its GPUs can be cut into instances.
    pub fn is_mig_capable(&self) -> bool {
        self.slice_memory().is_some()
    }

    /// The OS disk AKS gives when none is asked for, in GiB.
    pub fn default_disk_gib(&self) -> u64 {
        match self.vcpus {
            0..=7 => 128,
            8..=15 => 256,
            16..=63 => 512,
            _ => 1024,
        }
    }

    /// The family without spaces, so that a label can carry it.
    pub fn family_label(&self) -> String {
        self.family.replace(' ', "")
    }

    /// The first letter of a size: `N` of `Standard_NC24ads_A100_v4`.
    pub fn family_letter(&self) -> &'static str {
        self.parts().0.get(..1).unwrap_or_default()
    }

    /// What sizes of one kind share: `NCads_v4` of `Standard_NC24ads_A100_v4`.
    pub fn series(&self) -> String {
        let (letters, features) = self.parts();
        let version = self.name.rsplit_once("_v").map(|(_, version)| format!("_v{version}")).unwrap_or_default();
        format!("{letters}{features}{version}")
    }

    pub fn version(&self) -> &'static str {
        self.name.rsplit_once("_v").map_or("1", |(_, version)| version)
    }

    /// The letters before and after the number of CPUs.
    fn parts(&self) -> (&'static str, &'static str) {
        let name = self.name.strip_prefix("Standard_").unwrap_or(self.name);
        let size = name.split('_').next().unwrap_or_default();
        let (letters, rest) = size.split_at(size.find(|one: char| one.is_ascii_digit()).unwrap_or(size.len()));
        (letters, rest.trim_start_matches(|one: char| one.is_ascii_digit() || one == '-'))
    }

    /// (resource, how many of one GPU) for a `gpuInstanceProfile` of AKS; `None` where there is no such profile.
    pub fn slices(&self, profile: &str) -> Option<(String, u32)> {
        let memory = self.slice_memory()?;
        let (at, parts, slices) = match profile {
            "MIG1g" => (0, 1, 7),
            "MIG2g" => (1, 2, 3),
            "MIG3g" => (2, 3, 2),
            "MIG4g" => (3, 4, 1),
            "MIG7g" => (4, 7, 1),
            _ => return None,
        };
        memory.get(at).map(|gib| (format!("nvidia.com/mig-{parts}g.{gib}gb"), slices))
    }

    fn slice_memory(&self) -> Option<[u64; 5]> {
        match (self.gpu.get(..4)?, self.gpu_memory_gib) {
            ("A100", 40) => Some([5, 10, 20, 20, 40]),
            ("A100" | "H100", 80) => Some([10, 20, 40, 40, 80]),
            ("H100", 94) => Some([12, 24, 47, 47, 94]),
            ("H200", 141) => Some([18, 35, 71, 71, 141]),
            _ => None,
        }
    }
}

const ZONAL: bool = true;
const REGIONAL: bool = false;
const SPOT: bool = true;
const NO_SPOT: bool = false;

/// Numbers: vCPUs, memory, GPUs, memory of one GPU.
const fn size(
    name: &'static str,
    family: &'static str,
    numbers: [u64; 4],
    gpu: &'static str,
    price: u64,
    zonal: bool,
    spot: bool,
) -> Size {
    let [vcpus, memory_gib, gpus, gpu_memory_gib] = numbers;
    // No machine has more than sixteen.
    Size { name, family, vcpus, memory_gib, gpus: gpus as u32, gpu_memory_gib, gpu, price, zonal, spot }
}

#[rustfmt::skip]
pub(crate) const SIZES: &[Size] = &[
    size("Standard_NV6ads_A10_v5", "StandardNVADSA10v5Family", [6, 55, 1, 4], "A10", 454_000, ZONAL, SPOT),
    size("Standard_NV12ads_A10_v5", "StandardNVADSA10v5Family", [12, 110, 1, 8], "A10", 908_000, ZONAL, SPOT),
    size("Standard_NV18ads_A10_v5", "StandardNVADSA10v5Family", [18, 220, 1, 12], "A10", 1_600_000, ZONAL, SPOT),
    size("Standard_NV36ads_A10_v5", "StandardNVADSA10v5Family", [36, 440, 1, 24], "A10", 3_200_000, ZONAL, SPOT),
    size("Standard_NV36adms_A10_v5", "StandardNVADSA10v5Family", [36, 880, 1, 24], "A10", 4_520_000, ZONAL, SPOT),
    size("Standard_NV72ads_A10_v5", "StandardNVADSA10v5Family", [72, 880, 2, 24], "A10", 6_520_000, ZONAL, SPOT),
    size("Standard_NC24ads_A100_v4", "StandardNCADSA100v4Family", [24, 220, 1, 80], "A100-80GB", 3_673_000, ZONAL, SPOT),
    size("Standard_NC48ads_A100_v4", "StandardNCADSA100v4Family", [48, 440, 2, 80], "A100-80GB", 7_346_000, ZONAL, SPOT),
    size("Standard_NC96ads_A100_v4", "StandardNCADSA100v4Family", [96, 880, 4, 80], "A100-80GB", 14_692_000, ZONAL, SPOT),
    size("Standard_ND96asr_v4", "standardNDASv4_A100Family", [96, 900, 8, 40], "A100-40GB", 27_197_000, REGIONAL, SPOT),
    size("Standard_ND96asr_A100_v4", "standardNDASv4_A100Family", [96, 900, 8, 40], "A100-40GB", 27_197_000, REGIONAL, SPOT),
    size("Standard_ND96amsr_A100_v4", "standardNDAMSv4_A100Family", [96, 1900, 8, 80], "A100-80GB", 32_770_000, REGIONAL, SPOT),
    size("Standard_NC40ads_H100_v5", "standardNCadsH100v5Family", [40, 320, 1, 94], "H100-94GB", 6_980_000, ZONAL, SPOT),
    size("Standard_NC80adis_H100_v5", "standardNCadsH100v5Family", [80, 640, 2, 94], "H100-94GB", 13_960_000, ZONAL, SPOT),
    size("Standard_NCC40ads_H100_v5", "standardNCCadsH100v5Family", [40, 320, 1, 94], "H100-94GB", 6_980_000, ZONAL, NO_SPOT),
    size("Standard_ND96isr_H100_v5", "standardNDSH100v5Family", [96, 1900, 8, 80], "H100-80GB", 98_320_000, REGIONAL, SPOT),
    size("Standard_ND96isr_H200_v5", "standardNDISRH200V5Family", [96, 1850, 8, 141], "H200", 110_240_000, REGIONAL, SPOT),
    size("Standard_ND96isr_MI300X_v5", "standardNDISv5MI300XFamily", [96, 1850, 8, 192], "MI300X", 48_000_000, REGIONAL, SPOT),
    size("Standard_NG32ads_V620_v1", "standardNGADSV620v1Family", [32, 64, 1, 32], "V620", 2_446_000, REGIONAL, SPOT),
    size("Standard_NG32adms_V620_v1", "standardNGADSV620v1Family", [32, 176, 1, 32], "V620", 3_302_000, REGIONAL, SPOT),
    size("Standard_NC6s_v3", "standardNCSv3Family", [6, 112, 1, 16], "V100-16GB", 3_060_000, REGIONAL, SPOT),
    size("Standard_NC12s_v3", "standardNCSv3Family", [12, 224, 2, 16], "V100-16GB", 6_120_000, REGIONAL, SPOT),
    size("Standard_NC24s_v3", "standardNCSv3Family", [24, 448, 4, 16], "V100-16GB", 12_240_000, REGIONAL, SPOT),
    size("Standard_NC24rs_v3", "standardNCSv3Family", [24, 448, 4, 16], "V100-16GB", 13_464_000, REGIONAL, SPOT),
    size("Standard_NC4as_T4_v3", "Standard NCASv3_T4 Family", [4, 28, 1, 16], "T4", 526_000, ZONAL, SPOT),
    size("Standard_NC8as_T4_v3", "Standard NCASv3_T4 Family", [8, 56, 1, 16], "T4", 752_000, ZONAL, SPOT),
    size("Standard_NC16as_T4_v3", "Standard NCASv3_T4 Family", [16, 110, 1, 16], "T4", 1_204_000, ZONAL, SPOT),
    size("Standard_NC64as_T4_v3", "Standard NCASv3_T4 Family", [64, 440, 4, 16], "T4", 4_352_000, ZONAL, SPOT),
    size("Standard_NV6", "standardNVFamily", [6, 56, 1, 8], "M60", 1_140_000, REGIONAL, NO_SPOT),
    size("Standard_NV12", "standardNVFamily", [12, 112, 2, 8], "M60", 2_280_000, REGIONAL, NO_SPOT),
    size("Standard_NV24", "standardNVFamily", [24, 224, 4, 8], "M60", 4_560_000, REGIONAL, NO_SPOT),
    size("Standard_NV12s_v3", "standardNVSv3Family", [12, 112, 1, 8], "M60", 1_140_000, REGIONAL, SPOT),
    size("Standard_NV24s_v3", "standardNVSv3Family", [24, 224, 2, 8], "M60", 2_280_000, REGIONAL, SPOT),
    size("Standard_NV48s_v3", "standardNVSv3Family", [48, 448, 4, 8], "M60", 4_560_000, REGIONAL, SPOT),
    size("Standard_NV32as_v4", "standardNVSv4Family", [32, 112, 1, 16], "MI25", 1_864_000, REGIONAL, SPOT),
    size("Standard_NC6", "standardNCFamily", [6, 56, 1, 12], "K80", 900_000, REGIONAL, NO_SPOT),
    size("Standard_NC12", "standardNCFamily", [12, 112, 2, 12], "K80", 1_800_000, REGIONAL, NO_SPOT),
    size("Standard_NC24", "standardNCFamily", [24, 224, 4, 12], "K80", 3_600_000, REGIONAL, NO_SPOT),
    size("Standard_NC24r", "standardNCFamily", [24, 224, 4, 12], "K80", 3_960_000, REGIONAL, NO_SPOT),
    size("Standard_ND6s", "standardNDSFamily", [6, 112, 1, 24], "P40", 2_070_000, REGIONAL, SPOT),
    size("Standard_ND12s", "standardNDSFamily", [12, 224, 2, 24], "P40", 4_140_000, REGIONAL, SPOT),
    size("Standard_ND24s", "standardNDSFamily", [24, 448, 4, 24], "P40", 8_280_000, REGIONAL, SPOT),
    size("Standard_ND24rs", "standardNDSFamily", [24, 448, 4, 24], "P40", 9_108_000, REGIONAL, SPOT),
    size("Standard_NC6s_v2", "standardNCSv2Family", [6, 112, 1, 16], "P100", 2_070_000, REGIONAL, SPOT),
    size("Standard_NC12s_v2", "standardNCSv2Family", [12, 224, 2, 16], "P100", 4_140_000, REGIONAL, SPOT),
    size("Standard_NC24s_v2", "standardNCSv2Family", [24, 448, 4, 16], "P100", 8_280_000, REGIONAL, SPOT),
    size("Standard_NC24rs_v2", "standardNCSv2Family", [24, 448, 4, 16], "P100", 9_108_000, REGIONAL, SPOT),
    size("Standard_ND40rs_v2", "standardNDSv2Family", [40, 672, 8, 32], "V100-32GB", 22_032_000, REGIONAL, SPOT),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_size_tells_its_family_series_and_version() {
        let check = |name: &str, expected: (&str, &str, &str)| {
            let found = Size::named(name).map(|size| (size.family_letter(), size.series(), size.version()));
            let (family, series, version) = expected;
            assert_eq!(found, Some((family, series.to_owned(), version)), "{name}");
        };
        check("Standard_NC24ads_A100_v4", ("N", "NCads_v4", "4"));
        check("Standard_ND96isr_H100_v5", ("N", "NDisr_v5", "5"));
        check("Standard_NG32ads_V620_v1", ("N", "NGads_v1", "1"));
        check("Standard_NC24r", ("N", "NCr", "1"));
    }
}
