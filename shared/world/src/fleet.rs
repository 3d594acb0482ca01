//! Between clouds and cluster: a machine that has booted joins as a Node, one that is gone takes it away.

use std::{collections::BTreeMap, time::Duration};

/// What the clouds tell the cluster. The cluster implements it; a cloud never touches Kubernetes itself.
pub trait Fleet: Send + Sync + 'static {
    /// The machine's kubelet has started. The cluster registers the Node (or finds it again) and keeps it alive.
    fn join(&self, machine: Machine);
    /// The machine stopped answering. The cluster stops its heartbeats; `deleted` says that it will not come back,
    /// so that the cloud's node controller removes the Node object.
    fn leave(&self, node: &str, deleted: bool);
}

/// A machine as its kubelet would report it.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    pub node: String,
    pub provider_id: String,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    /// (key, value, effect)
    pub taints: Vec<(String, String, String)>,
    /// `cpu`, `memory`, `ephemeral-storage`, `pods`, as Kubernetes writes quantities; without accelerators.
    pub capacity: BTreeMap<String, String>,
    /// For example (`nvidia.com/gpu`, 1).
    pub accelerator: Option<(String, u64)>,
    /// How long after joining the accelerator becomes allocatable; `None` means never.
    pub accelerator_after: Option<Duration>,
    /// Tells reboots apart.
    pub boot_id: String,
}
