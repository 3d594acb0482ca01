//! Which of two replicas sends: whoever holds the Lease `pilotlight-forwarder` in our own namespace.
//!
//! Clocks are not compared. A replica that wants the Lease watches whether it is renewed, by its own clock, and takes it only
//! after it has not changed for its whole duration; one that holds it stops sending at two thirds of that time after the last
//! renewal that it began. So there are never two that send, whatever the clocks say.

use core::time::Duration;
use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};
use tokio::{sync::watch, time::Instant};

/// Its name, in our own namespace.
pub const NAME: &str = "pilotlight-forwarder";

/// Until when this replica may send. `None`: it may not.
pub type Leads = watch::Receiver<Option<Instant>>;

/// One replica's part in the election.
pub struct Candidate {
    leases: Api<Lease>,
    identity: String,
    duration: Duration,
    clock: host::parts::Clock,
    leads: watch::Sender<Option<Instant>>,
    /// The last version that was seen of somebody else's, and since when.
    seen: Option<(String, Instant)>,
}

/// What to do about a Lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Make,
    Renew,
    Take,
    Wait(Duration),
}

impl Candidate {
    pub fn new(
        client: Client,
        namespace: &str,
        identity: String,
        duration: Duration,
        clock: host::parts::Clock,
    ) -> (Self, Leads) {
        let leases = Api::namespaced(client, namespace);
        let (leads, told) = watch::channel(None);
        (Candidate { leases, identity, duration, clock, leads, seen: None }, told)
    }

    /// Takes part until the future is dropped.
    pub async fn run(&mut self) {
        loop {
            let pause = match tokio::time::timeout(self.duration / 3, self.once()).await {
                Ok(Ok(pause)) => pause,
                Ok(Err(error)) => {
                    tracing::warn!(lease = NAME, %error, "cannot read or write the Lease that says which replica sends; it \
                        is tried again. The role needs get, create and update on leases in our own namespace");
                    self.duration / 6
                }
                Err(_) => self.duration / 6,
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Gives the Lease back, so that nobody has to wait for it.
    pub async fn release(&mut self) {
        if self.leads.send_replace(None).is_none() {
            return;
        }
        let giving_back = async {
            let mut lease = self.leases.get(NAME).await?;
            let spec = lease.spec.get_or_insert_default();
            if spec.holder_identity.as_ref() == Some(&self.identity) {
                spec.holder_identity = None;
                self.leases.replace(NAME, &PostParams::default(), &lease).await?;
            }
            Ok::<(), kube::Error>(())
        };
        if !matches!(tokio::time::timeout(self.duration / 3, giving_back).await, Ok(Ok(()))) {
            tracing::debug!(lease = NAME, "could not give the Lease back; it runs out by itself");
        }
    }

    async fn once(&mut self) -> kube::Result<Duration> {
        let found = self.leases.get_opt(NAME).await?;
        let begun = Instant::now();
        let step = self.step(found.as_ref(), begun);
        let written = match (step, found) {
            (Step::Wait(time), _) => return Ok(time),
            (Step::Make, _) | (_, None) => {
                let metadata = ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() };
                let lease = Lease { metadata, spec: Some(self.held(LeaseSpec::default(), true)) };
                self.leases.create(&PostParams::default(), &lease).await
            }
            (Step::Renew | Step::Take, Some(mut lease)) => {
                lease.spec = Some(self.held(lease.spec.unwrap_or_default(), step == Step::Take));
                self.leases.replace(NAME, &PostParams::default(), &lease).await
            }
        };
        match written {
            Ok(_) => {
                if self.leads.send_replace(Some(begun + self.duration * 2 / 3)).is_none() {
                    tracing::info!(lease = NAME, identity = self.identity, "this replica sends from now on");
                }
                Ok(self.duration / 3)
            }
            // Somebody was faster: look again who it was.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(Duration::from_millis(100)),
            Err(error) => Err(error),
        }
    }

    /// Pure, but for what it remembers of others.
    fn step(&mut self, found: Option<&Lease>, now: Instant) -> Step {
        let Some(lease) = found else { return Step::Make };
        let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default();
        if holder == self.identity {
            return Step::Renew;
        }
        self.leads.send_replace(None);
        if holder.is_empty() {
            return Step::Take;
        }
        let version = lease.metadata.resource_version.clone().unwrap_or_default();
        let since = match &self.seen {
            Some((seen, since)) if *seen == version => *since,
            _ => {
                self.seen = Some((version, now));
                now
            }
        };
        // As long as its holder says, if that is longer than ours.
        let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds).unwrap_or_default();
        let theirs = Duration::from_secs(u64::try_from(seconds).unwrap_or_default()).max(self.duration);
        match (since + theirs).checked_duration_since(now).filter(|left| !left.is_zero()) {
            Some(left) => Step::Wait(left.min(self.duration / 6)),
            None => Step::Take,
        }
    }

    fn held(&self, spec: LeaseSpec, is_new: bool) -> LeaseSpec {
        let now: Timestamp = (self.clock)();
        let transitions = spec.lease_transitions.unwrap_or_default() + i32::from(is_new);
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(i32::try_from(self.duration.as_secs().max(1)).unwrap_or(i32::MAX)),
            acquire_time: if is_new { Some(MicroTime(now)) } else { spec.acquire_time },
            renew_time: Some(MicroTime(now)),
            lease_transitions: Some(transitions),
            ..spec
        }
    }
}
