//! A machine that was asked for, and how far it has come.

use jiff::Timestamp;
use std::collections::BTreeMap;

use crate::{ObjectName, Offering, Resources, Taint, Uid};

/// Whose machine it is. The UID is the identity; the name is only what people see.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceKey {
    pub claim: Uid,
    pub name: ObjectName,
}

/// Everything a provider needs to make one. Nothing is left to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceRequest {
    pub key: InstanceKey,
    pub offering: Offering,
    /// Counts the attempts of a claim: a new offering is a new epoch.
    pub epoch: u32,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    pub startup_taints: Vec<Taint>,
    /// What the claim asks for; a provider reads its disk size here (`ephemeral-storage` or `storage`).
    pub requests: Resources,
    /// The node class's own fields and annotations, as flat text; each provider documents those it reads.
    pub class: BTreeMap<String, String>,
}

/// Where an operation stands, in the provider's own words. Opaque to everybody else, and small enough for an annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress(pub String);

/// What `ensure` reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ensured {
    /// It exists and runs (its node may still have to join).
    Running(Instance),
    /// It is being made: ask again with this, not sooner than after so many seconds.
    InProgress { progress: Progress, look_again_seconds: u32 },
}

/// What `ensure_gone` reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gone {
    /// Nothing of it is left, and nothing of it is billed.
    Confirmed,
    InProgress {
        progress: Progress,
        look_again_seconds: u32,
    },
}

/// What `reboot` reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rebooted {
    /// It was told to start anew. That it did, only its Node can prove, with another boot ID.
    Issued,
    /// It is on its way, in steps: ask again with the same operation.
    InProgress { look_again_seconds: u32 },
    /// This machine cannot be started anew; why.
    NotAble { why: String },
}

/// A machine that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// What the cloud calls it, the same for as long as it lives. Not always what its Node says: see `node_provider_id`.
    pub provider_id: String,
    /// The name its Node has or will have, where that is known.
    pub node: Option<String>,
    pub instance_type: String,
    pub zone: Option<String>,
    pub capacity_type: crate::CapacityType,
    pub image: Option<String>,
    pub created_at: Option<Timestamp>,
    pub state: InstanceState,
}

impl Instance {
    /// The `spec.providerID` its Node has or will have. `None` where only the Node can tell: AKS makes a pool, and names the
    /// machine in it later.
    pub fn node_provider_id(&self) -> Option<&str> {
        // Kubernetes defines `<provider>://<id>`; a cloud's own name without that is no claim about the Node.
        self.provider_id.contains("://").then_some(self.provider_id.as_str())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InstanceState {
    Starting,
    Running,
    Stopping,
    /// Exists, costs something, and does not run.
    Stopped,
    Failed,
}

/// What is under our key in a cloud: for finding leaks, so the claim may be long gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owned {
    pub key: InstanceKey,
    /// Absent for what an instance left behind (a volume, an address).
    pub instance: Option<Instance>,
    /// What it is, for people: `agent pool gpu1`, `volume 6f1c…`.
    pub what: String,
    /// It says that it is of this very cluster, by what no two clusters share. Without that it may be of another cluster that
    /// has the same account and the same settings, whose claims we do not see.
    pub is_of_this_cluster: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_id_in_the_form_of_kubernetes_is_the_nodes() {
        let named = |provider_id: &str| Instance {
            provider_id: provider_id.to_owned(),
            node: None,
            instance_type: String::new(),
            zone: None,
            capacity_type: crate::CapacityType::OnDemand,
            image: None,
            created_at: None,
            state: InstanceState::Running,
        };
        assert_eq!(
            named("scaleway://instance/fr-par-2/abc").node_provider_id(),
            Some("scaleway://instance/fr-par-2/abc")
        );
        assert_eq!(named("/subscriptions/s/agentPools/gpu1").node_provider_id(), None);
        assert_eq!(named("").node_provider_id(), None);
    }
}
