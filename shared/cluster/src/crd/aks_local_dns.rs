//! The DNS cache that an AKSNodeClass can put on each node. We carry it; Azure reads it.

use super::schema::DURATION;
use kube::{KubeSchema, core::Rule};
use serde::{Deserialize, Serialize};

/// A DNS cache on each node.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
pub struct LocalDns {
    /// Whether there is one: Preferred is where the version of Kubernetes can.
    #[schemars(extend("enum" = ["Preferred", "Required", "Disabled"]))]
    pub mode: String,
    /// For the kubelet, and for pods with dnsPolicy Default.
    #[serde(rename = "vnetDNSOverrides")]
    #[schemars(length(max = 100))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["zone".into()]))]
    #[x_kube(validation = has_required_zones())]
    #[x_kube(validation = (
        "!self.exists(x, x.zone == '.' && x.forwardDestination == 'ClusterCoreDNS')",
        "root zone '.' cannot be forwarded to ClusterCoreDNS from vnetDNSOverrides"
    ))]
    #[x_kube(validation = (
        "!self.exists(x, x.zone != '.' && !x.zone.endsWith('cluster.local') && \
         x.forwardDestination == 'ClusterCoreDNS')",
        "external domains cannot be forwarded to ClusterCoreDNS from vnetDNSOverrides"
    ))]
    pub vnet_dns_overrides: Vec<ZoneOverride>,
    /// For pods with dnsPolicy ClusterFirst.
    #[serde(rename = "kubeDNSOverrides")]
    #[schemars(length(max = 100))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["zone".into()]))]
    #[x_kube(validation = has_required_zones())]
    pub kube_dns_overrides: Vec<ZoneOverride>,
}

/// How names of one zone are looked up.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = (
    "!(self.zone.endsWith('cluster.local') && self.forwardDestination == 'VnetDNS')",
    "'cluster.local' cannot be forwarded to VnetDNS"
))]
#[x_kube(validation = (
    "!(self.serveStale == 'Verify' && self.protocol == 'ForceTCP')",
    "serveStale Verify cannot be used with protocol ForceTCP"
))]
pub struct ZoneOverride {
    /// The zone, as in cluster.local; a dot for all others.
    #[schemars(
        length(min = 1, max = 254),
        regex(
            pattern = r"^(\.|[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?)*\.?)$"
        )
    )]
    pub zone: String,
    /// What is logged.
    #[schemars(extend("enum" = ["Error", "Log"]))]
    pub query_logging: String,
    /// How the server is asked.
    #[schemars(extend("enum" = ["PreferUDP", "ForceTCP"]))]
    pub protocol: String,
    /// Which server is asked.
    #[schemars(extend("enum" = ["ClusterCoreDNS", "VnetDNS"]))]
    pub forward_destination: String,
    /// In which order, where there are several.
    #[schemars(extend("enum" = ["Sequential", "RoundRobin", "Random"]))]
    pub forward_policy: String,
    /// How many questions may be open at a time.
    #[schemars(range(min = 0))]
    pub max_concurrent: i32,
    /// How long answers are kept, as in 1h.
    #[schemars(regex(pattern = DURATION))]
    pub cache_duration: String,
    /// How long old answers are given while the server does not answer.
    #[schemars(regex(pattern = DURATION))]
    pub serve_stale_duration: String,
    /// Whether old answers are given, and whether the server is asked first.
    #[schemars(extend("enum" = ["Verify", "Immediate", "Disable"]))]
    pub serve_stale: String,
}

fn has_required_zones() -> Rule {
    Rule::new("['.', 'cluster.local'].all(z, self.exists(x, x.zone == z))")
        .message("must contain required zones '.' and 'cluster.local'")
}
