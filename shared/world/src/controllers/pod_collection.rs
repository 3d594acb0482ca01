//! The pod collector: pods whose Node does not exist, and pods stuck on a Node that is declared out of service.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Controller,
    context::Context,
    fields::{self, Condition},
    kinds::Kind,
    timers::{Alarm, later},
    view::Noticed,
};
use crate::api::{objects::key, store::ObjectKey};

const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

#[derive(Debug, Default)]
pub(super) struct PodCollection {
    /// Nodes that pods name and that may be missing.
    suspects: BTreeSet<String>,
    /// Until when a missing Node may still turn up.
    quarantine: BTreeMap<String, jiff::Timestamp>,
}

impl Controller for PodCollection {
    fn notice(&mut self, context: &Context, noticed: &Noticed) {
        let change = &noticed.change;
        match noticed.kind {
            Some(Kind::Node) => _ = self.suspects.insert(change.key.1.clone()),
            Some(Kind::Pod) if !change.deleted => {
                let after = &change.after.value;
                let Some(node) = fields::node_of(after) else { return };
                let known = context.view.get(Kind::Node, &key("", node));
                if known.is_none_or(|node| fields::is_going(after) && out_of_service(&node.value)) {
                    self.suspects.insert(node.to_owned());
                }
            }
            _ => {}
        }
    }

    fn ring(&mut self, _context: &mut Context, alarm: &Alarm) {
        if let Alarm::Quarantine { node } = alarm {
            self.suspects.insert(node.clone());
        }
    }

    fn work(&mut self, context: &mut Context) {
        for node in std::mem::take(&mut self.suspects) {
            match context.view.get(Kind::Node, &key("", &node)).cloned() {
                Some(found) => {
                    self.quarantine.remove(&node);
                    if out_of_service(&found.value) && !fields::condition_is(&found.value, "Ready", "True") {
                        collect(context, &node, true);
                    }
                }
                None => self.judge_missing(context, node),
            }
        }
    }
}

impl PodCollection {
    fn judge_missing(&mut self, context: &mut Context, node: String) {
        if context.view.pods_on(&node).next().is_none() {
            self.quarantine.remove(&node);
            return;
        }
        let now = context.now();
        match self.quarantine.get(&node) {
            None => {
                let until = later(now, context.options.pod_quarantine);
                self.quarantine.insert(node.clone(), until);
                context.timers.set(until, Alarm::Quarantine { node });
            }
            Some(until) if *until <= now => collect(context, &node, false),
            Some(_) => {}
        }
    }
}

fn out_of_service(node: &serde_json::Value) -> bool {
    fields::list(&node["spec"]["taints"]).iter().any(|taint| taint["key"] == OUT_OF_SERVICE)
}

fn collect(context: &mut Context, node: &str, only_going: bool) {
    let now = context.stamp();
    let pods = context.view.pods_on(node).filter(|(_, pod)| !only_going || fields::is_going(&pod.value));
    let pods: Vec<(ObjectKey, String)> =
        pods.map(|(key, pod)| (key.clone(), fields::uid(&pod.value).to_owned())).collect();
    for (key, uid) in pods {
        context.update(Kind::Pod, &key, |pod| {
            if !fields::is_over(pod) {
                pod["status"]["phase"] = "Failed".into();
            }
            if !only_going {
                let message = "PodGC: node no longer exists";
                let condition =
                    Condition { kind: "DisruptionTarget", status: "True", reason: "DeletionByPodGC", message };
                fields::set_condition(pod, &condition, &now, &[]);
            }
        });
        context.delete_now(&key, &uid);
    }
}
