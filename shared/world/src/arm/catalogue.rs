//! VM sizes this Azure offers: every GPU size of the KAITO tables, retired ones too, and a few without GPUs.

/// Prices are USD an hour in eastus, Linux, near the public list of 2025; good for order, not for accounting.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub name: &'static str,
    pub family: &'static str,
    pub vcpus: u64,
    pub memory_gib: u64,
    pub gpus: u64,
    /// Of one GPU, or of the part of one that the size has.
    pub gpu_memory_gib: u64,
    pub gpu: &'static str,
    pub price: &'static str,
    pub zonal: bool,
    pub spot: bool,
}

impl Size {
    /// Sizes are found without case, as Compute finds them.
    pub fn named(name: &str) -> Option<&'static Size> {
        SIZES.iter().find(|size| size.name.eq_ignore_ascii_case(name))
    }

    pub fn maker(&self) -> Option<&'static str> {
        match self.gpu {
            "" => None,
            "V620" | "MI25" | "MI300X" => Some("amd"),
            _ => Some("nvidia"),
        }
    }

    /// The OS disk AKS gives when none is asked for.
    pub fn default_disk_gib(&self) -> u64 {
        match self.vcpus {
            0..=7 => 128,
            8..=15 => 256,
            16..=63 => 512,
            _ => 1024,
        }
    }

    /// (resource suffix, slices of one GPU) for a `gpuInstanceProfile`; `None` where there is no such profile.
    pub fn slices(&self, profile: &str) -> Option<(String, u64)> {
        let memory: [u64; 5] = match (self.gpu, self.gpu_memory_gib) {
            ("A100", 40) => [5, 10, 20, 20, 40],
            ("A100" | "H100", 80) => [10, 20, 40, 40, 80],
            ("H100", 94) => [12, 24, 47, 47, 94],
            ("H200", 141) => [18, 35, 71, 71, 141],
            _ => return None,
        };
        let (at, parts, slices) = match profile {
            "MIG1g" => (0, 1, 7),
            "MIG2g" => (1, 2, 3),
            "MIG3g" => (2, 3, 2),
            "MIG4g" => (3, 4, 1),
            "MIG7g" => (4, 7, 1),
            _ => return None,
        };
        memory.get(at).map(|gib| (format!("mig-{parts}g.{gib}gb"), slices))
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
    price: &'static str,
    zonal: bool,
    spot: bool,
) -> Size {
    let [vcpus, memory_gib, gpus, gpu_memory_gib] = numbers;
    Size { name, family, vcpus, memory_gib, gpus, gpu_memory_gib, gpu, price, zonal, spot }
}

#[rustfmt::skip]
pub(super) const SIZES: &[Size] = &[
    size("Standard_NV6ads_A10_v5", "StandardNVADSA10v5Family", [6, 55, 1, 4], "A10", "0.454", ZONAL, SPOT),
    size("Standard_NV12ads_A10_v5", "StandardNVADSA10v5Family", [12, 110, 1, 8], "A10", "0.908", ZONAL, SPOT),
    size("Standard_NV18ads_A10_v5", "StandardNVADSA10v5Family", [18, 220, 1, 12], "A10", "1.6", ZONAL, SPOT),
    size("Standard_NV36ads_A10_v5", "StandardNVADSA10v5Family", [36, 440, 1, 24], "A10", "3.2", ZONAL, SPOT),
    size("Standard_NV36adms_A10_v5", "StandardNVADSA10v5Family", [36, 880, 1, 24], "A10", "4.52", ZONAL, SPOT),
    size("Standard_NV72ads_A10_v5", "StandardNVADSA10v5Family", [72, 880, 2, 24], "A10", "6.52", ZONAL, SPOT),
    size("Standard_NC24ads_A100_v4", "StandardNCADSA100v4Family", [24, 220, 1, 80], "A100", "3.673", ZONAL, SPOT),
    size("Standard_NC48ads_A100_v4", "StandardNCADSA100v4Family", [48, 440, 2, 80], "A100", "7.346", ZONAL, SPOT),
    size("Standard_NC96ads_A100_v4", "StandardNCADSA100v4Family", [96, 880, 4, 80], "A100", "14.692", ZONAL, SPOT),
    size("Standard_ND96asr_v4", "standardNDASv4_A100Family", [96, 900, 8, 40], "A100", "27.197", REGIONAL, SPOT),
    size("Standard_ND96asr_A100_v4", "standardNDASv4_A100Family", [96, 900, 8, 40], "A100", "27.197", REGIONAL, SPOT),
    size("Standard_ND96amsr_A100_v4", "standardNDAMSv4_A100Family", [96, 1900, 8, 80], "A100", "32.77", REGIONAL, SPOT),
    size("Standard_NC40ads_H100_v5", "standardNCadsH100v5Family", [40, 320, 1, 94], "H100", "6.98", ZONAL, SPOT),
    size("Standard_NC80adis_H100_v5", "standardNCadsH100v5Family", [80, 640, 2, 94], "H100", "13.96", ZONAL, SPOT),
    size("Standard_NCC40ads_H100_v5", "standardNCCadsH100v5Family", [40, 320, 1, 94], "H100", "6.98", ZONAL, NO_SPOT),
    size("Standard_ND96isr_H100_v5", "standardNDSH100v5Family", [96, 1900, 8, 80], "H100", "98.32", REGIONAL, SPOT),
    size("Standard_ND96isr_H200_v5", "standardNDISRH200V5Family", [96, 1850, 8, 141], "H200", "110.24", REGIONAL, SPOT),
    size("Standard_ND96isr_MI300X_v5", "standardNDISv5MI300XFamily", [96, 1850, 8, 192], "MI300X", "48.0", REGIONAL, SPOT),
    size("Standard_NG32ads_V620_v1", "standardNGADSV620v1Family", [32, 64, 1, 32], "V620", "2.446", REGIONAL, SPOT),
    size("Standard_NG32adms_V620_v1", "standardNGADSV620v1Family", [32, 176, 1, 32], "V620", "3.302", REGIONAL, SPOT),
    size("Standard_NC6s_v3", "standardNCSv3Family", [6, 112, 1, 16], "V100", "3.06", REGIONAL, SPOT),
    size("Standard_NC12s_v3", "standardNCSv3Family", [12, 224, 2, 16], "V100", "6.12", REGIONAL, SPOT),
    size("Standard_NC24s_v3", "standardNCSv3Family", [24, 448, 4, 16], "V100", "12.24", REGIONAL, SPOT),
    size("Standard_NC24rs_v3", "standardNCSv3Family", [24, 448, 4, 16], "V100", "13.464", REGIONAL, SPOT),
    size("Standard_NC4as_T4_v3", "Standard NCASv3_T4 Family", [4, 28, 1, 16], "T4", "0.526", ZONAL, SPOT),
    size("Standard_NC8as_T4_v3", "Standard NCASv3_T4 Family", [8, 56, 1, 16], "T4", "0.752", ZONAL, SPOT),
    size("Standard_NC16as_T4_v3", "Standard NCASv3_T4 Family", [16, 110, 1, 16], "T4", "1.204", ZONAL, SPOT),
    size("Standard_NC64as_T4_v3", "Standard NCASv3_T4 Family", [64, 440, 4, 16], "T4", "4.352", ZONAL, SPOT),
    size("Standard_NV6", "standardNVFamily", [6, 56, 1, 8], "M60", "1.14", REGIONAL, NO_SPOT),
    size("Standard_NV12", "standardNVFamily", [12, 112, 2, 8], "M60", "2.28", REGIONAL, NO_SPOT),
    size("Standard_NV24", "standardNVFamily", [24, 224, 4, 8], "M60", "4.56", REGIONAL, NO_SPOT),
    size("Standard_NV12s_v3", "standardNVSv3Family", [12, 112, 1, 8], "M60", "1.14", REGIONAL, SPOT),
    size("Standard_NV24s_v3", "standardNVSv3Family", [24, 224, 2, 8], "M60", "2.28", REGIONAL, SPOT),
    size("Standard_NV48s_v3", "standardNVSv3Family", [48, 448, 4, 8], "M60", "4.56", REGIONAL, SPOT),
    size("Standard_NV32as_v4", "standardNVSv4Family", [32, 112, 1, 16], "MI25", "1.864", REGIONAL, SPOT),
    size("Standard_NC6", "standardNCFamily", [6, 56, 1, 12], "K80", "0.9", REGIONAL, NO_SPOT),
    size("Standard_NC12", "standardNCFamily", [12, 112, 2, 12], "K80", "1.8", REGIONAL, NO_SPOT),
    size("Standard_NC24", "standardNCFamily", [24, 224, 4, 12], "K80", "3.6", REGIONAL, NO_SPOT),
    size("Standard_NC24r", "standardNCFamily", [24, 224, 4, 12], "K80", "3.96", REGIONAL, NO_SPOT),
    size("Standard_ND6s", "standardNDSFamily", [6, 112, 1, 24], "P40", "2.07", REGIONAL, SPOT),
    size("Standard_ND12s", "standardNDSFamily", [12, 224, 2, 24], "P40", "4.14", REGIONAL, SPOT),
    size("Standard_ND24s", "standardNDSFamily", [24, 448, 4, 24], "P40", "8.28", REGIONAL, SPOT),
    size("Standard_ND24rs", "standardNDSFamily", [24, 448, 4, 24], "P40", "9.108", REGIONAL, SPOT),
    size("Standard_NC6s_v2", "standardNCSv2Family", [6, 112, 1, 16], "P100", "2.07", REGIONAL, SPOT),
    size("Standard_NC12s_v2", "standardNCSv2Family", [12, 224, 2, 16], "P100", "4.14", REGIONAL, SPOT),
    size("Standard_NC24s_v2", "standardNCSv2Family", [24, 448, 4, 16], "P100", "8.28", REGIONAL, SPOT),
    size("Standard_NC24rs_v2", "standardNCSv2Family", [24, 448, 4, 16], "P100", "9.108", REGIONAL, SPOT),
    size("Standard_ND40rs_v2", "standardNDSv2Family", [40, 672, 8, 32], "V100", "22.032", REGIONAL, SPOT),
    size("Standard_D2s_v3", "standardDSv3Family", [2, 8, 0, 0], "", "0.096", ZONAL, SPOT),
    size("Standard_D4s_v3", "standardDSv3Family", [4, 16, 0, 0], "", "0.192", ZONAL, SPOT),
    size("Standard_D8s_v3", "standardDSv3Family", [8, 32, 0, 0], "", "0.384", ZONAL, SPOT),
    size("Standard_D2s_v5", "standardDSv5Family", [2, 8, 0, 0], "", "0.096", ZONAL, SPOT),
    size("Standard_D4s_v5", "standardDSv5Family", [4, 16, 0, 0], "", "0.192", ZONAL, SPOT),
    size("Standard_D8s_v5", "standardDSv5Family", [8, 32, 0, 0], "", "0.384", ZONAL, SPOT),
    size("Standard_D16s_v5", "standardDSv5Family", [16, 64, 0, 0], "", "0.768", ZONAL, SPOT),
    size("Standard_D32s_v5", "standardDSv5Family", [32, 128, 0, 0], "", "1.536", ZONAL, SPOT),
    size("Standard_DS2_v2", "standardDSv2Family", [2, 7, 0, 0], "", "0.146", ZONAL, SPOT),
];
