//! What servers do with time: start, boot, stop, go away. Each step runs on the world's clock and checks first that no
//! later action has overtaken it.

use super::{
    Scaleway,
    cloud_init::{self, Join},
    options::{MisfortuneKind, Range, ShortageManner, covers},
    state::{DynamicAddress, Server, ServerState, State, Transition, VolumeKind},
};
use jiff::Timestamp;
use std::time::Duration;

/// How a poweron goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Boot {
    pub from: ServerState,
    pub shortage: Option<ShortageManner>,
}

impl Scaleway {
    pub(super) fn delay(&self, range: Range) -> Duration {
        self.inner.delays.between(range.0, range.1)
    }

    /// Runs `step` after a while, if the server is still there and was given no other action.
    fn later(
        &self,
        id: &str,
        generation: u64,
        after: Duration,
        step: impl FnOnce(&Scaleway, &mut State) + Send + 'static,
    ) {
        let (world, id) = (self.clone(), id.to_owned());
        tokio::spawn(async move {
            world.inner.clock.sleep(after).await;
            // The fleet is told under the lock, so that a leave can never overtake the join before it.
            let mut state = world.state();
            if state.servers.get(&id).is_some_and(|server| server.generation == generation) {
                step(&world, &mut state);
            }
        });
    }

    /// Begins a transition and returns its generation.
    fn begin(&self, state: &mut State, id: &str, now: Timestamp, transition: Transition, detail: &str) -> Option<u64> {
        let server = state.servers.get_mut(id)?;
        server.transition = Some(transition);
        server.state = if transition == Transition::Poweron { ServerState::Starting } else { ServerState::Stopping };
        server.state_detail = detail.to_owned();
        server.generation += 1;
        server.modified = now;
        Some(server.generation)
    }

    pub(super) fn power_on(&self, state: &mut State, id: &str, boot: Boot, now: Timestamp) {
        let Some(generation) = self.begin(state, id, now, Transition::Poweron, "allocating node") else { return };
        let misfortunes = strike(state, id, now);
        let delays = state.options.delays.clone();
        let secrets = state.options.join_secrets.clone();
        let Some(server) = state.servers.get_mut(id) else { return };
        server.power_ons += 1;
        server.billed_since.get_or_insert(now);
        let data = server.user_data.get("cloud-init");
        let join = data.and_then(|data| cloud_init::read(data, secrets.as_deref()));
        if boot.from == ServerState::StoppedInPlace {
            let (step, own) = (self.delay(delays.start_in_place), id.to_owned());
            self.later(id, generation, step, move |world, state| {
                world.run(state, &own, generation, join, &misfortunes)
            });
            return;
        }
        let (allocating, provisioning) = (self.delay(delays.allocating), self.delay(delays.provisioning));
        if boot.shortage == Some(ShortageManner::StaysAllocating)
            || misfortunes.contains(&MisfortuneKind::StuckStarting)
        {
            return;
        }
        let own = id.to_owned();
        if boot.shortage == Some(ShortageManner::FallsBackToStopped) {
            self.later(id, generation, allocating, move |world, state| {
                if let Some(server) = state.servers.get_mut(&own) {
                    // It never had a slot, so it never cost anything.
                    server.billed_since = None;
                    stopped(server, world.inner.clock.now());
                }
            });
            return;
        }
        self.later(id, generation, allocating, move |world, state| {
            let Some(server) = state.servers.get_mut(&own) else { return };
            server.state_detail = "provisioning node".to_owned();
            let id = own.clone();
            world.later(&id, generation, provisioning, move |world, state| {
                world.run(state, &own, generation, join, &misfortunes);
            });
        });
    }

    /// The VM is started: `running`, while the guest has yet to boot.
    fn run(&self, state: &mut State, id: &str, generation: u64, join: Option<Join>, misfortunes: &[MisfortuneKind]) {
        let slow: Duration = misfortunes
            .iter()
            .map(|kind| if let MisfortuneKind::SlowBoot(extra) = kind { *extra } else { Duration::ZERO })
            .sum();
        let boots_after = self.delay(state.options.delays.operating_system) + slow;
        let accelerator_after = self.delay(state.options.delays.accelerator);
        let Some(server) = state.servers.get_mut(id) else { return };
        // Cloud-init runs once in a server's life, with what it was given before that poweron.
        server.first_boot.get_or_insert(join);
        server.state = ServerState::Running;
        server.state_detail = "booting kernel".to_owned();
        server.transition = None;
        server.modified = self.inner.clock.now();
        server.hypervisor.get_or_insert_with(|| 100 + self.inner.ids.below(900));
        if server.dynamic_ip_required && server.dynamic_ip.is_none() {
            let address = self.public_address();
            server.dynamic_ip = Some(DynamicAddress { id: self.inner.ids.uuid(), address });
        }
        let own = id.to_owned();
        let joins = !misfortunes.contains(&MisfortuneKind::NeverJoins);
        let appears = !misfortunes.contains(&MisfortuneKind::AcceleratorNeverAppears);
        self.later(id, generation, boots_after, move |world, state| {
            let machine = world.machine(state, &own, appears.then_some(accelerator_after));
            let Some(server) = state.servers.get_mut(&own) else { return };
            server.state_detail = "booted".to_owned();
            if let Some(machine) = machine.filter(|_| joins) {
                server.joined = Some(machine.node.clone());
                server.node = Some(machine.node.clone());
                world.inner.fleet.join(machine);
            }
        });
    }

    /// The guest is down: its node stops answering.
    fn leave(&self, state: &mut State, id: &str) {
        if let Some(node) = state.servers.get_mut(id).and_then(|server| server.joined.take()) {
            self.inner.fleet.leave(&node, false);
        }
    }

    pub(super) fn power_off(&self, state: &mut State, id: &str, now: Timestamp) {
        let Some(generation) = self.begin(state, id, now, Transition::Poweroff, "stopping") else { return };
        self.leave(state, id);
        let (after, own) = (self.delay(state.options.delays.poweroff), id.to_owned());
        let dynamic = self.delay(state.options.delays.dynamic_address);
        self.later(id, generation, after, move |world, state| {
            world.wipe_scratch(state, &own);
            let Some(server) = state.servers.get_mut(&own) else { return };
            stopped(server, world.inner.clock.now());
            let id = own.clone();
            world.later(&id, generation, dynamic, move |_, state| {
                if let Some(server) = state.servers.get_mut(&own) {
                    server.dynamic_ip = None;
                }
            });
        });
    }

    /// Scratch disks do not survive a poweroff: the volume stays, what was on it does not.
    fn wipe_scratch(&self, state: &mut State, id: &str) {
        let now = self.inner.clock.now();
        let of_server = |volume: &&mut super::state::LocalVolume| volume.server.as_deref() == Some(id);
        for volume in state.volumes.values_mut().filter(of_server).filter(|one| one.kind == VolumeKind::Scratch) {
            volume.modified = now;
        }
    }

    pub(super) fn stop_in_place(&self, state: &mut State, id: &str, now: Timestamp) {
        let Some(generation) = self.begin(state, id, now, Transition::StopInPlace, "stopping in place") else { return };
        self.leave(state, id);
        let (after, own) = (self.delay(state.options.delays.stop_in_place), id.to_owned());
        self.later(id, generation, after, move |world, state| {
            let Some(server) = state.servers.get_mut(&own) else { return };
            // It keeps its slot, and is billed on.
            server.state = ServerState::StoppedInPlace;
            server.state_detail = "stopped in place".to_owned();
            server.transition = None;
            server.modified = world.inner.clock.now();
        });
    }

    pub(super) fn reboot(&self, state: &mut State, id: &str, now: Timestamp) {
        let Some(generation) = self.begin(state, id, now, Transition::Reboot, "rebooting") else { return };
        self.leave(state, id);
        let misfortunes = strike(state, id, now);
        let (after, own) = (self.delay(state.options.delays.reboot), id.to_owned());
        if let Some(server) = state.servers.get_mut(id) {
            server.power_ons += 1;
        }
        self.later(id, generation, after, move |world, state| world.run(state, &own, generation, None, &misfortunes));
    }

    /// Takes the server and its local volumes. Block volumes are only detached, flexible addresses stay.
    pub(super) fn terminate(&self, state: &mut State, id: &str, now: Timestamp) {
        let Some(generation) = self.begin(state, id, now, Transition::Terminate, "terminating") else { return };
        self.leave(state, id);
        for volume in state.volumes.values_mut().filter(|volume| volume.server.as_deref() == Some(id)) {
            volume.state = "deleting";
        }
        let blocks: Vec<String> = state
            .blocks
            .values()
            .filter(|block| block.reference.as_ref().is_some_and(|reference| reference.server == id))
            .map(|block| block.id.clone())
            .collect();
        for block in blocks {
            let after = self.delay(state.options.delays.detach_at_terminate);
            self.detach_block_after(state, &block, after);
        }
        let (after, own) = (self.delay(state.options.delays.terminate), id.to_owned());
        self.later(id, generation, after, move |world, state| {
            let now = world.inner.clock.now();
            let volumes: Vec<String> = state
                .volumes
                .values()
                .filter(|volume| volume.server.as_deref() == Some(&own))
                .map(|volume| volume.id.clone())
                .collect();
            for volume in volumes {
                world.remove_local_volume(state, &volume, now);
            }
            world.remove_server(state, &own, now);
        });
    }

    /// The server no longer exists; its node is deleted by the cloud's controller, if one runs.
    pub(super) fn remove_server(&self, state: &mut State, id: &str, now: Timestamp) {
        let Some(server) = state.servers.remove(id) else { return };
        state.nics.retain(|_, nic| nic.server != id);
        for ip in state.ips.values_mut().filter(|ip| ip.server.as_deref() == Some(id)) {
            ip.server = None;
        }
        if let Some(node) = &server.node {
            self.inner.fleet.leave(node, true);
        }
        let record = super::snapshot::server_record(&server, now, Some(now));
        state.gone.servers.push(record);
    }
}

fn stopped(server: &mut Server, now: Timestamp) {
    server.state = ServerState::Stopped;
    server.state_detail = String::new();
    server.transition = None;
    server.hypervisor = None;
    server.modified = now;
    if let Some(since) = server.billed_since.take() {
        server.billed_before += Duration::try_from(now.duration_since(since)).unwrap_or_default();
    }
}

/// The misfortunes of this boot, counted.
fn strike(state: &mut State, id: &str, now: Timestamp) -> Vec<MisfortuneKind> {
    let Some(server) = state.servers.get(id) else { return Vec::new() };
    let mut kinds = Vec::new();
    for (place, misfortune) in state.options.misfortunes.iter().enumerate() {
        let struck = state.struck.entry(place).or_default();
        let named = misfortune.server == "*" || server.name.contains(&misfortune.server);
        if named
            && covers(&misfortune.commercial_type, &server.commercial_type)
            && covers(&misfortune.zone, &server.zone)
            && misfortune.window.holds(now)
            && misfortune.times.is_none_or(|times| *struck < times)
        {
            *struck += 1;
            kinds.push(misfortune.kind);
        }
    }
    kinds
}
