//! The provider: machines that exist, behind the port.

use crate::{
    back_end::{self, Order, Reading},
    call::Caller,
    catalogue::{PROVIDER, offering_id},
    config::MachineConfig,
    errors::Doing,
    holders::{Hold, Holders, NodeSign},
    look::instance,
    machine::{ConfigError, Machine},
    note::{Note, RebootNote},
    step::{Command, Reached, Record, Sight, Step, Want, step},
    transport::Transport,
    url_policy::UrlPolicy,
};
use async_trait::async_trait;
use core::time::Duration;
use jiff::Timestamp;
use model::{Ensured, Gone, InstanceKey, InstanceRequest, InstanceState, Progress, Rebooted, Uid};
use provider::{Change, Provider, ProviderError, Scope};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// By then whoever was overtaken reads the claim anew.
const AFTER_OVERTAKEN: Duration = Duration::from_secs(1);

/// Tells the time. The host's clock, or a test's.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A list of machines as a provider. It remembers nothing: who has a machine and how far it has come is in its hold.
///
/// A machine on the list is ours to switch, also one that somebody else left on; one that another claim holds is not.
pub struct Power {
    pub(crate) machines: Vec<Machine>,
    policy: UrlPolicy,
    transport: Arc<dyn Transport>,
    pub(crate) holders: Arc<dyn Holders>,
    pub(crate) clock: Clock,
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
        Ok(Power { machines: checked, policy, transport, holders, clock })
    }

    pub(crate) fn machine(&self, name: &str) -> Option<&Machine> {
        self.machines.iter().find(|machine| machine.name == name)
    }

    pub(crate) fn caller(&self) -> Caller<'_> {
        Caller { transport: self.transport.as_ref(), policy: &self.policy }
    }

    /// One step towards a wish; a machine that is confirmed off is given back.
    async fn go(&self, want: Want, machine: &Machine, at: &Hold, epoch: Option<u32>) -> Result<Step, ProviderError> {
        let step = self.advance(want, machine, at, epoch, None).await?;
        if matches!(step.reached, Reached::Off | Reached::GaveUp) {
            self.holders.release(&machine.name, &at.claim).await?;
        }
        Ok(step)
    }

    /// One look, one step, at most one command. What is meant to be done is noted before it is done.
    pub(crate) async fn advance(
        &self,
        want: Want,
        machine: &Machine,
        at: &Hold,
        epoch: Option<u32>,
        reboot: Option<&RebootNote>,
    ) -> Result<Step, ProviderError> {
        let noted = Note::parse(at.note.as_deref());
        let epoch = epoch.or(noted.as_ref().map(|note| note.epoch)).unwrap_or_default();
        let before = noted.filter(|note| note.epoch == epoch).map(|note| note.record);
        let reading = back_end::read(&self.caller(), machine, (self.clock)()).await?;
        let node = self.holders.node(&machine.node).await?;
        let mut step = step(want, before.as_ref(), &sight(machine, &reading, node, (self.clock)()), machine.timing());
        if matches!(step.reached, Reached::Off | Reached::GaveUp) {
            return Ok(step);
        }
        if before.as_ref() != Some(&step.record) {
            self.note(machine, &at.claim, epoch, &step.record, reboot).await?;
        }
        if let (Some(command), Some(sent)) = (step.effect, &mut step.record.sent) {
            let request_id = request_id(&at.claim, machine, command, epoch, step.record.attempt);
            let order = Order { command, claim: &at.claim, request_id: &request_id };
            back_end::order(&self.caller(), machine, &reading, &order, (self.clock)()).await?;
            sent.answered = true;
            // It has been done, so this must not become an error; without it, it is only sent once more.
            drop(self.note(machine, &at.claim, epoch, &step.record, reboot).await);
        }
        Ok(step)
    }

    pub(crate) async fn note(
        &self,
        machine: &Machine,
        claim: &Uid,
        epoch: u32,
        record: &Record,
        reboot: Option<&RebootNote>,
    ) -> Result<(), ProviderError> {
        let note = Note { epoch, record: record.clone(), reboot: reboot.cloned() };
        self.holders.note(&machine.name, claim, &note.write()).await
    }

    /// Takes a machine for a claim. One that another claim has is out of stock: the next offering may be tried.
    ///
    /// Which attempt of the claim it is for stands on the hold from the first moment, so that an earlier one keeps its hands off.
    async fn take(
        &self,
        machine: &Machine,
        claim: &Uid,
        epoch: u32,
        held: Option<Hold>,
    ) -> Result<Hold, ProviderError> {
        let note = Note { epoch, record: Record::fresh(Want::On, (self.clock)()), reboot: None };
        let hold = match held {
            Some(hold) => hold,
            None => self.holders.take(&machine.name, claim, &note.write()).await?,
        };
        if hold.claim == *claim {
            return Ok(hold);
        }
        let doing = format!("switch on {}, which the claim {} has", machine.name, hold.claim);
        Err(ProviderError::InsufficientCapacity { doing, scope: Scope::Offering(offering_id(machine)) })
    }

    /// Switches off what a claim holds here from attempts before this one. `None` is: nothing is left of them.
    pub async fn make_way(&self, key: &InstanceKey, epoch: u32) -> Result<Option<(Progress, u32)>, ProviderError> {
        let held = self.holders.held().await?;
        not_overtaken(key, epoch, &held)?;
        self.put_away(&key.claim, &held, None).await
    }

    /// Switches off what a claim holds, one after the other, but for one machine. `None` is: nothing is left.
    async fn put_away(
        &self,
        claim: &Uid,
        held: &BTreeMap<String, Hold>,
        but: Option<&Machine>,
    ) -> Result<Option<(Progress, u32)>, ProviderError> {
        let but = but.map(Machine::name);
        for (name, hold) in held.iter().filter(|(name, hold)| hold.claim == *claim && but != Some(name.as_str())) {
            let Some(machine) = self.machine(name) else {
                let doing = Doing { what: format!("switch off {name}"), changes: false };
                return Err(doing.invalid("the machine is not configured any more, so it cannot be switched off"));
            };
            let step = self.go(Want::Off, machine, hold, None).await?;
            if let Reached::Working { look_again_seconds } = step.reached {
                return Ok(Some((progress(machine, &step), look_again_seconds)));
            }
        }
        Ok(None)
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
    async fn ensure(&self, request: &InstanceRequest, _progress: Option<&Progress>) -> Result<Ensured, ProviderError> {
        let machine = self.asked_for(request)?;
        let mut held = self.holders.held().await?;
        not_overtaken(&request.key, request.epoch, &held)?;
        // A claim has one machine: whatever it had before this one goes first.
        let claim = &request.key.claim;
        if let Some((progress, look_again_seconds)) = self.put_away(claim, &held, Some(machine)).await? {
            return Ok(Ensured::InProgress { progress, look_again_seconds });
        }
        let hold = self.take(machine, claim, request.epoch, held.remove(&machine.name)).await?;
        let step = self.go(Want::On, machine, &hold, Some(request.epoch)).await?;
        match step.reached {
            Reached::On => Ok(Ensured::Running(instance(machine, InstanceState::Running))),
            Reached::Working { look_again_seconds } => {
                Ok(Ensured::InProgress { progress: progress(machine, &step), look_again_seconds })
            }
            Reached::GaveUp | Reached::Off => Err(ProviderError::InsufficientCapacity {
                doing: format!("switch on {}: it did not come up within its attempts and boot budget", machine.name),
                scope: Scope::Offering(offering_id(machine)),
            }),
        }
    }

    async fn ensure_gone(&self, key: &InstanceKey, _progress: Option<&Progress>) -> Result<Gone, ProviderError> {
        let held = self.holders.held().await?;
        Ok(match self.put_away(&key.claim, &held, None).await? {
            Some((progress, look_again_seconds)) => Gone::InProgress { progress, look_again_seconds },
            None => Gone::Confirmed,
        })
    }

    async fn reboot(&self, key: &InstanceKey, operation: &str) -> Result<Rebooted, ProviderError> {
        self.reboot_machine(key, operation).await
    }
}

impl Provider for Power {
    fn name(&self) -> &'static str {
        PROVIDER
    }

    fn can_reboot(&self) -> bool {
        true
    }
}

/// A call may have waited for its turn while the claim went on to another machine. It must not take that one away again.
fn not_overtaken(key: &InstanceKey, epoch: u32, held: &BTreeMap<String, Hold>) -> Result<(), ProviderError> {
    let is_later = |hold: &&Hold| Note::parse(hold.note.as_deref()).is_some_and(|note| note.epoch > epoch);
    match held.values().filter(|hold| hold.claim == key.claim).find(is_later) {
        None => Ok(()),
        Some(_) => {
            let doing = format!("switch on a machine for attempt {epoch} of {}, which has had a later one", key.name);
            Err(ProviderError::Busy { doing, retry_after: AFTER_OVERTAKEN })
        }
    }
}

fn sight(machine: &Machine, reading: &Reading, node: NodeSign, now: Timestamp) -> Sight {
    Sight { power: reading.power, has_status: machine.has_status(), has_soft_off: reading.has_soft_off, node, now }
}

/// For people who look at the claim: nothing here is read again, because everything is in the hold.
fn progress(machine: &Machine, step: &Step) -> Progress {
    Progress(format!("{} {:?}", machine.name, step.record.phase))
}

/// Claim, machine, action, epoch and attempt: the same for a command that is repeated because no answer came, another for
/// one that is sent again because it was seen not to have worked.
fn request_id(claim: &Uid, machine: &Machine, command: Command, epoch: u32, attempt: u32) -> String {
    let action = match command {
        Command::On => "on",
        Command::SoftOff => "soft-off",
        Command::Off => "off",
    };
    format!("{claim}-{}-{action}-{epoch}-{attempt}", machine.name)
}
