//! Which claim has which machine of a rack: one Lease a machine, in our own namespace.
//!
//! The API server makes an object once and lets one writer win, so a machine has one holder whoever races for it. The Lease
//! stays when its machine is given back, and then says since when that is off.

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::{
    Api,
    api::{ListParams, ObjectMeta, Patch, PostParams},
};
use model::{Uid, names};
use serde_json::json;
use std::collections::BTreeMap;

use crate::{Cluster, ClusterError, FIELD_MANAGER, ask::Asking, change::patching, rights};

/// Marks our Leases, and names the machine.
pub(crate) const MACHINE: &str = "pilotlight.dev/machine";
/// How far the machine has come, in its provider's words.
const NOTE: &str = "pilotlight.dev/note";

/// A machine in somebody's hands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineHeld {
    pub claim: Uid,
    pub note: Option<String>,
}

impl Cluster {
    /// Every machine that is held. One that is not in it is held by nobody.
    pub async fn machines_held(&self) -> Result<BTreeMap<String, MachineHeld>, ClusterError> {
        let asking = Asking::new(rights::LIST_OWN_LEASES, "listing Leases of machines", "");
        let found = self.list(asking, &self.own_leases(), ListParams::default().labels(MACHINE)).await?;
        let held = |lease: Lease| Some((lease.metadata.labels.as_ref()?.get(MACHINE)?.clone(), held(&lease)?));
        Ok(found.into_iter().filter_map(held).collect())
    }

    /// Gives a machine to a claim if nobody has it, with its first note, and answers who has it now.
    pub async fn take_machine(&self, machine: &str, claim: &Uid, note: &str) -> Result<MachineHeld, ClusterError> {
        let found = self.machine_lease(machine).await?;
        if let Some(held) = found.as_ref().and_then(held) {
            return Ok(held);
        }
        let taken = match found {
            None => self.make_lease(machine, claim, note).await,
            Some(lease) => {
                let change = json!({
                    "metadata": { "annotations": { NOTE: note } }, "spec": { "holderIdentity": claim.as_str() },
                });
                self.change_lease(machine, &lease, "taking Lease", change).await
            }
        };
        match taken {
            Ok(()) => Ok(MachineHeld { claim: claim.clone(), note: Some(note.to_owned()) }),
            // Somebody was faster, or our own write was: whoever it was stands in it.
            Err(error) if error.is_conflict() => match self.machine_lease(machine).await?.as_ref().and_then(held) {
                Some(held) => Ok(held),
                None => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    /// Replaces the note of a claim's hold; a conflict if the claim does not hold the machine.
    pub async fn note_machine(&self, machine: &str, claim: &Uid, note: &str) -> Result<(), ClusterError> {
        let asking = Asking::new(rights::PATCH_OWN_LEASE, "noting on the Lease of machine", machine);
        let Some(lease) = self.lease_held_by(machine, claim).await? else {
            let why = format!("the claim {claim} does not have the machine");
            return Err(asking.error(crate::Kind::Conflict { why }));
        };
        let change = json!({ "metadata": { "annotations": { NOTE: note } } });
        self.change_lease(machine, &lease, "noting on Lease", change).await
    }

    /// Ends a claim's hold of a machine that is off now. If the claim does not hold it: already so.
    pub async fn release_machine(&self, machine: &str, claim: &Uid, now: Timestamp) -> Result<(), ClusterError> {
        let Some(lease) = self.lease_held_by(machine, claim).await? else { return Ok(()) };
        let change = json!({
            "metadata": { "annotations": { NOTE: null, names::OFF_SINCE: now.to_string() } },
            "spec": { "holderIdentity": null },
        });
        self.change_lease(machine, &lease, "giving back Lease", change).await
    }

    /// Since when a machine that was given back is off.
    pub async fn machine_off_since(&self, machine: &str) -> Result<Option<Timestamp>, ClusterError> {
        let lease = self.machine_lease(machine).await?;
        Ok(lease.and_then(|lease| lease.metadata.annotations?.get(names::OFF_SINCE)?.parse().ok()))
    }

    async fn lease_held_by(&self, machine: &str, claim: &Uid) -> Result<Option<Lease>, ClusterError> {
        let found = self.machine_lease(machine).await?;
        Ok(found.filter(|lease| held(lease).is_some_and(|held| held.claim == *claim)))
    }

    async fn machine_lease(&self, machine: &str) -> Result<Option<Lease>, ClusterError> {
        let asking = Asking::new(rights::GET_OWN_LEASE, "reading the Lease of machine", machine);
        self.look_for(asking, self.own_leases().get(&lease_name(machine))).await
    }

    async fn make_lease(&self, machine: &str, claim: &Uid, note: &str) -> Result<(), ClusterError> {
        let labels = BTreeMap::from([(MACHINE.to_owned(), machine.to_owned())]);
        let annotations = BTreeMap::from([(NOTE.to_owned(), note.to_owned())]);
        let lease = Lease {
            metadata: ObjectMeta {
                name: Some(lease_name(machine)),
                labels: Some(labels),
                annotations: Some(annotations),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec { holder_identity: Some(claim.to_string()), ..LeaseSpec::default() }),
        };
        let how = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let asking = Asking::new(rights::CREATE_OWN_LEASE, "making the Lease of machine", machine);
        self.change(asking, self.own_leases().create(&how, &lease)).await.map(drop)
    }

    /// Against the version that was read: of two who change it, one wins.
    async fn change_lease(
        &self,
        machine: &str,
        lease: &Lease,
        doing: &'static str,
        mut change: serde_json::Value,
    ) -> Result<(), ClusterError> {
        change["metadata"]["resourceVersion"] = json!(lease.metadata.resource_version);
        let asking = Asking::new(rights::PATCH_OWN_LEASE, doing, machine);
        let patch = Patch::Merge(change);
        self.change(asking, self.own_leases().patch(&lease_name(machine), &patching(), &patch)).await.map(drop)
    }

    pub(crate) fn own_leases(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }
}

fn lease_name(machine: &str) -> String {
    format!("pilotlight-machine-{machine}")
}

fn held(lease: &Lease) -> Option<MachineHeld> {
    let holder = lease.spec.as_ref()?.holder_identity.clone().filter(|holder| !holder.is_empty())?;
    let note = lease.metadata.annotations.as_ref().and_then(|annotations| annotations.get(NOTE)).cloned();
    Some(MachineHeld { claim: Uid::new(holder).ok()?, note })
}
