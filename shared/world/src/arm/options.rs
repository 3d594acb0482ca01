//! How this Azure is set up, and what goes wrong in it: plain data, changeable while the world runs.

use super::fault::Fault;
use jiff::Timestamp;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// A shortest and a longest span; the seed chooses between them.
pub type Span = (Duration, Duration);

#[derive(Debug, Clone)]
pub struct ArmOptions {
    /// What absolute links (operations, next pages) start with. `None`: what the request was sent to.
    pub base_url: Option<String>,
    pub tenant: String,
    pub subscription: String,
    pub resource_group: String,
    pub cluster: String,
    pub location: String,
    pub zones: Vec<String>,
    pub kubernetes_version: String,
    /// A pool that is there from the beginning and is nobody's to touch; AKS clusters always have one.
    pub system_pool: Option<SystemPool>,
    pub identities: Vec<Identity>,
    pub tokens: Tokens,
    /// Role actions the caller lacks, for example `Microsoft.ContainerService/managedClusters/agentPools/write`.
    pub denied_actions: BTreeSet<String>,
    pub limits: Limits,
    pub quota: Quota,
    /// Sizes this subscription may not use: listed with a restriction, refused on PUT.
    pub restricted_sizes: BTreeSet<String>,
    pub rates: Rates,
    pub timings: Timings,
    /// What DELETE does to a pool whose own operation is still running.
    pub delete_when_busy: DeleteWhenBusy,
    pub mig_strategy: MigStrategy,
    /// Someone else (the GPU operator) installs drivers, so that `gpuProfile.driver: None` still gives GPUs.
    pub gpu_operator: bool,
    /// AKS itself answers errors without the `error` envelope; `true` wraps them as the rest of ARM does.
    pub enveloped_errors: bool,
    pub faults: Vec<Fault>,
}

#[derive(Debug, Clone)]
pub struct SystemPool {
    pub name: String,
    pub size: String,
    pub count: u32,
}

/// An application or managed identity of the tenant.
#[derive(Debug, Clone)]
pub struct Identity {
    pub client_id: String,
    pub object_id: String,
    pub secret: Option<String>,
    /// Who may exchange a Kubernetes token for this identity.
    pub federated: Vec<Federated>,
    /// Answers on the metadata and App Service endpoints.
    pub managed: bool,
}

/// One federated credential; `None` accepts anything, which a real tenant does not offer.
#[derive(Debug, Clone)]
pub struct Federated {
    pub issuer: Option<String>,
    pub subject: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Tokens {
    pub life: Duration,
    /// The life clients are told; needed when the world runs faster than the clients' own clock.
    pub told_life: Option<Duration>,
    /// The clients' clock minus the world's, for absolute times in and out of tokens.
    pub client_clock_ahead: i64,
    /// Besides the base URL: resources a token for this ARM may be issued for.
    pub audiences: Vec<String>,
    /// What `X-IDENTITY-HEADER` must carry on the App Service endpoint.
    pub identity_header: String,
}

#[derive(Debug, Clone)]
pub struct Limits {
    pub pools: usize,
    pub nodes_in_a_pool: u32,
    /// Agent-pool operations that may run in the cluster at one time.
    pub operations: usize,
    /// Pools on one page of a list.
    pub page: usize,
    pub sizes_page: usize,
    pub prices_page: usize,
    pub max_pods: u32,
}

#[derive(Debug, Clone)]
pub struct Quota {
    /// vCPUs by family, as usages spell it; others get `family_default`.
    pub families: BTreeMap<String, u64>,
    pub family_default: u64,
    pub regional: u64,
    pub low_priority: u64,
    pub answer: QuotaAnswer,
}

/// Where exceeded quota shows up; all three are seen in the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaAnswer {
    /// 400 `ErrCode_InsufficientVCPUQuota` from the AKS preflight check.
    Preflight,
    /// 409 `OperationNotAllowed`, Compute's own words.
    Conflict,
    /// Accepted, then the operation fails with `QuotaExceeded` and a Failed pool stays.
    Operation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteWhenBusy {
    /// The running operation ends `Canceled` and the deletion starts.
    Preempts,
    /// 409 until the running operation has ended.
    Conflicts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MigStrategy {
    /// `nvidia.com/mig-1g.10gb`
    Mixed,
    /// Every slice is a `nvidia.com/gpu`.
    Single,
}

/// A token bucket: `size` at once, then `per_second`.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    pub size: f64,
    pub per_second: f64,
}

/// `None` does not limit. The first three are ARM's, by subscription and principal; the others are AKS's own.
#[derive(Debug, Clone)]
pub struct Rates {
    pub reads: Option<Rate>,
    pub writes: Option<Rate>,
    pub deletes: Option<Rate>,
    pub put_agent_pool: Option<Rate>,
    pub operation_status: Option<Rate>,
}

#[derive(Debug, Clone)]
pub struct Timings {
    /// From the accepted request to the kubelet's start.
    pub boot: Span,
    /// From the last machine's boot to the end of the operation.
    pub settle: Span,
    /// From the join to allocatable GPUs.
    pub gpu: Span,
    /// From the accepted request to an allocation failure.
    pub failure: Span,
    pub update: Span,
    /// From the accepted DELETE to the machines being gone, and from there to the end of the operation.
    pub stop: Span,
    pub delete: Span,
    /// Life of a spot machine before Azure takes it back; `None`: only `Arm::evict` does.
    pub spot_life: Option<Span>,
    /// Time an answer takes.
    pub latency: Span,
    /// The `Retry-After` of a running operation.
    pub poll_after: Option<Duration>,
}

impl ArmOptions {
    pub(super) fn node_resource_group(&self) -> String {
        format!("MC_{}_{}_{}", self.resource_group, self.cluster, self.location)
    }

    pub(super) fn cluster_id(&self) -> String {
        format!(
            "/subscriptions/{}/resourcegroups/{}/providers/Microsoft.ContainerService/managedClusters/{}",
            self.subscription, self.resource_group, self.cluster
        )
    }

    /// The clients' idea of the time, for what they compare with their own clock.
    pub(super) fn client_time(&self, now: Timestamp) -> i64 {
        now.as_second() + self.tokens.client_clock_ahead
    }
}
