//! Node lifecycle: a Node without sign of life becomes Unknown, and its conditions become taints.

use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

use super::{
    Controller,
    context::Context,
    events::{self, Saying},
    fields::{self, Condition},
    kinds::Kind,
    kubelet::LEASES,
    timers::{Alarm, later},
    view::Noticed,
};
use crate::api::{objects::key, store::ObjectKey};

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
pub(super) const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

#[derive(Debug, Default)]
pub(super) struct NodeLifecycle {
    /// When each Node was last heard of, by its Lease or its own report.
    heard: BTreeMap<String, Timestamp>,
    changed: BTreeSet<String>,
    monitoring: bool,
    check: bool,
}

impl Controller for NodeLifecycle {
    fn notice(&mut self, context: &Context, noticed: &Noticed) {
        let change = &noticed.change;
        let name = &change.key.1;
        let before = change.before.as_ref().map(|before| &before.value);
        match noticed.kind {
            Some(Kind::Node) if change.deleted => {
                self.heard.remove(name);
            }
            Some(Kind::Node) => {
                let beat =
                    |node: &Value| fields::condition(node, "Ready").map(|ready| ready["lastHeartbeatTime"].clone());
                if before.is_none_or(|before| beat(before) != beat(&change.after.value)) {
                    self.heard.insert(name.clone(), context.now());
                }
                self.changed.insert(name.clone());
            }
            // A Lease that appears or is renewed; its Node may be older than this world's memory of it.
            Some(Kind::Lease) if change.key.0 == LEASES && !change.deleted && is_there(context, name) => {
                self.heard.insert(name.clone(), context.now());
            }
            _ => {}
        }
    }

    fn ring(&mut self, _context: &mut Context, alarm: &Alarm) {
        if *alarm == Alarm::Monitor {
            self.monitoring = false;
            self.check = true;
        }
    }

    fn work(&mut self, context: &mut Context) {
        if std::mem::take(&mut self.check) {
            self.find_silent(context);
        }
        for name in std::mem::take(&mut self.changed) {
            set_taints(context, &key("", &name));
        }
        self.watch_on(context);
    }
}

fn is_there(context: &Context, node: &str) -> bool {
    context.view.get(Kind::Node, &key("", node)).is_some()
}

impl NodeLifecycle {
    fn find_silent(&mut self, context: &mut Context) {
        let now = context.now();
        for (name, heard) in self.heard.clone() {
            if later(heard, context.options.node_monitor_grace) <= now {
                lose(context, &key("", &name));
                self.heard.remove(&name);
            }
        }
    }

    /// One timer for the Node that has been silent longest; heartbeats in between do not move it.
    fn watch_on(&mut self, context: &mut Context) {
        if let (false, Some(oldest)) = (self.monitoring, self.heard.values().min()) {
            let at = later(*oldest, context.options.node_monitor_grace);
            context.timers.set(at, Alarm::Monitor);
            self.monitoring = true;
        }
    }
}

/// Nobody heard of it for too long.
fn lose(context: &mut Context, at: &ObjectKey) {
    let now = context.stamp();
    let Some(before) = context.fresh(Kind::Node, at) else { return };
    if fields::condition_is(&before.value, "Ready", "Unknown") {
        return;
    }
    context.update(Kind::Node, at, |node| {
        for kind in ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"] {
            let known = fields::condition(node, kind).is_some();
            let (reason, message) = if known {
                ("NodeStatusUnknown", "Kubelet stopped posting node status.")
            } else {
                ("NodeStatusNeverUpdated", "Kubelet never posted node status.")
            };
            fields::set_condition(node, &Condition { kind, status: "Unknown", reason, message }, &now, &[]);
        }
    });
    if fields::condition_is(&before.value, "Ready", "True") {
        let message = format!("Node {} status is now: NodeNotReady", at.1);
        let saying = Saying { component: "node-controller", warning: false, reason: "NodeNotReady", message: &message };
        events::say(context, Kind::Node, &before.value, &saying);
        mark_pods_not_ready(context, &at.1);
    }
}

fn mark_pods_not_ready(context: &mut Context, node: &str) {
    let now = context.stamp();
    let ready = context.view.pods_on(node).filter(|(_, pod)| fields::is_ready(&pod.value));
    let ready: Vec<ObjectKey> = ready.map(|(key, _)| key.clone()).collect();
    for key in ready {
        context.update(Kind::Pod, &key, |pod| {
            fields::set_condition(
                pod,
                &Condition { kind: "Ready", status: "False", reason: "", message: "" },
                &now,
                &[],
            );
        });
    }
}

/// The taints that the conditions of a Node and `spec.unschedulable` call for, no more and no fewer.
fn set_taints(context: &mut Context, at: &ObjectKey) {
    let Some(stored) = context.fresh(Kind::Node, at) else { return };
    let node = &stored.value;
    let ready = fields::condition(node, "Ready").and_then(|ready| ready["status"].as_str()).unwrap_or("Missing");
    let is = |kind: &str| fields::condition_is(node, kind, "True");
    let wanted = [
        (NOT_READY, "NoSchedule", ready == "False" || ready == "Missing"),
        (UNREACHABLE, "NoSchedule", ready == "Unknown"),
        (NOT_READY, "NoExecute", ready == "False"),
        (UNREACHABLE, "NoExecute", ready == "Unknown"),
        (UNSCHEDULABLE, "NoSchedule", node["spec"]["unschedulable"] == true),
        ("node.kubernetes.io/memory-pressure", "NoSchedule", is("MemoryPressure")),
        ("node.kubernetes.io/disk-pressure", "NoSchedule", is("DiskPressure")),
        ("node.kubernetes.io/pid-pressure", "NoSchedule", is("PIDPressure")),
        ("node.kubernetes.io/network-unavailable", "NoSchedule", is("NetworkUnavailable")),
    ];
    let has = |key: &str, effect: &str| {
        fields::list(&node["spec"]["taints"]).iter().any(|taint| taint["key"] == key && taint["effect"] == effect)
    };
    if wanted.iter().all(|(key, effect, wanted)| has(key, effect) == *wanted) {
        return;
    }
    let now = context.stamp();
    context.update(Kind::Node, at, |node| {
        let mut taints = fields::list(&node["spec"]["taints"]).to_vec();
        for (key, effect, wanted) in wanted {
            let place = taints.iter().position(|taint| taint["key"] == key && taint["effect"] == effect);
            match (place, wanted) {
                (Some(place), false) => _ = taints.remove(place),
                (None, true) => taints.push(json!({ "key": key, "effect": effect, "timeAdded": now })),
                _ => {}
            }
        }
        match node["spec"].as_object_mut() {
            Some(spec) if taints.is_empty() => _ = spec.remove("taints"),
            _ => node["spec"]["taints"] = taints.into(),
        }
    });
}
