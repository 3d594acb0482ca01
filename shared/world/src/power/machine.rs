//! A machine: power that settles, an operating system that boots, a node that joins and leaves.

use super::{
    Power, State,
    options::{MachineOptions, Range},
    records::{Effect, Verb},
};
use crate::fleet;
use jiff::Timestamp;
use std::time::Duration;

pub(super) struct Machine {
    pub options: MachineOptions,
    pub uuid: String,
    pub on: bool,
    /// The state that a command will bring, and which command that was.
    pub pending: Option<(bool, u64)>,
    pub commands: u64,
    /// Every change of power raises it; a boot that was under way before then is over.
    pub power_changes: u64,
    pub joined: bool,
    pub boots: u32,
    pub since: Timestamp,
    pub on_before: Duration,
    pub watt_seconds: f64,
    /// What Redfish lets one patch.
    pub boot_target: String,
    pub patches: u64,
}

impl Machine {
    pub fn new(options: MachineOptions, uuid: String, now: Timestamp) -> Self {
        Machine {
            on: options.starts_on,
            options,
            uuid,
            pending: None,
            commands: 0,
            power_changes: 0,
            joined: false,
            boots: 0,
            since: now,
            on_before: Duration::ZERO,
            watt_seconds: 0.0,
            boot_target: "Hdd".to_owned(),
            patches: 0,
        }
    }

    pub fn node(&self) -> &str {
        self.options.node.as_deref().unwrap_or(&self.options.name)
    }
}

impl Power {
    /// Carries a command out as the emulated BMC does: one that asks for the state still shown is forgotten, even if
    /// the opposite is on its way. That is the settle race, and it is kept on purpose.
    pub(super) fn command(&self, state: &mut State, name: &str, verb: Verb) -> Effect {
        let now = self.inner.clock.now();
        let Some(machine) = state.machines.get_mut(name) else { return Effect::Refused };
        let faults = &machine.options.faults;
        let wanted = match verb {
            Verb::Status => return Effect::Read,
            Verb::On if faults.ignores_power_on => return Effect::Ignored,
            Verb::SoftOff if faults.ignores_soft_off => return Effect::Ignored,
            Verb::On | Verb::Restart => true,
            Verb::Off | Verb::SoftOff => false,
        };
        if verb == Verb::Restart && machine.on {
            self.set_power(machine, false, now);
        }
        if machine.on == wanted {
            return Effect::AlreadySo;
        }
        machine.commands += 1;
        let (command, settle) = (machine.commands, machine.options.settle);
        let after = self.inner.delays.between(settle.0, settle.1);
        if after.is_zero() {
            machine.pending = None;
            self.set_power(machine, wanted, now);
            return Effect::Changes;
        }
        machine.pending = Some((wanted, command));
        let (world, name) = (self.clone(), name.to_owned());
        tokio::spawn(async move {
            world.inner.clock.sleep(after).await;
            let now = world.inner.clock.now();
            let mut state = world.state();
            let machine = state.machines.get_mut(&name);
            if let Some(machine) = machine.filter(|machine| machine.pending == Some((wanted, command))) {
                machine.pending = None;
                world.set_power(machine, wanted, now);
            }
        });
        Effect::Changes
    }

    fn set_power(&self, machine: &mut Machine, on: bool, now: Timestamp) {
        let passed = Duration::try_from(now.duration_since(machine.since)).unwrap_or_default();
        machine.watt_seconds += machine.watts() * passed.as_secs_f64();
        if machine.on {
            machine.on_before += passed;
        }
        machine.on = on;
        machine.since = now;
        machine.power_changes += 1;
        if !on {
            if std::mem::take(&mut machine.joined) {
                // The fleet is told under the lock, so that a leave can never overtake the join before it.
                self.inner.fleet.leave(machine.node(), false);
            }
            return;
        }
        machine.boots += 1;
        let draw = |range: Range| self.inner.delays.between(range.0, range.1);
        let boots_after = draw(machine.options.boot) + machine.options.faults.slower_boot;
        let accelerator_after = draw(machine.options.accelerator_after);
        let (world, name, change) = (self.clone(), machine.options.name.clone(), machine.power_changes);
        tokio::spawn(async move {
            world.inner.clock.sleep(boots_after).await;
            let mut state = world.state();
            let machine = state.machines.get_mut(&name);
            if let Some(machine) = machine.filter(|machine| machine.power_changes == change) {
                world.join(machine, accelerator_after);
            }
        });
    }

    fn join(&self, machine: &mut Machine, accelerator_after: Duration) {
        if machine.options.faults.never_joins {
            return;
        }
        machine.joined = true;
        let options = &machine.options;
        let mut labels = options.labels.clone();
        for (key, value) in [("hostname", machine.node()), ("arch", "amd64"), ("os", "linux")] {
            labels.entry(format!("kubernetes.io/{key}")).or_insert_with(|| value.to_owned());
        }
        let boot = self.inner.chance.stream(&format!("boot/{}/{}", options.name, machine.boots));
        self.inner.fleet.join(fleet::Machine {
            node: machine.node().to_owned(),
            provider_id: options.provider_id.clone(),
            labels,
            annotations: options.annotations.clone(),
            taints: options.taints.clone(),
            capacity: options.capacity.clone(),
            accelerator: options.accelerator.clone(),
            accelerator_after: (!options.faults.accelerator_never_appears).then_some(accelerator_after),
            boot_id: boot.uuid(),
        });
    }

    /// For machines that are on when the world begins: they have long booted.
    pub(super) fn join_at_once(&self, name: &str) {
        if let Some(machine) = self.state().machines.get_mut(name) {
            machine.boots += 1;
            self.join(machine, Duration::ZERO);
        }
    }
}
