//! The cloud behind the fake: things with names and owners, in tokio's time, and faults at chosen requests.

use core::{fmt, time::Duration};
use model::{Arch, CapacityType, Gpu, Instance, InstanceKey, InstanceState, Offering, OfferingId, Resources, Stock};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::time::Instant;

use crate::contract::{Fault, Mishap, Request};
use crate::{ProviderError, Scope};

pub const NAME: &str = "fake";

const BOOT: Duration = Duration::from_secs(60);
const SHUTDOWN: Duration = Duration::from_secs(30);
/// Small, so that three instances have several pages.
const PAGE: usize = 2;

/// Clones are the same cloud.
#[derive(Clone, Default)]
pub struct FakeCloud(Arc<Mutex<State>>);

#[derive(Default)]
pub(super) struct State {
    pub(super) things: Vec<Thing>,
    pub(super) requests: Vec<Request>,
    pub(super) faults: Vec<Fault>,
    pub(super) numbers: u64,
}

/// Something that costs money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thing {
    pub id: u64,
    pub kind: Kind,
    pub name: String,
    /// As a tag would say it. Absent for what is somebody else's.
    pub owner: Option<InstanceKey>,
    pub offering: Option<OfferingId>,
    pub state: InstanceState,
    /// When it is through with starting or stopping.
    pub changes_at: Option<Instant>,
    /// How often it has come up.
    pub boots: u32,
    /// The last operation that started it anew.
    pub rebooted_by: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Server,
    Volume,
    Address,
}

/// Requests: each is counted, and a fault may meet it.
impl FakeCloud {
    pub fn offerings(&self) -> Result<Vec<Offering>, ProviderError> {
        self.ask("GET offerings", false, |_| Ok(["small", "empty", "large"].map(offering).into()))
    }

    /// Everything of a key, and whatever else has its name.
    pub fn list(&self, key: &InstanceKey) -> Result<Vec<Thing>, ProviderError> {
        let of_key = |thing: &&Thing| thing.is_of(key) || thing.name == key.name.as_str();
        self.ask("GET things of a key", false, |state| Ok(state.things.iter().filter(of_key).cloned().collect()))
    }

    /// The things after one, all owners together, in the order of their making.
    pub fn list_page(&self, after: Option<u64>) -> Result<Vec<Thing>, ProviderError> {
        self.ask("GET a page of things", false, |state| {
            let later = state.things.iter().filter(|thing| after.is_none_or(|after| thing.id > after));
            Ok(later.take(PAGE).cloned().collect())
        })
    }

    pub fn get(&self, id: u64) -> Result<Option<Thing>, ProviderError> {
        self.ask("GET a thing", false, |state| Ok(state.things.iter().find(|thing| thing.id == id).cloned()))
    }

    pub fn create_volume(&self, key: &InstanceKey) -> Result<u64, ProviderError> {
        let name = format!("{}-disk", key.name);
        self.ask("POST a volume", true, |state| Ok(state.add(Kind::Volume, &name, Some(key), None).id))
    }

    /// A server that is off, with an address that comes by itself.
    pub fn create_server(&self, key: &InstanceKey, wanted: &OfferingId) -> Result<Thing, ProviderError> {
        self.create_server_named(key.name.as_str(), key, wanted)
    }

    pub fn create_server_named(
        &self,
        name: &str,
        key: &InstanceKey,
        wanted: &OfferingId,
    ) -> Result<Thing, ProviderError> {
        let doing = || format!("making {name} of {wanted}");
        self.ask("POST a server", true, |state| {
            if let Some(taken) = state.things.iter().find(|thing| thing.kind == Kind::Server && thing.name == name) {
                return Err(taken.conflict(doing()));
            }
            match scope_of_refusal(wanted) {
                Some(scope @ Scope::Family { .. }) => {
                    return Err(ProviderError::QuotaExceeded { doing: doing(), scope, limit: 0, used: 0 });
                }
                Some(scope) => return Err(ProviderError::InsufficientCapacity { doing: doing(), scope }),
                None => {}
            }
            state.add(Kind::Address, &format!("{name}-address"), Some(key), None);
            Ok(state.add(Kind::Server, name, Some(key), Some(wanted.clone())))
        })
    }

    pub fn power_on(&self, id: u64) -> Result<(), ProviderError> {
        self.ask("POST power-on", true, |state| {
            let off = |thing: &&mut Thing| thing.id == id && thing.state == InstanceState::Stopped;
            if let Some(server) = state.things.iter_mut().find(off) {
                server.state = InstanceState::Starting;
                server.changes_at = Some(Instant::now() + BOOT);
            }
            Ok(())
        })
    }

    pub fn reboot(&self, id: u64, operation: &str) -> Result<(), ProviderError> {
        self.ask("POST reboot", true, |state| {
            let on = |thing: &&mut Thing| thing.id == id && thing.state == InstanceState::Running;
            if let Some(server) = state.things.iter_mut().find(on) {
                server.state = InstanceState::Starting;
                server.changes_at = Some(Instant::now() + BOOT);
                server.rebooted_by = Some(operation.to_owned());
            }
            Ok(())
        })
    }

    /// A server goes when it has shut down, and leaves its volume and address behind; anything else goes at once.
    pub fn delete(&self, id: u64) -> Result<(), ProviderError> {
        self.ask("DELETE a thing", true, |state| {
            if let Some(server) = state.things.iter_mut().find(|thing| thing.id == id && thing.kind == Kind::Server) {
                server.state = InstanceState::Stopping;
                server.changes_at =
                    Some(server.changes_at.map_or(Instant::now(), |at| at.max(Instant::now())) + SHUTDOWN);
            } else {
                state.things.retain(|thing| thing.id != id);
            }
            Ok(())
        })
    }

    pub fn knows(&self, id: &OfferingId) -> bool {
        ["small", "empty", "large"].into_iter().any(|size| offering(size).id == *id)
    }

    fn ask<T>(
        &self,
        what: &str,
        changes: bool,
        act: impl FnOnce(&mut State) -> Result<T, ProviderError>,
    ) -> Result<T, ProviderError> {
        let mut state = self.state();
        state.requests.push(Request { what: what.to_owned(), changes });
        let doing = || format!("{what} at {NAME}");
        // Who was changing something does not know what became of it; who was looking knows that nothing happened.
        let lost = |why: &str| {
            let why = why.to_owned();
            if changes {
                ProviderError::Uncertain { doing: doing(), why }
            } else {
                ProviderError::Unavailable { doing: doing(), why }
            }
        };
        match state.fault() {
            None => act(&mut state),
            Some(Mishap::Throttled { retry_after }) => {
                Err(ProviderError::Throttled { doing: doing(), retry_after: Some(retry_after) })
            }
            Some(mishap) => {
                if mishap.is_done() {
                    drop(act(&mut state));
                }
                Err(lost(&mishap.to_string()))
            }
        }
    }
}

impl FakeCloud {
    /// What is there now, without a request: for tests.
    pub fn things(&self) -> Vec<Thing> {
        self.state().things.clone()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.settle(Instant::now());
        state
    }
}

impl State {
    pub(super) fn add(
        &mut self,
        kind: Kind,
        name: &str,
        owner: Option<&InstanceKey>,
        offering: Option<OfferingId>,
    ) -> Thing {
        self.numbers += 1;
        let state = InstanceState::Stopped;
        let (name, owner) = (name.to_owned(), owner.cloned());
        let id = self.numbers;
        let thing = Thing { id, kind, name, owner, offering, state, changes_at: None, boots: 0, rebooted_by: None };
        self.things.push(thing.clone());
        thing
    }

    /// Counts this request for every fault, and takes out the one whose turn it is.
    fn fault(&mut self) -> Option<Mishap> {
        for fault in &mut self.faults {
            fault.nth = fault.nth.saturating_sub(1);
        }
        let due = self.faults.iter().position(|fault| fault.nth == 0)?;
        Some(self.faults.remove(due).mishap)
    }

    fn settle(&mut self, now: Instant) {
        let due = |thing: &Thing| thing.changes_at.is_some_and(|at| at <= now);
        self.things.retain(|thing| !(thing.state == InstanceState::Stopping && due(thing)));
        for thing in self.things.iter_mut().filter(|thing| thing.state == InstanceState::Starting && due(thing)) {
            thing.state = InstanceState::Running;
            thing.changes_at = None;
            thing.boots += 1;
        }
    }
}

impl Thing {
    /// By the claim's UID: a name comes back, a UID does not.
    pub fn is_of(&self, key: &InstanceKey) -> bool {
        self.owner.as_ref().is_some_and(|owner| owner.claim == key.claim)
    }

    pub fn instance(&self) -> Instance {
        Instance {
            provider_id: format!("fake://{}", self.id),
            node: Some(self.name.clone()),
            instance_type: self.offering.as_ref().map(|id| id.instance_type.clone()).unwrap_or_default(),
            zone: self.offering.as_ref().and_then(|id| id.zone.clone()),
            capacity_type: CapacityType::OnDemand,
            image: None,
            created_at: None,
            state: self.state,
        }
    }

    pub fn conflict(&self, doing: String) -> ProviderError {
        ProviderError::Conflict { doing, what: self.to_string() }
    }
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Server => "server",
            Kind::Volume => "volume",
            Kind::Address => "address",
        };
        write!(f, "{kind} {} ({})", self.name, self.id)
    }
}

pub(super) fn offering(size: &str) -> Offering {
    let id = OfferingId {
        provider: NAME.into(),
        instance_type: size.into(),
        zone: Some("zone-1".into()),
        capacity_type: CapacityType::OnDemand,
    };
    let gpu = Some(Gpu { model: "L4".into(), count: 1, memory_mib: 24 * 1024, mig_capable: false });
    let (capacity, labels) = (Resources::new(), BTreeMap::new());
    Offering { id, gpu, capacity, arch: Arch::Amd64, price: None, labels, stock: Stock::Unknown }
}

/// `empty` has no stock, `large` no quota.
pub(super) fn scope_of_refusal(wanted: &OfferingId) -> Option<Scope> {
    match wanted.instance_type.as_str() {
        "empty" => Some(Scope::Offering(wanted.clone())),
        "large" => Some(Scope::Family { provider: NAME.into(), family: "large".into() }),
        _ => None,
    }
}
