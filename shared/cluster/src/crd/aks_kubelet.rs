//! The parts of an AKSNodeClass that tune a node: its kubelet, and Linux itself. We carry them; Azure reads them.

use kube::{KubeSchema, core::Rule};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::{borrow::Cow, collections::BTreeMap};

const SIZE: &str = r"^\d+(E|P|T|G|M|K|Ei|Pi|Ti|Gi|Mi|Ki)$";

/// Settings of the kubelet.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = (
    "!has(self.imageGCHighThresholdPercent) || !has(self.imageGCLowThresholdPercent) || \
     self.imageGCHighThresholdPercent > self.imageGCLowThresholdPercent",
    "imageGCHighThresholdPercent must be greater than imageGCLowThresholdPercent"
))]
pub struct KubeletConfiguration {
    /// How CPUs are given to containers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["none", "static"], "default" = "none"))]
    pub cpu_manager_policy: Option<String>,
    /// Whether CPU limits are enforced.
    #[serde(default, rename = "cpuCFSQuota", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = true))]
    pub cpu_cfs_quota: Option<bool>,
    /// Over which time CPU limits are counted, from 1ms to 1s.
    #[serde(default, rename = "cpuCFSQuotaPeriod", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "100ms"))]
    pub cpu_cfs_quota_period: Option<String>,
    /// How full the disk is, in percent, when images begin to be removed.
    #[serde(default, rename = "imageGCHighThresholdPercent", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub image_gc_high_threshold_percent: Option<i32>,
    /// How full the disk is, in percent, when that stops.
    #[serde(default, rename = "imageGCLowThresholdPercent", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub image_gc_low_threshold_percent: Option<i32>,
    /// How CPUs and devices are kept on the same NUMA node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["restricted", "best-effort", "none", "single-numa-node"], "default" = "none"))]
    pub topology_manager_policy: Option<String>,
    /// Sysctls beyond the safe ones that pods may set, as in kernel.msg*.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_unsafe_sysctls: Vec<String>,
    /// How large a container's log grows before a new one is begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = SIZE), extend("default" = "50Mi"))]
    pub container_log_max_size: Option<String>,
    /// How many logs of a container are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2), extend("default" = 5))]
    pub container_log_max_files: Option<i32>,
    /// How many processes a pod may have; -1 for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_pids_limit: Option<i64>,
    /// Whether the kubelet refuses to start where there is swap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_swap_on: Option<bool>,
}

/// Settings of Linux itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct LinuxOsConfiguration {
    /// The size of a swap file, as in 1500Mi. Needs kubelet.failSwapOn: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = SIZE))]
    pub swap_file_size: Option<String>,
    /// Kernel parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sysctls: Option<Sysctls>,
    /// When large memory pages are used without being asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["always", "madvise", "never"]))]
    pub transparent_huge_page_enabled: Option<String>,
    /// How hard the kernel works to make large pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["always", "defer", "defer+madvise", "madvise", "never"]))]
    pub transparent_huge_page_defrag: Option<String>,
}

/// Kernel parameters. Nobody here reads one of them, so they are kept as they came.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sysctls(pub BTreeMap<String, Value>);

/// Name in the class, name in the kernel, least and most.
const NUMBERS: [(&str, &str, u32, u32); 26] = [
    ("fsAioMaxNr", "fs.aio-max-nr", 65_536, 6_553_500),
    ("fsFileMax", "fs.file-max", 8_192, 12_000_500),
    ("fsInotifyMaxUserWatches", "fs.inotify.max_user_watches", 781_250, 2_097_152),
    ("fsNrOpen", "fs.nr_open", 8_192, 20_000_500),
    ("kernelThreadsMax", "kernel.threads-max", 20, 513_785),
    ("netCoreNetdevMaxBacklog", "net.core.netdev_max_backlog", 1_000, 3_240_000),
    ("netCoreOptmemMax", "net.core.optmem_max", 20_480, 4_194_304),
    ("netCoreRmemDefault", "net.core.rmem_default", 212_992, 134_217_728),
    ("netCoreRmemMax", "net.core.rmem_max", 212_992, 134_217_728),
    ("netCoreSomaxconn", "net.core.somaxconn", 4_096, 3_240_000),
    ("netCoreWmemDefault", "net.core.wmem_default", 212_992, 134_217_728),
    ("netCoreWmemMax", "net.core.wmem_max", 212_992, 134_217_728),
    ("netIPv4NeighDefaultGcThresh1", "net.ipv4.neigh.default.gc_thresh1", 128, 80_000),
    ("netIPv4NeighDefaultGcThresh2", "net.ipv4.neigh.default.gc_thresh2", 512, 90_000),
    ("netIPv4NeighDefaultGcThresh3", "net.ipv4.neigh.default.gc_thresh3", 1_024, 100_000),
    ("netIPv4TCPFinTimeout", "net.ipv4.tcp_fin_timeout", 5, 120),
    ("netIPv4TCPKeepaliveIntvl", "net.ipv4.tcp_keepalive_intvl", 10, 90),
    ("netIPv4TCPKeepaliveProbes", "net.ipv4.tcp_keepalive_probes", 1, 15),
    ("netIPv4TCPKeepaliveTime", "net.ipv4.tcp_keepalive_time", 30, 432_000),
    ("netIPv4TCPMaxSynBacklog", "net.ipv4.tcp_max_syn_backlog", 128, 3_240_000),
    ("netIPv4TCPMaxTwBuckets", "net.ipv4.tcp_max_tw_buckets", 8_000, 1_440_000),
    ("netNetfilterNfConntrackBuckets", "net.netfilter.nf_conntrack_buckets", 65_536, 524_288),
    ("netNetfilterNfConntrackMax", "net.netfilter.nf_conntrack_max", 131_072, 2_097_152),
    ("vmMaxMapCount", "vm.max_map_count", 65_530, 262_144),
    ("vmSwappiness", "vm.swappiness", 0, 100),
    ("vmVfsCachePressure", "vm.vfs_cache_pressure", 0, 100),
];

/// Where both are set, the first may not be over the second.
const IN_ORDER: [(&str, &str); 4] = [
    ("netCoreRmemDefault", "netCoreRmemMax"),
    ("netCoreWmemDefault", "netCoreWmemMax"),
    ("netIPv4NeighDefaultGcThresh1", "netIPv4NeighDefaultGcThresh2"),
    ("netIPv4NeighDefaultGcThresh2", "netIPv4NeighDefaultGcThresh3"),
];

const PORTS: &str = "netIPv4IPLocalPortRange";

impl JsonSchema for Sysctls {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Sysctls".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let number = |(name, kernel, least, most): &(&str, &str, u32, u32)| {
            let description = format!("The kernel's {kernel}.");
            let schema = json!({ "description": description, "type": "integer", "format": "int32",
                "minimum": least, "maximum": most });
            ((*name).to_owned(), schema)
        };
        let mut properties: Map<String, Value> = NUMBERS.iter().map(number).collect();
        properties.insert(
            "netIPv4TCPTwReuse".to_owned(),
            json!({ "description": "The kernel's net.ipv4.tcp_tw_reuse.", "type": "boolean" }),
        );
        properties.insert(
            PORTS.to_owned(),
            json!({ "description": "The kernel's net.ipv4.ip_local_port_range: the first port (1024 to 60999), a space, and \
                the last (32768 to 65535).", "type": "string", "maxLength": 11, "pattern": "^[0-9]{4,5} [0-9]{5}$" }),
        );
        json_schema!({
            "type": "object",
            "properties": properties,
            "x-kubernetes-validations": rules()
        })
    }
}

fn rules() -> Vec<Rule> {
    let in_order = IN_ORDER.iter().map(|(low, high)| {
        Rule::new(format!("!has(self.{low}) || !has(self.{high}) || self.{low} <= self.{high}"))
            .message(format!("{low} must be <= {high}").as_str())
    });
    let (first, last) = (format!("int(self.{PORTS}.split(' ')[0])"), format!("int(self.{PORTS}.split(' ')[1])"));
    let ports = [
        (format!("{first} >= 1024 && {first} <= 60999"), "first port must be in [1024, 60999]"),
        (format!("{last} >= 32768 && {last} <= 65535"), "last port must be in [32768, 65535]"),
        (format!("{first} <= {last}"), "first port must be <= last port"),
    ];
    let ports = ports.into_iter().map(|(holds, message)| {
        Rule::new(format!("!has(self.{PORTS}) || ({holds})")).message(format!("{PORTS} {message}").as_str())
    });
    in_order.chain(ports).collect()
}
