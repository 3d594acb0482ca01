//! What happens after the answer: machines boot and join, operations end, machines stop, spot machines are taken back.

use super::{
    Core, node,
    plan::{Deletion, Plan},
    state::{Instance, OperationStatus, Pool, Provisioning, State},
};
use crate::fleet::Machine;
use jiff::Timestamp;
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// Starts what a PUT was accepted for.
pub(super) fn carry_out(core: &Arc<Core>, state: &mut State, name: &str, operation: &str, plan: Plan) {
    let Some(pool) = state.pools.get_mut(name) else { return };
    let serial = pool.serial;
    match plan {
        Plan::Fails { after, error } => {
            let error = error.as_operation_error();
            end_later(core, name, serial, operation, Some(after), OperationStatus::Failed(error));
        }
        Plan::Runs { machines, ends_after } => {
            for machine in machines {
                let number = pool.next_instance;
                let boot_id = core.chance.stream(&format!("boot/{name}/{serial}/{number}")).uuid();
                add(pool, machine.zone, boot_id, core.clock.now());
                if let Some(instance) = pool.instance(number) {
                    (instance.joins, instance.gpu_after) = (machine.joins, machine.gpu_after);
                }
                boot_later(core, name, serial, number, machine.boot);
            }
            end_later(core, name, serial, operation, ends_after, OperationStatus::Succeeded);
        }
    }
}

/// The scale set gets one more machine, under the next number.
fn add(pool: &mut Pool, zone: Option<String>, boot_id: String, now: Timestamp) {
    let number = pool.next_instance;
    pool.next_instance += 1;
    pool.instances.push(Instance {
        number,
        node: format!("{}{}", pool.scale_set, node::suffix(number)),
        zone,
        boot_id,
        allocated: now,
        joined: None,
        gone: None,
        deallocated: false,
        joins: true,
        gpu_after: Some(Duration::ZERO),
    });
}

fn boot_later(core: &Arc<Core>, name: &str, serial: u64, number: u64, boot: Duration) {
    let (core, name) = (core.clone(), name.to_owned());
    tokio::spawn(async move {
        core.clock.sleep(boot).await;
        let Some(spot) = core.join(&name, serial, number) else { return };
        let life = core.lock().options.timings.spot_life;
        if let (true, Some((least, most))) = (spot, life) {
            let chance = core.chance.stream(&format!("spot/{name}/{serial}/{number}"));
            core.clock.sleep(chance.between(least, most)).await;
            core.evict(&name, serial, number);
        }
    });
}

fn end_later(
    core: &Arc<Core>,
    name: &str,
    serial: u64,
    operation: &str,
    after: Option<Duration>,
    status: OperationStatus,
) {
    // No end: the operation is stuck until a DELETE takes it away.
    let Some(after) = after else { return };
    let (core, name, operation) = (core.clone(), name.to_owned(), operation.to_owned());
    tokio::spawn(async move {
        core.clock.sleep(after).await;
        core.end(&name, serial, &operation, status);
    });
}

/// Starts what a DELETE was accepted for: machines go first, then the pool, then the operation ends.
pub(super) fn take_down(core: &Arc<Core>, state: &State, name: &str, operation: &str, deletion: Deletion) {
    let Some(serial) = state.pools.get(name).map(|pool| pool.serial) else { return };
    let timings = &state.options.timings;
    let chance = core.chance.stream(&format!("delete/{operation}"));
    let usual = chance.between(timings.stop.0, timings.stop.1);
    let stop = match deletion {
        Deletion::Normal => usual,
        Deletion::Takes(span) => span,
        Deletion::Stuck => return,
        Deletion::Fails(error) => {
            let failed = OperationStatus::Failed(error.as_operation_error());
            return end_later(core, name, serial, operation, Some(usual), failed);
        }
    };
    let rest = chance.between(timings.delete.0, timings.delete.1);
    let (core, name, operation) = (core.clone(), name.to_owned(), operation.to_owned());
    tokio::spawn(async move {
        core.clock.sleep(stop).await;
        core.drop_machines(&name, serial, 0);
        core.clock.sleep(rest).await;
        let now = core.clock.now();
        let mut state = core.lock();
        if state.pool(&name, serial).is_some()
            && let Some(mut pool) = state.pools.remove(&name)
        {
            pool.deleted = Some(now);
            pool.operation = None;
            state.former.push(pool);
        }
        state.end_operation(&operation, OperationStatus::Succeeded, now);
    });
}

impl Core {
    /// The machine's kubelet starts. Says whether it is a spot machine; `None` if there is no machine any more.
    fn join(&self, name: &str, serial: u64, number: u64) -> Option<bool> {
        let _in_order = self.telling();
        let (machine, spot) = {
            let mut state = self.lock();
            let options = state.options.clone();
            let pool = state.pool(name, serial)?;
            let spot = pool.spot();
            let instance = pool.instance(number).filter(|one| one.gone.is_none() && !one.deallocated)?;
            if !instance.joins {
                return Some(spot);
            }
            instance.joined = Some(self.clock.now());
            let instance = instance.clone();
            (node::machine(pool, &instance, &options), spot)
        };
        self.fleet.join(machine);
        Some(spot)
    }

    fn end(&self, name: &str, serial: u64, operation: &str, status: OperationStatus) {
        let succeeded = status == OperationStatus::Succeeded;
        let running = |state: &State| {
            state.operations.get(operation).is_some_and(|operation| operation.status == OperationStatus::InProgress)
        };
        // Machines too many go, and nodes hear of changes, before anyone can read that it is done.
        if succeeded && running(&self.lock()) {
            let wanted = self.lock().pool(name, serial).and_then(|pool| pool.properties.count).unwrap_or(0);
            self.drop_machines(name, serial, usize::try_from(wanted).unwrap_or(usize::MAX));
            self.tell_changes(name, serial);
        }
        let mut state = self.lock();
        let ended = state.end_operation(operation, status, self.clock.now());
        if let Some(pool) = state.pool(name, serial).filter(|_| ended) {
            pool.provisioning = if succeeded { Provisioning::Succeeded } else { Provisioning::Failed };
        }
    }

    /// Labels and taints of a changed pool reach its nodes without a reboot.
    fn tell_changes(&self, name: &str, serial: u64) {
        let _in_order = self.telling();
        let machines: Vec<Machine> = {
            let mut state = self.lock();
            let options = state.options.clone();
            let Some(pool) = state.pool(name, serial).filter(|pool| pool.relabelled) else { return };
            pool.relabelled = false;
            let joined = pool.alive().filter(|one| one.joined.is_some() && !one.deallocated);
            joined
                .map(|one| {
                    let passed = one.joined.map_or(Duration::ZERO, |joined| {
                        Duration::try_from(self.clock.now().duration_since(joined)).unwrap_or(Duration::ZERO)
                    });
                    // Its GPUs come when they would have come.
                    let mut machine = node::machine(pool, one, &options);
                    machine.accelerator_after = machine.accelerator_after.map(|after| after.saturating_sub(passed));
                    machine
                })
                .collect()
        };
        for machine in machines {
            self.fleet.join(machine);
        }
    }

    /// Deletes machines until `keep` are left, the newest first.
    fn drop_machines(&self, name: &str, serial: u64, keep: usize) {
        let _in_order = self.telling();
        let now = self.clock.now();
        let mut left = Vec::new();
        if let Some(pool) = self.lock().pool(name, serial) {
            let extra = pool.alive().count().saturating_sub(keep);
            for instance in pool.instances.iter_mut().rev().filter(|one| one.gone.is_none()).take(extra) {
                instance.gone = Some(now);
                left.extend(instance.joined.map(|_| instance.node.clone()));
            }
        }
        for node in left {
            self.fleet.leave(&node, true);
        }
    }

    /// Azure takes a spot machine back: deleted or deallocated, as the pool's eviction policy says.
    pub(super) fn evict(&self, name: &str, serial: u64, number: u64) -> bool {
        let _in_order = self.telling();
        let now = self.clock.now();
        let (node, deleted) = {
            let mut state = self.lock();
            let Some(pool) = state.pool(name, serial).filter(|pool| pool.spot()) else { return false };
            let deleted = pool.properties.scale_set_eviction_policy.as_deref() != Some("Deallocate");
            let Some(instance) = pool.instance(number).filter(|one| one.gone.is_none() && !one.deallocated) else {
                return false;
            };
            instance.deallocated = true;
            let node = instance.joined.map(|_| instance.node.clone());
            if deleted {
                instance.gone = Some(now);
                let alive = u32::try_from(pool.alive().count()).unwrap_or(u32::MAX);
                // The scale set shrinks, and the pool's count is the scale set's.
                pool.properties.count = Some(alive);
            }
            (node, deleted)
        };
        if let Some(node) = node {
            self.fleet.leave(&node, deleted);
        }
        true
    }

    /// A running operation ends as if Azure had given up on it.
    pub(super) fn fail(&self, pool: &str, error: Value) -> bool {
        let (serial, operation) = {
            let state = self.lock();
            let Some(pool) = state.pools.get(pool) else { return false };
            let Some(operation) = pool.operation.clone() else { return false };
            (pool.serial, operation)
        };
        self.end(pool, serial, &operation, OperationStatus::Failed(error));
        true
    }
}

/// Machines that were there before the world began join at once.
pub(super) fn begin(core: &Core, name: &str, count: u32) {
    let mut numbers = Vec::new();
    let serial = {
        let mut state = core.lock();
        let Some(pool) = state.pools.get_mut(name) else { return };
        for _ in 0..count {
            let number = pool.next_instance;
            let boot_id = core.chance.stream(&format!("boot/{name}/{}/{number}", pool.serial)).uuid();
            let zone = pool.properties.zone_of(number);
            add(pool, zone, boot_id, core.clock.now());
            numbers.push(number);
        }
        pool.serial
    };
    for number in numbers {
        core.join(name, serial, number);
    }
}
