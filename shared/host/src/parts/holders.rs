//! Whose machine it is: a Lease for each machine of a rack, and what the cluster sees of its Node.

use async_trait::async_trait;
use cluster::{Cluster, ClusterError, MachineHeld};
use model::Uid;
use provider::ProviderError;
use provider_power::{Clock, Hold, Holders, NodeSign};
use std::collections::{BTreeMap, BTreeSet};

/// The holds of some machines: those that are described in one place.
#[derive(Clone)]
pub struct MachineHolds {
    pub cluster: Cluster,
    pub machines: BTreeSet<String>,
    pub clock: Clock,
}

#[async_trait]
impl Holders for MachineHolds {
    async fn held(&self) -> Result<BTreeMap<String, Hold>, ProviderError> {
        let all = self.cluster.machines_held().await.map_err(|error| failed("asking who has which machine", &error))?;
        let own = all.into_iter().filter(|(machine, _)| self.machines.contains(machine));
        Ok(own.map(|(machine, held)| (machine, hold(held))).collect())
    }

    async fn take(&self, machine: &str, claim: &Uid, note: &str) -> Result<Hold, ProviderError> {
        let doing = format!("taking the machine {machine}");
        self.cluster.take_machine(machine, claim, note).await.map(hold).map_err(|error| failed(&doing, &error))
    }

    async fn note(&self, machine: &str, claim: &Uid, note: &str) -> Result<(), ProviderError> {
        let doing = format!("noting how far the machine {machine} is");
        self.cluster.note_machine(machine, claim, note).await.map_err(|error| failed(&doing, &error))
    }

    async fn release(&self, machine: &str, claim: &Uid) -> Result<(), ProviderError> {
        let doing = format!("giving the machine {machine} back");
        let now = (self.clock)();
        self.cluster.release_machine(machine, claim, now).await.map_err(|error| failed(&doing, &error))
    }

    async fn node(&self, node: &str) -> Result<NodeSign, ProviderError> {
        let doing = format!("looking at node {node}");
        let unavailable = |error: ClusterError| failed(&doing, &error);
        let seen = self.cluster.node_power(node).await.map_err(unavailable)?;
        let noted = seen.and_then(|seen| seen.off_since);
        let off_since = match noted {
            Some(since) => Some(since),
            // The Node of a machine that never came up says nothing; its Lease does.
            None => self.cluster.machine_off_since(node).await.map_err(unavailable)?,
        };
        Ok(NodeSign { ready: seen.map(|seen| seen.ready), on_since: seen.and_then(|seen| seen.on_since), off_since })
    }
}

fn hold(held: MachineHeld) -> Hold {
    Hold { claim: held.claim, note: held.note }
}

/// Nothing was done to a machine: what could not be written before the command keeps the command from being sent.
fn failed(doing: &str, error: &ClusterError) -> ProviderError {
    ProviderError::Unavailable { doing: doing.to_owned(), why: error.to_string() }
}
