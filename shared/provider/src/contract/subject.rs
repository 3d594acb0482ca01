//! What a provider's test brings to the suite: its provider, and a hand on the cloud behind it.

use async_trait::async_trait;
use core::{fmt, time::Duration};
use model::{InstanceKey, InstanceRequest, ObjectName, Offering, Uid};
use std::{collections::BTreeMap, sync::Arc};

use crate::{Provider, Scope};

/// A fresh cloud with a provider for it. What it says about the cloud it reads from the cloud itself, never by way of the
/// provider: the suite does not take a provider's word.
#[async_trait]
pub trait Subject: Send + Sync {
    /// One more handle on the same cloud, as another machine would make it: nothing remembered is shared.
    async fn provider(&self) -> Arc<dyn Provider>;

    /// A key that was never used; `key` makes one from a number. Both names that fit the cloud's rules and names that do not
    /// should turn up.
    fn fresh_key(&self) -> InstanceKey;

    /// An offering that can be had, asked for once for each key. Where an offering is one machine, each time another.
    fn obtainable(&self) -> Offering;

    /// One that the cloud has none of, with the scope the failure must have. Absent where that cannot be.
    fn without_stock(&self) -> Option<Unobtainable>;

    /// One that the account may not have, with the scope the failure must have. Absent where that cannot be.
    fn over_quota(&self) -> Option<Unobtainable>;

    /// The whole request; a provider that needs more (a class, labels) puts it in.
    fn request(&self, key: InstanceKey, offering: Offering, epoch: u32) -> InstanceRequest {
        InstanceRequest {
            key,
            offering,
            epoch,
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            taints: vec![],
            startup_taints: vec![],
            requests: model::Resources::new(),
            class: BTreeMap::new(),
        }
    }

    /// Lets so much of the cloud's time pass.
    async fn advance(&self, by: Duration);

    /// How many machines exist under a key, in any state that is not gone.
    async fn live(&self, key: &InstanceKey) -> usize;

    /// How often the machine of a key was started so far; `None` where that cannot be told.
    async fn boots(&self, _key: &InstanceKey) -> Option<u32> {
        None
    }

    /// Everything of a key that costs something, machines included, as a person would name it. Not what is foreign.
    async fn billed(&self, key: &InstanceKey) -> Vec<String>;

    /// Every request that was sent to the cloud so far, in order, those that met a fault included.
    async fn requests(&self) -> Vec<Request>;

    /// Lets a fault meet one request, counted from now on.
    async fn inject(&self, fault: Fault);

    /// Puts something that is not ours under the name that a key would get.
    async fn plant_foreign(&self, key: &InstanceKey) -> Foreign;

    /// All there is to know about what was planted, to be compared with later.
    async fn foreign(&self, key: &InstanceKey) -> String;

    /// What can happen to a request here. A cloud adds its own; each costs a run for each request.
    fn mishaps(&self) -> Vec<Mishap> {
        Mishap::COMMON.into()
    }

    /// How many instances `owned` must find at once: more than fit on one page.
    fn crowd(&self) -> usize {
        3
    }
}

/// An offering that cannot be had, and how the failure must say so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unobtainable {
    pub offering: Offering,
    pub scope: Scope,
}

/// What was planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign {
    /// The name is the identity, so ours cannot be made: `Conflict`.
    TakesTheName,
    /// Names are not unique here: ours is made beside it.
    OnlyLooksAlike,
    /// Nobody else can have anything here; why.
    CannotBe(&'static str),
}

/// One request that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// For people: `PUT /agentPools/gpu1`.
    pub what: String,
    /// Whether it is meant to change something (over HTTP: neither GET nor HEAD, nor a POST that only asks).
    pub changes: bool,
}

/// A mishap for the `nth` request from now, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    pub nth: u64,
    pub mishap: Mishap,
}

/// What happens to a request. `done` says whether it still has its effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mishap {
    /// The connection is reset.
    Reset { done: bool },
    /// No answer ever comes.
    TimeOut { done: bool },
    /// Somebody on the way answers 502 or 504 instead.
    BadGateway { done: bool },
    /// 429 with `Retry-After`; nothing is done.
    Throttled { retry_after: Duration },
}

impl Mishap {
    pub const COMMON: [Mishap; 7] = [
        Mishap::Reset { done: false },
        Mishap::Reset { done: true },
        Mishap::TimeOut { done: false },
        Mishap::TimeOut { done: true },
        Mishap::BadGateway { done: false },
        Mishap::BadGateway { done: true },
        Mishap::Throttled { retry_after: Duration::from_secs(17) },
    ];

    pub fn is_done(self) -> bool {
        match self {
            Mishap::Reset { done } | Mishap::TimeOut { done } | Mishap::BadGateway { done } => done,
            Mishap::Throttled { .. } => false,
        }
    }
}

impl fmt::Display for Mishap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mishap::Reset { .. } => f.write_str("connection reset"),
            Mishap::TimeOut { .. } => f.write_str("no answer"),
            Mishap::BadGateway { .. } => f.write_str("bad gateway"),
            Mishap::Throttled { retry_after } => return write!(f, "throttled for {} s", retry_after.as_secs()),
        }?;
        f.write_str(if self.is_done() { ", though it was done" } else { ", nothing was done" })
    }
}

/// A key from a number: the name is a NodeClaim's, the identity a UUID.
#[allow(clippy::expect_used)] // Test support: both texts are written here, and a number cannot spoil them.
pub fn key(number: u64) -> InstanceKey {
    let claim = Uid::new(format!("00000000-0000-4000-8000-{number:012x}")).expect("a UUID is a UID");
    InstanceKey { claim, name: ObjectName::new(format!("claim-{number}")).expect("letters, a dash and digits") }
}
