//! Small things of our own that may be left over: looked at, and taken away, each against what was read.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{api::coordination::v1::Lease, apimachinery::pkg::apis::meta::v1::MicroTime};
use kube::api::{DeleteParams, ListParams, Patch, Preconditions};
use model::{LeaseOf, LeaseSeen, names};
use serde_json::json;

use crate::{
    Cluster, ClusterError, Deleted,
    ask::Asking,
    change::patching,
    fields,
    leases::MACHINE,
    rights,
    turns::{PROVISIONING, TICKING, Turns},
};

impl Cluster {
    /// Leases of machines, held or not, and those that say whose turn it is.
    pub async fn leases_of_ours(&self) -> Result<Vec<LeaseSeen>, ClusterError> {
        let asking = Asking::new(rights::LIST_OWN_LEASES, "listing Leases", "");
        let found = self.list(asking, &self.own_leases(), ListParams::default()).await?;
        Ok(found.into_iter().filter_map(seen).collect())
    }

    /// Only if nobody has written to it since.
    pub async fn delete_lease(&self, lease: &LeaseSeen) -> Result<Deleted, ClusterError> {
        let asking = Asking::new(rights::DELETE_OWN_LEASE, "deleting Lease", &lease.name);
        let as_read =
            Preconditions { uid: Some(lease.uid.to_string()), resource_version: Some(lease.version.to_string()) };
        let how = DeleteParams::default().preconditions(as_read);
        match self.change(asking, self.own_leases().delete(&lease.name, &how)).await {
            Err(error) if error.is_not_found() || error.is_conflict() => Ok(Deleted::WasGone),
            other => other.map(|_| Deleted::Done),
        }
    }

    /// Takes a turn from a holder that died with it, unless somebody has taken it since.
    pub async fn free_lease(&self, lease: &LeaseSeen) -> Result<(), ClusterError> {
        let asking = Asking::new(rights::PATCH_OWN_LEASE, "writing Lease", &lease.name);
        let patch = Patch::Merge(json!({
            "metadata": { "resourceVersion": lease.version.as_str() },
            "spec": { "holderIdentity": null, "renewTime": null },
        }));
        match self.change(asking, self.own_leases().patch(&lease.name, &patching(), &patch)).await {
            Err(error) if !error.is_not_found() && !error.is_conflict() => Err(error),
            _ => Ok(()),
        }
    }
}

/// `None` for what is not ours.
fn seen(lease: Lease) -> Option<LeaseSeen> {
    let identity = fields::identity(&lease.metadata).ok()?;
    let labels = lease.metadata.labels.unwrap_or_default();
    let annotations = lease.metadata.annotations.unwrap_or_default();
    let spec = lease.spec.unwrap_or_default();
    let is_turn = |turns: &Turns| turns.lease == identity.name.as_str();
    let of = if let Some(machine) = labels.get(MACHINE) {
        let off_since = annotations.get(names::OFF_SINCE).and_then(|text| text.parse().ok());
        LeaseOf::Machine { machine: machine.clone(), off_since }
    } else if [PROVISIONING, TICKING].iter().any(is_turn) {
        let length = SignedDuration::from_secs(spec.lease_duration_seconds.unwrap_or_default().into());
        let end = |MicroTime(renewed): &MicroTime| renewed.checked_add(length).unwrap_or(Timestamp::MAX);
        LeaseOf::Turn { until: spec.renew_time.as_ref().map(end) }
    } else {
        return None;
    };
    let holder = spec.holder_identity.filter(|holder| !holder.is_empty());
    Some(LeaseSeen { name: identity.name.to_string(), uid: identity.uid, version: identity.version, holder, of })
}
