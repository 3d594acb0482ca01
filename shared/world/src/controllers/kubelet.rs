//! The kubelets' stand-in: machines become Nodes and stay alive, pods bound to them run, finish and stop.
//!
//! A machine that left says nothing more: its Node and pods stay as they are until the node controllers act, just as
//! with a machine that lost its power.

mod admission;
mod node;
mod pod_status;
mod pods;

use jiff::Timestamp;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

use super::{
    Controller, Word,
    context::Context,
    events::{self, Saying},
    fields,
    kinds::Kind,
    timers::{Alarm, later},
    view::Noticed,
};
use crate::{
    api::{
        objects::{Propagation, key},
        store::ObjectKey,
    },
    chance::Chance,
    fleet::Machine,
};

pub(super) const LEASES: &str = "kube-node-lease";

pub(super) struct Kubelets {
    chance: Chance,
    machines: BTreeMap<String, Running>,
    /// Machines that will not come back, whose Nodes the cloud's node controller still has to remove.
    gone: BTreeSet<String>,
    looking_for_gone: bool,
    pods: pods::Pods,
    count: u32,
}

/// A machine with a kubelet on it.
#[derive(Debug)]
pub(super) struct Running {
    machine: Machine,
    alive: bool,
    ready: bool,
    accelerated: bool,
    number: u32,
}

impl Kubelets {
    pub(super) fn new(chance: Chance) -> Self {
        let pods = pods::Pods::new(chance.stream("pods"));
        let (machines, gone) = (BTreeMap::new(), BTreeSet::new());
        Kubelets { chance, machines, gone, looking_for_gone: false, pods, count: 0 }
    }

    pub(super) fn start(&mut self, context: &mut Context) {
        context.ring_in(context.options.lease_every, Alarm::Heartbeat);
        context.ring_in(context.options.report_every, Alarm::Report);
    }

    pub(super) fn hear(&mut self, context: &mut Context, word: Word) {
        match word {
            Word::Joined(machine) => self.join(context, *machine),
            Word::Left { node, deleted } => self.leave(context, &node, deleted),
        }
    }

    fn join(&mut self, context: &mut Context, machine: Machine) {
        let (name, boot) = (machine.node.clone(), machine.boot_id.clone());
        self.gone.remove(&name);
        let before = self.machines.remove(&name);
        let same_boot = before.as_ref().is_some_and(|before| before.machine.boot_id == boot);
        if before.as_ref().is_some_and(|before| before.alive) && same_boot {
            // Told twice: nothing new.
            self.machines.extend(before.map(|before| (name, before)));
            return;
        }
        let number = before.as_ref().map_or(self.count, |before| before.number);
        self.count += u32::from(before.is_none());
        let accelerated = same_boot && before.is_some_and(|before| before.accelerated);
        let running = Running { machine, alive: true, ready: false, accelerated, number };
        node::register(context, &running);
        let soon = self.chance.between(context.options.node_ready.0, context.options.node_ready.1);
        context.ring_in(soon, Alarm::NodeReady { node: name.clone(), boot: boot.clone() });
        if let (Some(_), Some(after), false) =
            (&running.machine.accelerator, running.machine.accelerator_after, accelerated)
        {
            context.ring_in(after, Alarm::Accelerator { node: name.clone(), boot });
        }
        self.machines.insert(name.clone(), running);
        self.pods.machine_is_back(context, &name, same_boot);
    }

    fn leave(&mut self, context: &mut Context, node: &str, deleted: bool) {
        if let Some(running) = self.machines.get_mut(node) {
            running.alive = false;
            running.ready = false;
        }
        if deleted {
            self.machines.remove(node);
            self.gone.insert(node.to_owned());
            self.look_for_gone(context);
        }
    }

    fn look_for_gone(&mut self, context: &mut Context) {
        if !self.gone.is_empty() && !self.looking_for_gone {
            self.looking_for_gone = true;
            context.ring_in(context.options.cloud_node_every, Alarm::CloudNodes);
        }
    }

    /// The cloud's node controller removes Nodes that are not ready and whose machine is gone.
    fn remove_gone(&mut self, context: &mut Context) {
        self.looking_for_gone = false;
        for node in self.gone.clone() {
            let at = key("", &node);
            let Some(stored) = context.view.get(Kind::Node, &at).cloned() else {
                self.gone.remove(&node);
                continue;
            };
            if fields::condition_is(&stored.value, "Ready", "True") {
                continue;
            }
            let message = format!("Deleting node {node} because it does not exist in the cloud provider");
            let saying = Saying {
                component: "cloud-node-lifecycle-controller",
                warning: false,
                reason: "DeletingNode",
                message: &message,
            };
            events::say(context, Kind::Node, &stored.value, &saying);
            context.delete(Kind::Node, &at, Propagation::Background);
            self.gone.remove(&node);
        }
        self.look_for_gone(context);
    }

    fn heartbeat(&mut self, context: &mut Context) {
        let now = precise(context.now());
        for (name, running) in self.machines.iter().filter(|(_, running)| running.alive) {
            let Some(node) = context.view.get(Kind::Node, &key("", name)).cloned() else { continue };
            let lease = key(LEASES, name);
            if !context.update(Kind::Lease, &lease, |lease| lease["spec"]["renewTime"] = now.clone().into()) {
                create_lease(context, &node.value);
            }
            // Whoever else wrote its condition is corrected; otherwise reports are rarer than heartbeats.
            let ready = if running.ready { "True" } else { "False" };
            if !fields::condition_is(&node.value, "Ready", ready) {
                node::report(context, running);
            }
        }
        context.ring_in(context.options.lease_every, Alarm::Heartbeat);
    }

    fn report(&mut self, context: &mut Context) {
        for running in self.machines.values().filter(|running| running.alive) {
            node::report(context, running);
        }
        events::forget_old(context);
        context.ring_in(context.options.report_every, Alarm::Report);
    }

    /// The machine's own clockwork, if it is still up and was not started again since.
    fn on_machine(&mut self, context: &mut Context, node: &str, boot: &str, change: impl FnOnce(&mut Running)) {
        if let Some(running) = self.machines.get_mut(node).filter(|one| one.alive && one.machine.boot_id == boot) {
            change(running);
            node::report(context, running);
        }
    }
}

impl Controller for Kubelets {
    fn notice(&mut self, _context: &Context, noticed: &Noticed) {
        if noticed.kind == Some(Kind::Pod) {
            self.pods.notice(noticed);
        }
    }

    fn ring(&mut self, context: &mut Context, alarm: &Alarm) {
        match alarm {
            Alarm::Heartbeat => self.heartbeat(context),
            Alarm::Report => self.report(context),
            Alarm::CloudNodes => self.remove_gone(context),
            Alarm::NodeReady { node, boot } => {
                self.on_machine(context, node, boot, |running| running.ready = true);
                node::say_ready(context, node);
            }
            Alarm::Accelerator { node, boot } => {
                self.on_machine(context, node, boot, |running| running.accelerated = true)
            }
            Alarm::PodStep { pod, uid, turn } => self.pods.step(context, &self.machines, pod, uid, *turn),
            _ => {}
        }
    }

    fn work(&mut self, context: &mut Context) {
        self.pods.work(context, &self.machines);
    }
}

/// A time with microseconds, as Leases carry it.
fn precise(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// Makes the Lease of a Node, owned by it.
fn create_lease(context: &mut Context, node: &serde_json::Value) {
    let name = fields::name(node);
    let now = precise(context.now());
    let owner = json!({ "apiVersion": "v1", "kind": "Node", "name": name, "uid": fields::uid(node) });
    let lease = json!({
        "metadata": { "name": name, "namespace": LEASES, "ownerReferences": [owner] },
        "spec": { "holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now },
    });
    if context.create(Kind::Lease, lease.clone()).is_none() {
        // The Lease of a Node of the same name that was removed: it is not collected yet, or belongs to nobody.
        context.update(Kind::Lease, &key(LEASES, name), |old| {
            old["metadata"]["ownerReferences"] = lease["metadata"]["ownerReferences"].clone();
            old["spec"] = lease["spec"].clone();
        });
    }
}

fn after(context: &mut Context, span: std::time::Duration, pod: &ObjectKey, uid: &str, turn: u64) {
    let at = later(context.now(), span);
    context.timers.set(at, Alarm::PodStep { pod: pod.clone(), uid: uid.to_owned(), turn });
}
