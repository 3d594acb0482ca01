//! What can be chosen about the controllers.

use serde_json::Value;
use std::{fmt, sync::Arc, time::Duration};

use crate::api::store::ResourceKey;

/// What the API server does to a new object before it is stored (defaults, admission). Controllers write past the HTTP
/// layer, so they call it themselves.
pub type Admission = Arc<dyn Fn(&ResourceKey, &mut Value) + Send + Sync>;

/// Which controllers run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Running {
    #[default]
    All,
    /// The scheduler alone: nodes and pods are what their writers say they are.
    Scheduler,
    /// None: an API server by itself.
    Nothing,
}

#[derive(Clone)]
pub struct ControllersOptions {
    pub running: Running,
    pub admission: Option<Admission>,
    /// The version kubelets report.
    pub kubelet_version: String,
    /// How often a kubelet renews its Lease. All renew in the same instant, which costs one wake-up instead of many.
    pub lease_every: Duration,
    /// How often a kubelet reports its Node though nothing changed.
    pub report_every: Duration,
    /// Without a sign of life for this long, a Node's conditions become Unknown.
    pub node_monitor_grace: Duration,
    /// How often the cloud's node controller looks for Nodes whose machine is gone.
    pub cloud_node_every: Duration,
    /// How long a pod may name a Node that does not exist before it is collected.
    pub pod_quarantine: Duration,
    /// Between registering and being Ready.
    pub node_ready: (Duration, Duration),
    /// Between being bound and running, where nothing is said about pulling images.
    pub pod_start: (Duration, Duration),
    /// Between being asked to stop and having stopped, as far as the grace period allows.
    pub pod_stop: (Duration, Duration),
    /// How long pods of a Job run that do not say it themselves; `None` means for ever.
    pub job_pods_run: Option<Duration>,
    /// Whether the legacy parts of every namespace (default ServiceAccount, root CA) are made.
    pub namespace_furniture: bool,
    /// How many pods the scheduler places before others may run.
    pub pods_a_round: usize,
}

impl Default for ControllersOptions {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        let millis = Duration::from_millis;
        ControllersOptions {
            running: Running::default(),
            admission: None,
            kubelet_version: "v1.34.2".to_owned(),
            lease_every: seconds(10),
            report_every: seconds(300),
            node_monitor_grace: seconds(40),
            cloud_node_every: seconds(5),
            pod_quarantine: seconds(40),
            node_ready: (seconds(2), seconds(12)),
            pod_start: (millis(500), millis(2500)),
            pod_stop: (millis(200), millis(1500)),
            job_pods_run: Some(seconds(10)),
            namespace_furniture: true,
            pods_a_round: 1000,
        }
    }
}

impl fmt::Debug for ControllersOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ControllersOptions")
            .field("kubelet_version", &self.kubelet_version)
            .finish_non_exhaustive()
    }
}
