//! Eviction by taint: pods leave Nodes with a `NoExecute` taint they do not tolerate, or when their patience ends.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

use super::{
    Controller,
    context::Context,
    events::{self, Saying},
    fields::{self, Condition},
    kinds::Kind,
    scheduler::tolerates,
    timers::Alarm,
    view::Noticed,
};
use crate::api::{
    objects::{Propagation, key},
    store::ObjectKey,
};

#[derive(Debug, Default)]
pub(super) struct TaintEviction {
    pods: BTreeSet<ObjectKey>,
    nodes: BTreeSet<String>,
    /// Pods that will have to go, by uid, and when.
    patience: BTreeMap<String, Timestamp>,
}

impl Controller for TaintEviction {
    fn notice(&mut self, context: &Context, noticed: &Noticed) {
        let change = &noticed.change;
        let (before, after) = (change.before.as_ref().map(|before| &before.value), &change.after.value);
        match noticed.kind {
            Some(Kind::Node) if !change.deleted => {
                let taints = |node: &Value| lasting_taints(node).cloned().collect::<Vec<_>>();
                if before.map(taints).unwrap_or_default() != taints(after) {
                    self.nodes.insert(change.key.1.clone());
                }
            }
            Some(Kind::Pod) if change.deleted => _ = self.patience.remove(fields::uid(after)),
            Some(Kind::Pod) => {
                let bound = fields::node_of(after);
                let moved = before.and_then(fields::node_of) != bound;
                let other = before.is_some_and(|before| before["spec"]["tolerations"] != after["spec"]["tolerations"]);
                let tainted = bound.and_then(|node| context.view.get(Kind::Node, &key("", node)));
                let tainted = tainted.is_some_and(|node| lasting_taints(&node.value).next().is_some());
                if tainted && (moved || other) {
                    self.pods.insert(change.key.clone());
                }
            }
            _ => {}
        }
    }

    fn ring(&mut self, _context: &mut Context, alarm: &Alarm) {
        if let Alarm::Tolerated { pod, .. } = alarm {
            self.pods.insert(pod.clone());
        }
    }

    fn work(&mut self, context: &mut Context) {
        for node in std::mem::take(&mut self.nodes) {
            let keys: Vec<ObjectKey> = context.view.pods_on(&node).map(|(key, _)| key.clone()).collect();
            self.pods.extend(keys);
        }
        for pod in std::mem::take(&mut self.pods) {
            self.judge(context, &pod);
        }
    }
}

impl TaintEviction {
    fn judge(&mut self, context: &mut Context, at: &ObjectKey) {
        let Some(stored) = context.fresh(Kind::Pod, at) else { return };
        let (pod, uid) = (&stored.value, fields::uid(&stored.value));
        let node = fields::node_of(pod).and_then(|node| context.fresh(Kind::Node, &key("", node)));
        let Some(node) = node.filter(|_| !fields::is_going(pod)) else { return };
        let taints: Vec<&Value> = lasting_taints(&node.value).collect();
        if taints.is_empty() {
            if self.patience.remove(uid).is_some() {
                let message = format!("Cancelling deletion of Pod {}/{}", at.0, at.1);
                say(context, pod, &message);
            }
            return;
        }
        match leaves_in(pod, &taints) {
            Leaves::Now => self.evict(context, at, pod),
            Leaves::Never => _ = self.patience.remove(uid),
            Leaves::After(span) => {
                // Patience is counted from the first taint, and a further taint does not renew it.
                let now = context.now();
                let until = now.checked_add(span).unwrap_or(Timestamp::MAX);
                let until = self.patience.get(uid).copied().map_or(until, |already| already.min(until));
                if until <= now {
                    self.evict(context, at, pod);
                } else if self.patience.insert(uid.to_owned(), until) != Some(until) {
                    context.timers.set(until, Alarm::Tolerated { pod: at.clone(), uid: uid.to_owned() });
                }
            }
        }
    }

    fn evict(&mut self, context: &mut Context, at: &ObjectKey, pod: &Value) {
        self.patience.remove(fields::uid(pod));
        say(context, pod, &format!("Marking for deletion Pod {}/{}", at.0, at.1));
        let now = context.stamp();
        context.update(Kind::Pod, at, |pod| {
            let message = "Taint manager: deleting due to NoExecute taint";
            let condition =
                Condition { kind: "DisruptionTarget", status: "True", reason: "DeletionByTaintManager", message };
            fields::set_condition(pod, &condition, &now, &[]);
        });
        context.delete(Kind::Pod, at, Propagation::Background);
    }
}

enum Leaves {
    Now,
    After(SignedDuration),
    Never,
}

fn leaves_in(pod: &Value, taints: &[&Value]) -> Leaves {
    let tolerations = fields::list(&pod["spec"]["tolerations"]);
    if !taints.iter().all(|taint| tolerations.iter().any(|one| tolerates(one, taint))) {
        return Leaves::Now;
    }
    let used = tolerations.iter().filter(|one| taints.iter().any(|taint| tolerates(one, taint)));
    match used.filter_map(|one| one["tolerationSeconds"].as_i64()).min() {
        None => Leaves::Never,
        Some(seconds) if seconds <= 0 => Leaves::Now,
        Some(seconds) => Leaves::After(SignedDuration::from_secs(seconds)),
    }
}

fn lasting_taints(node: &Value) -> impl Iterator<Item = &Value> {
    fields::list(&node["spec"]["taints"]).iter().filter(|taint| taint["effect"] == "NoExecute")
}

fn say(context: &mut Context, pod: &Value, message: &str) {
    let saying =
        Saying { component: "taint-eviction-controller", warning: false, reason: "TaintManagerEviction", message };
    events::say(context, Kind::Pod, pod, &saying);
}
