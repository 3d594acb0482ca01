//! Power back ends: a webhook as k8s-gpu-autoprovision calls it, maaspower and the MAAS API, and a Redfish service.
//!
//! Behind all of them stand machines that exist: power on, and after POST and boot the machine joins the cluster; power
//! off, and its node stops answering but stays. Every call is kept, so that a test can count what was asked and why.

mod answer;
mod maas;
mod machine;
pub mod options;
mod records;
mod redfish;
mod redfish_sessions;
mod webhook;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use crate::{chance::Chance, clock::Clock, fleet::Fleet};
use answer::{Answer, text_answer};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use machine::Machine;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

pub use options::{BackEnd, MachineOptions, Options};
pub use records::{Effect, MachineRecord, PowerCall, Verb};

/// A handle on all power back ends of a world; clones share them.
#[derive(Clone)]
pub struct Power {
    inner: Arc<Inner>,
}

struct Inner {
    clock: Clock,
    chance: Chance,
    delays: Chance,
    ids: Chance,
    fleet: Arc<dyn Fleet>,
    state: Mutex<State>,
}

struct State {
    options: Options,
    machines: BTreeMap<String, Machine>,
    calls: Vec<PowerCall>,
    /// Idempotency keys seen.
    keys: BTreeSet<String>,
    /// Redfish session tokens by session ID.
    sessions: BTreeMap<String, String>,
    /// Redfish tasks: machine by task ID.
    tasks: BTreeMap<String, String>,
}

impl Power {
    pub fn new(clock: Clock, chance: Chance, fleet: Arc<dyn Fleet>, options: Options) -> Self {
        let chance = chance.stream("power");
        let (delays, ids) = (chance.stream("power/delays"), chance.stream("power/ids"));
        let now = clock.now();
        let machine = |one: &MachineOptions| {
            let uuid = chance.stream(&format!("system/{}", one.name)).uuid();
            (one.name.clone(), Machine::new(one.clone(), uuid, now))
        };
        let machines: BTreeMap<String, Machine> = options.machines.iter().map(machine).collect();
        let on: Vec<String> = machines.values().filter(|one| one.on).map(|one| one.options.name.clone()).collect();
        let state = Mutex::new(State {
            options,
            machines,
            calls: Vec::new(),
            keys: BTreeSet::new(),
            sessions: BTreeMap::new(),
            tasks: BTreeMap::new(),
        });
        let power = Power { inner: Arc::new(Inner { clock, chance, delays, ids, fleet, state }) };
        for name in on {
            power.join_at_once(&name);
        }
        power
    }

    /// Answers one request. Nothing here waits; the future is there for the callers' sake.
    pub async fn respond(&self, request: Request<Bytes>) -> Response<Bytes> {
        let path = request.uri().path().to_owned();
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        match segments.as_slice() {
            ["webhook", machine, verb] => self.webhook(&request, machine, verb),
            ["maaspower", device, verb] => self.maaspower(&request, device, verb),
            ["MAAS", "api", "2.0", "machines", rest @ ..] => self.maas(&request, rest),
            ["redfish", rest @ ..] => self.redfish(&request, rest),
            _ => text_answer(StatusCode::NOT_FOUND, "Not Found"),
        }
    }

    /// Every call on a machine, in the order they came: commands and readings.
    pub fn calls(&self) -> Vec<PowerCall> {
        self.state().calls.clone()
    }

    /// What exists, whether it has power, and what that costs.
    pub fn snapshot(&self) -> Vec<MachineRecord> {
        let now = self.inner.clock.now();
        self.state().machines.values().map(|machine| machine.record(now)).collect()
    }

    /// Changes one machine's options (its faults, say) while the world runs.
    pub fn adjust(&self, machine: &str, change: impl FnOnce(&mut MachineOptions)) {
        if let Some(machine) = self.state().machines.get_mut(machine) {
            change(&mut machine.options);
        }
    }

    /// The ID of a machine's Redfish system.
    pub fn system_id(&self, machine: &str) -> Option<String> {
        self.state().machines.get(machine).map(|machine| machine.uuid.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a call down and passes its answer on.
    fn keep(
        &self,
        request: &Request<Bytes>,
        back_end: BackEnd,
        machine: &str,
        verb: Verb,
        effect: Effect,
        answer: Answer,
    ) -> Answer {
        let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let key = header("idempotency-key").or_else(|| header("webhook-id"));
        let mut state = self.state();
        let repeated = key.as_ref().is_some_and(|key| !state.keys.insert(key.clone()));
        state.calls.push(PowerCall {
            at: self.inner.clock.now(),
            machine: machine.to_owned(),
            back_end,
            verb,
            effect,
            status: answer.status().as_u16(),
            idempotency_key: key,
            repeated,
            body: String::from_utf8_lossy(request.body()).into_owned(),
        });
        answer
    }
}
