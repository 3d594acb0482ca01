//! Azure in memory: Resource Manager, Entra ID, the retail price list, on one address, as the real HTTP API.

mod answer;
mod catalogue;
mod checks;
mod compute;
mod defaults;
mod fault;
mod filter;
mod identity;
mod life;
mod node;
mod operations;
mod options;
mod plan;
mod pools;
mod prices;
mod properties;
mod request;
mod route;
mod shapes;
mod snapshot;
mod state;
#[cfg(test)]
mod tests;
mod throttle;
mod token;
mod versions;

pub use fault::{Effect, Fault, Place, Shortage, Target, When};
pub use options::{
    ArmOptions, DeleteWhenBusy, Federated, Identity, Limits, MigStrategy, Quota, QuotaAnswer, Rate, Rates, Span,
    SystemPool, Timings, Tokens,
};
pub use prices::price_of;
pub use snapshot::{MachineRecord, OperationRecord, PoolRecord, Snapshot};
pub use state::Provisioning;

use crate::{chance::Chance, clock::Clock, fleet::Fleet};
use bytes::Bytes;
use http::{Request, Response};
use request::Call;
use serde_json::json;
use state::State;
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A handle; clones are the same Azure.
#[derive(Clone)]
pub struct Arm {
    core: Arc<Core>,
}

struct Core {
    clock: Clock,
    chance: Chance,
    latency: Chance,
    fleet: Arc<dyn Fleet>,
    state: Mutex<State>,
    /// Held from a change to the end of telling the fleet about it, so that the fleet hears things in their order.
    telling: Mutex<()>,
}

impl Core {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn telling(&self) -> MutexGuard<'_, ()> {
        self.telling.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Arm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Arm").finish_non_exhaustive()
    }
}

impl Arm {
    /// Must be called, and used, inside a tokio runtime: what takes time here runs as tasks of it.
    pub fn new(clock: Clock, chance: Chance, fleet: Arc<dyn Fleet>, options: ArmOptions) -> Self {
        let chance = chance.stream("arm");
        let state = State {
            cluster_etag: chance.stream("cluster").uuid(),
            options,
            tokens: token::TokenBook::default(),
            buckets: throttle::Buckets::default(),
            pools: BTreeMap::new(),
            former: Vec::new(),
            operations: BTreeMap::new(),
            pools_made: 0,
        };
        let latency = chance.stream("latency");
        let core = Core { clock, chance, latency, fleet, state: Mutex::new(state), telling: Mutex::new(()) };
        let arm = Arm { core: Arc::new(core) };
        pools::begin(&arm.core);
        arm
    }

    /// Answers one request to any of the endpoints. Dropping the future before it is ready means: never received.
    pub async fn respond(&self, request: Request<Bytes>) -> Response<Bytes> {
        let latency = self.core.lock().options.timings.latency;
        let span = self.core.latency.between(latency.0, latency.1);
        if !span.is_zero() {
            self.core.clock.sleep(span).await;
        }
        let base = self.core.lock().options.base_url.clone();
        route::answer(&self.core, &Call::read(request, base.as_deref()))
    }

    /// Changes anything about this Azure while it runs: faults, quota, rights, times.
    pub fn change(&self, change: impl FnOnce(&mut ArmOptions)) {
        change(&mut self.core.lock().options);
    }

    pub fn add_fault(&self, fault: Fault) {
        self.change(|options| options.faults.push(fault));
    }

    /// Azure takes back the spot machine behind a node. Says whether there was one.
    pub fn evict(&self, node: &str) -> bool {
        let found = self.core.lock().pools.values().find_map(|pool| {
            let instance = pool.alive().find(|instance| instance.node == node)?;
            Some((pool.name.clone(), pool.serial, instance.number))
        });
        found.is_some_and(|(pool, serial, number)| self.core.evict(&pool, serial, number))
    }

    /// The running operation of a pool ends now, with this error. Says whether there was one.
    pub fn fail_operation(&self, pool: &str, code: &str, message: &str) -> bool {
        self.core.fail(pool, json!({"code": code, "message": message}))
    }

    /// Tokens issued so far to this client are good no longer.
    pub fn revoke_tokens(&self, client_id: &str) {
        self.core.lock().tokens.revoke(client_id);
    }

    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.core.lock())
    }
}
