//! Whose turn it is to decide about pods that wait: one Lease in our own namespace, one holder a decision.
//!
//! NodeClaims are read and made while it is held, so nobody makes a second one for a pod that somebody just made one for.
//! A holder that dies loses its turn after a short time; one that lives gives it back at once.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::api::{ObjectMeta, Patch, PostParams};
use model::ResourceVersion;
use serde_json::{Value, json};

use crate::{Cluster, ClusterError, FIELD_MANAGER, ask::Asking, change::patching, fields, rights};

const NAME: &str = "pilotlight-provisioning";

/// How long a turn lasts that nobody gives back.
pub const TURN: SignedDuration = SignedDuration::from_secs(15);

/// Clocks of different machines differ; a turn is taken from its holder only when it is over for every one of them.
const CLOCKS_DIFFER: SignedDuration = SignedDuration::from_secs(5);

/// Whether it is our turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    Ours(OurTurn),
    /// Somebody else decides, until then at the latest.
    Others {
        until: Timestamp,
    },
}

/// The right to make NodeClaims, until its time is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OurTurn {
    holder: String,
    version: ResourceVersion,
    pub until: Timestamp,
}

impl Cluster {
    /// `holder` is of this decision alone: two of one process are two holders.
    pub async fn take_turn(&self, holder: &str, now: Timestamp) -> Result<Turn, ClusterError> {
        let taken = match self.turn_lease().await? {
            None => self.make_turn_lease(holder, now).await,
            Some(lease) => match held_until(&lease).filter(|until| *until > now) {
                Some(until) => return Ok(Turn::Others { until }),
                None => self.write_turn(&lease_version(&lease)?, spec(holder, now)).await,
            },
        };
        match taken {
            Ok(version) => Ok(Turn::Ours(OurTurn { holder: holder.to_owned(), version, until: end(now) })),
            Err(error) if error.is_conflict() => Ok(Turn::Others { until: end(now) }),
            Err(error) => Err(error),
        }
    }

    /// A new whole turn in place of what is left of this one; `None` if somebody else has taken it meanwhile.
    pub async fn keep_turn(&self, turn: OurTurn, now: Timestamp) -> Result<Option<OurTurn>, ClusterError> {
        match self.write_turn(&turn.version, spec(&turn.holder, now)).await {
            Ok(version) => Ok(Some(OurTurn { version, until: end(now), ..turn })),
            Err(error) if error.is_conflict() || error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// If it is not ours any more: already so.
    pub async fn end_turn(&self, turn: OurTurn) -> Result<(), ClusterError> {
        match self.write_turn(&turn.version, json!({ "holderIdentity": null, "renewTime": null })).await {
            Err(error) if !error.is_conflict() && !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    async fn turn_lease(&self) -> Result<Option<Lease>, ClusterError> {
        let asking = Asking::new(rights::GET_OWN_LEASE, "reading Lease", NAME);
        self.look_for(asking, self.own_leases().get(NAME)).await
    }

    async fn make_turn_lease(&self, holder: &str, now: Timestamp) -> Result<ResourceVersion, ClusterError> {
        let asking = Asking::new(rights::CREATE_OWN_LEASE, "making Lease", NAME);
        let lease = Lease {
            metadata: ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() },
            spec: Some(LeaseSpec {
                holder_identity: Some(holder.to_owned()),
                lease_duration_seconds: i32::try_from(TURN.as_secs()).ok(),
                acquire_time: Some(MicroTime(now)),
                renew_time: Some(MicroTime(now)),
                ..LeaseSpec::default()
            }),
        };
        let how = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let made = self.change(asking, self.own_leases().create(&how, &lease)).await?;
        fields::version(&made.metadata).map_err(|why| asking.nonsense(why))
    }

    /// Against the version that was read: of two who want it, one gets it.
    async fn write_turn(&self, version: &ResourceVersion, spec: Value) -> Result<ResourceVersion, ClusterError> {
        let asking = Asking::new(rights::PATCH_OWN_LEASE, "writing Lease", NAME);
        let patch = Patch::Merge(json!({ "metadata": { "resourceVersion": version.as_str() }, "spec": spec }));
        let written = self.change(asking, self.own_leases().patch(NAME, &patching(), &patch)).await?;
        fields::version(&written.metadata).map_err(|why| asking.nonsense(why))
    }
}

fn lease_version(lease: &Lease) -> Result<ResourceVersion, ClusterError> {
    let asking = Asking::new(rights::GET_OWN_LEASE, "reading Lease", NAME);
    fields::version(&lease.metadata).map_err(|why| asking.nonsense(why))
}

fn spec(holder: &str, now: Timestamp) -> Value {
    let now = MicroTime(now);
    json!({
        "holderIdentity": holder, "leaseDurationSeconds": TURN.as_secs(), "acquireTime": now, "renewTime": now,
    })
}

/// When others may have it; absent if nobody has it.
fn held_until(lease: &Lease) -> Option<Timestamp> {
    let spec = lease.spec.as_ref()?;
    spec.holder_identity.as_ref().filter(|holder| !holder.is_empty())?;
    let MicroTime(renewed) = spec.renew_time.as_ref()?;
    let length = SignedDuration::from_secs(spec.lease_duration_seconds.unwrap_or_default().into());
    renewed.checked_add(length + CLOCKS_DIFFER).ok()
}

fn end(now: Timestamp) -> Timestamp {
    now.checked_add(TURN).unwrap_or(Timestamp::MAX)
}
