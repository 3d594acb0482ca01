//! The provider: machines that exist, behind the port.

use crate::{
    back_end::{self, Order, Reading},
    call::Caller,
    catalogue::{PROVIDER, offering_id},
    config::MachineConfig,
    errors::Doing,
    holders::{Holders, NodeSign},
    look::instance,
    machine::{ConfigError, Machine},
    progress::Told,
    step::{Command, Reached, Record, Sight, Step, Want, step},
    transport::Transport,
    url_policy::UrlPolicy,
};
use async_trait::async_trait;
use jiff::Timestamp;
use model::{Ensured, Gone, InstanceKey, InstanceRequest, InstanceState, Progress, Uid};
use provider::{Change, Provider, ProviderError, Scope};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Tells the time. The host's clock, or a test's.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Where a claim's wish for a machine stands. Only a short cut for callers that come without progress: a process that
/// has none of it finds everything out again.
type Memory = BTreeMap<(Uid, String), Record>;

/// A list of machines as a provider.
pub struct Power {
    pub(crate) machines: Vec<Machine>,
    policy: UrlPolicy,
    transport: Arc<dyn Transport>,
    pub(crate) holders: Arc<dyn Holders>,
    pub(crate) clock: Clock,
    memory: Mutex<Memory>,
}

impl Power {
    /// Checks every machine; the first mistake is the error. Nothing is called.
    pub fn new(
        machines: Vec<MachineConfig>,
        policy: UrlPolicy,
        transport: Arc<dyn Transport>,
        holders: Arc<dyn Holders>,
        clock: Clock,
    ) -> Result<Self, ConfigError> {
        let (mut names, mut nodes) = (BTreeSet::new(), BTreeSet::new());
        let mut checked = Vec::new();
        for config in machines {
            let machine = Machine::new(config, &policy)?;
            let twice = |field: &str| ConfigError {
                machine: machine.name.clone(),
                field: field.to_owned(),
                why: "is also that of another machine".to_owned(),
            };
            if !names.insert(machine.name.clone()) {
                return Err(twice("name"));
            }
            if !nodes.insert(machine.node.clone()) {
                return Err(twice("node"));
            }
            checked.push(machine);
        }
        Ok(Power { machines: checked, policy, transport, holders, clock, memory: Mutex::default() })
    }

    fn machine(&self, name: &str) -> Option<&Machine> {
        self.machines.iter().find(|machine| machine.name == name)
    }

    pub(crate) fn caller(&self) -> Caller<'_> {
        Caller { transport: self.transport.as_ref(), policy: &self.policy }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One look, one step, at most one command.
    async fn go(
        &self,
        want: Want,
        machine: &Machine,
        key: &InstanceKey,
        told: Option<Told>,
        epoch: u32,
    ) -> Result<Step, ProviderError> {
        let place = (key.claim.clone(), machine.name.clone());
        let before = told.map(|told| told.record).or_else(|| self.memory().get(&place).cloned());
        let reading = back_end::read(&self.caller(), machine, (self.clock)()).await?;
        let node = self.holders.node(&machine.node).await?;
        let step = step(want, before.as_ref(), &sight(machine, &reading, node, (self.clock)()), machine.timing());
        if let Some(command) = step.effect {
            let request_id = request_id(key, machine, command, epoch, step.record.attempt);
            let order = Order { command, claim: &key.claim, request_id: &request_id };
            back_end::order(&self.caller(), machine, &reading, &order, (self.clock)()).await?;
        }
        let mut memory = self.memory();
        match step.reached {
            Reached::Off | Reached::GaveUp => memory.remove(&place),
            Reached::On | Reached::Working { .. } => memory.insert(place, step.record.clone()),
        };
        drop(memory);
        Ok(step)
    }

    /// The machines of a claim: those it holds, and the one it was told of, unless somebody else has that by now.
    pub(crate) async fn of_claim(&self, claim: &Uid, told: Option<&str>) -> Result<Vec<&Machine>, ProviderError> {
        let mut found = Vec::new();
        for machine in &self.machines {
            match self.holders.holder(&machine.name).await? {
                Some(holder) if holder == *claim => found.push(machine),
                None if told == Some(machine.name.as_str()) => found.push(machine),
                Some(_) | None => {}
            }
        }
        Ok(found)
    }

    /// The machine that a request names, if the request can be met by it at all.
    fn asked_for(&self, request: &InstanceRequest) -> Result<&Machine, ProviderError> {
        let id = &request.offering.id;
        let doing = Doing { what: format!("switch on {id}"), changes: false };
        if id.provider != PROVIDER {
            return Err(doing.invalid(format!("the offering is of the provider {:?}, not {PROVIDER:?}", id.provider)));
        }
        let Some(machine) = self.machine(&id.instance_type) else {
            let known: Vec<&str> = self.machines.iter().take(20).map(Machine::name).collect();
            return Err(doing.invalid(format!("there is no such machine; there are: {}", known.join(", "))));
        };
        let too_much = request.requests.iter().find(|(resource, amount)| {
            let known = machine.capacity.get(*resource).copied();
            // A capacity that nobody stated is not a limit, but a GPU that nobody stated is not there.
            known.map_or(resource.contains("gpu") && amount.thousandths() > 0, |has| has < **amount)
        });
        match too_much {
            Some((resource, _)) => Err(doing.invalid(format!("the claim asks for more {resource} than it has"))),
            None => Ok(machine),
        }
    }
}

#[async_trait]
impl Change for Power {
    async fn ensure(&self, request: &InstanceRequest, progress: Option<&Progress>) -> Result<Ensured, ProviderError> {
        let machine = self.asked_for(request)?;
        let doing = || format!("switch on {}", machine.name);
        if self.holders.holder(&machine.name).await?.is_some_and(|holder| holder != request.key.claim) {
            return Err(ProviderError::Conflict { doing: doing(), what: format!("machine {}", machine.name) });
        }
        // Progress of an earlier offering says nothing about this one.
        let told = Told::parse(progress).filter(|told| told.machine == machine.name && told.epoch == request.epoch);
        let step = self.go(Want::On, machine, &request.key, told, request.epoch).await?;
        match step.reached {
            Reached::On => Ok(Ensured::Running(instance(machine, InstanceState::Running))),
            Reached::Working { look_again_seconds } => {
                let told = Told { machine: machine.name.clone(), epoch: request.epoch, record: step.record };
                Ok(Ensured::InProgress { progress: told.write(), look_again_seconds })
            }
            Reached::GaveUp | Reached::Off => Err(ProviderError::InsufficientCapacity {
                doing: format!("{}: it did not come up within its attempts and boot budget", doing()),
                scope: Scope::Offering(offering_id(machine)),
            }),
        }
    }

    async fn ensure_gone(&self, key: &InstanceKey, progress: Option<&Progress>) -> Result<Gone, ProviderError> {
        let told = Told::parse(progress);
        let named = told.as_ref().map(|told| told.machine.as_str());
        if let Some(name) = named.filter(|name| self.machine(name).is_none()) {
            let doing = Doing { what: format!("switch off {name}"), changes: false };
            return Err(doing.invalid("the machine is not configured any more, so it cannot be switched off"));
        }
        for machine in self.of_claim(&key.claim, named).await? {
            let told = told.clone().filter(|told| told.machine == machine.name);
            let epoch = told.as_ref().map_or(0, |told| told.epoch);
            let step = self.go(Want::Off, machine, key, told, epoch).await?;
            if let Reached::Working { look_again_seconds } = step.reached {
                let told = Told { machine: machine.name.clone(), epoch, record: step.record };
                return Ok(Gone::InProgress { progress: told.write(), look_again_seconds });
            }
        }
        Ok(Gone::Confirmed)
    }
}

impl Provider for Power {
    fn name(&self) -> &'static str {
        PROVIDER
    }
}

fn sight(machine: &Machine, reading: &Reading, node: NodeSign, now: Timestamp) -> Sight {
    Sight { power: reading.power, has_status: machine.has_status(), has_soft_off: reading.has_soft_off, node, now }
}

/// Claim, machine, action, epoch and attempt: the same for a command that is repeated because no answer came, another for
/// one that is sent again because it was seen not to have worked.
fn request_id(key: &InstanceKey, machine: &Machine, command: Command, epoch: u32, attempt: u32) -> String {
    let action = match command {
        Command::On => "on",
        Command::SoftOff => "soft-off",
        Command::Off => "off",
    };
    format!("{}-{}-{action}-{epoch}-{attempt}", key.claim, machine.name)
}
