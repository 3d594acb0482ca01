//! Whose turn it is: to decide about pods that wait, or to act on a tick. One Lease each in our own namespace, one holder
//! a decision.
//!
//! What a decision hangs on is read while the turn is held: nobody makes a second NodeClaim for a pod that somebody just made
//! one for, and no two ticks count the same budget. A holder that dies loses its turn after a short time; one that lives
//! gives it back at once.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::api::{ObjectMeta, Patch, PostParams};
use model::ResourceVersion;
use serde_json::{Value, json};

use crate::{Cluster, ClusterError, FIELD_MANAGER, ask::Asking, change::patching, fields, rights};

/// To make NodeClaims for pods that wait.
pub const PROVISIONING: Turns = Turns { lease: "pilotlight-provisioning", length: SignedDuration::from_secs(15) };
/// To do what a tick found to be done.
pub const TICKING: Turns = Turns { lease: "pilotlight-ticking", length: SignedDuration::from_secs(20) };

/// What people take turns at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turns {
    pub(crate) lease: &'static str,
    /// How long a turn lasts that nobody gives back.
    pub length: SignedDuration,
}

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

/// The right to do it, until its time is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OurTurn {
    turns: Turns,
    holder: String,
    version: ResourceVersion,
    pub until: Timestamp,
}

impl Cluster {
    /// `holder` is of this decision alone: two of one process are two holders.
    pub async fn take_turn(&self, turns: Turns, holder: &str, now: Timestamp) -> Result<Turn, ClusterError> {
        let taken = match self.turn_lease(turns).await? {
            None => self.make_turn_lease(turns, holder, now).await,
            Some(lease) => match held_until(&lease).filter(|until| *until > now) {
                Some(until) => return Ok(Turn::Others { until }),
                None => self.write_turn(turns, &turns.version(&lease)?, turns.spec(holder, now)).await,
            },
        };
        match taken {
            Ok(version) => Ok(Turn::Ours(OurTurn { turns, holder: holder.to_owned(), version, until: turns.end(now) })),
            Err(error) if error.is_conflict() => Ok(Turn::Others { until: turns.end(now) }),
            Err(error) => Err(error),
        }
    }

    /// A new whole turn in place of what is left of this one; `None` if somebody else has taken it meanwhile.
    pub async fn keep_turn(&self, turn: OurTurn, now: Timestamp) -> Result<Option<OurTurn>, ClusterError> {
        match self.write_turn(turn.turns, &turn.version, turn.turns.spec(&turn.holder, now)).await {
            Ok(version) => Ok(Some(OurTurn { version, until: turn.turns.end(now), ..turn })),
            Err(error) if error.is_conflict() || error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// If it is not ours any more: already so.
    pub async fn end_turn(&self, turn: OurTurn) -> Result<(), ClusterError> {
        match self.write_turn(turn.turns, &turn.version, json!({ "holderIdentity": null, "renewTime": null })).await {
            Err(error) if !error.is_conflict() && !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    async fn turn_lease(&self, turns: Turns) -> Result<Option<Lease>, ClusterError> {
        let asking = Asking::new(rights::GET_OWN_LEASE, "reading Lease", turns.lease);
        self.look_for(asking, self.own_leases().get(turns.lease)).await
    }

    async fn make_turn_lease(
        &self,
        turns: Turns,
        holder: &str,
        now: Timestamp,
    ) -> Result<ResourceVersion, ClusterError> {
        let asking = Asking::new(rights::CREATE_OWN_LEASE, "making Lease", turns.lease);
        let lease = Lease {
            metadata: ObjectMeta { name: Some(turns.lease.to_owned()), ..ObjectMeta::default() },
            spec: Some(LeaseSpec {
                holder_identity: Some(holder.to_owned()),
                lease_duration_seconds: i32::try_from(turns.length.as_secs()).ok(),
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
    async fn write_turn(
        &self,
        turns: Turns,
        version: &ResourceVersion,
        spec: Value,
    ) -> Result<ResourceVersion, ClusterError> {
        let asking = Asking::new(rights::PATCH_OWN_LEASE, "writing Lease", turns.lease);
        let patch = Patch::Merge(json!({ "metadata": { "resourceVersion": version.as_str() }, "spec": spec }));
        let written = self.change(asking, self.own_leases().patch(turns.lease, &patching(), &patch)).await?;
        fields::version(&written.metadata).map_err(|why| asking.nonsense(why))
    }
}

impl Turns {
    fn version(self, lease: &Lease) -> Result<ResourceVersion, ClusterError> {
        let asking = Asking::new(rights::GET_OWN_LEASE, "reading Lease", self.lease);
        fields::version(&lease.metadata).map_err(|why| asking.nonsense(why))
    }

    fn spec(self, holder: &str, now: Timestamp) -> Value {
        let (now, length) = (MicroTime(now), self.length.as_secs());
        json!({ "holderIdentity": holder, "leaseDurationSeconds": length, "acquireTime": now, "renewTime": now })
    }

    fn end(self, now: Timestamp) -> Timestamp {
        now.checked_add(self.length).unwrap_or(Timestamp::MAX)
    }
}

/// When others may have it; absent if nobody has it.
fn held_until(lease: &Lease) -> Option<Timestamp> {
    let spec = lease.spec.as_ref()?;
    spec.holder_identity.as_ref().filter(|holder| !holder.is_empty())?;
    let MicroTime(renewed) = spec.renew_time.as_ref()?;
    let length = SignedDuration::from_secs(spec.lease_duration_seconds.unwrap_or_default().into());
    renewed.checked_add(length + CLOCKS_DIFFER).ok()
}
