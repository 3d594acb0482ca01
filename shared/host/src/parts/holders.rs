//! Whose machine it is: a Lease for each machine of a rack, taken before it is switched on and given back when it is off.
//!
//! A machine has no place for a tag, and a record on each claim cannot keep two claims from naming the same machine. The API
//! server makes an object once: whoever makes the Lease has the machine.

use async_trait::async_trait;
use cluster::{Cluster, ClusterError, Taken};
use model::Uid;
use provider::ProviderError;
use provider_power::{Holders, NodeSign};

#[derive(Clone)]
pub struct MachineLeases(pub Cluster);

impl MachineLeases {
    /// `false` if another claim has it.
    pub async fn take(&self, machine: &str, claim: &Uid) -> Result<bool, ProviderError> {
        let doing = || format!("taking the machine {machine}");
        match self.0.take_lease(&lease(machine), claim).await.map_err(|error| unavailable(doing(), &error))? {
            Taken::Ours => Ok(true),
            Taken::Others => Ok(false),
        }
    }

    /// Not there, or somebody else's: already so.
    pub async fn give_back(&self, machine: &str, claim: &Uid) -> Result<(), ProviderError> {
        let doing = || format!("giving the machine {machine} back");
        self.0.give_back_lease(&lease(machine), claim).await.map_err(|error| unavailable(doing(), &error))
    }
}

#[async_trait]
impl Holders for MachineLeases {
    async fn holder(&self, machine: &str) -> Result<Option<Uid>, ProviderError> {
        let doing = || format!("asking who has the machine {machine}");
        self.0.lease_holder(&lease(machine)).await.map_err(|error| unavailable(doing(), &error))
    }

    async fn node(&self, node: &str) -> Result<NodeSign, ProviderError> {
        let doing = || format!("looking at node {node}");
        let found = self.0.node_power(node).await.map_err(|error| unavailable(doing(), &error))?;
        Ok(found.map_or_else(NodeSign::default, |seen| NodeSign {
            ready: Some(seen.ready),
            on_since: seen.on_since,
            off_since: seen.off_since,
        }))
    }
}

fn lease(machine: &str) -> String {
    format!("pilotlight-machine-{machine}")
}

/// The cluster was asked and nothing was done to a machine.
fn unavailable(doing: String, error: &ClusterError) -> ProviderError {
    ProviderError::Unavailable { doing, why: error.to_string() }
}
