//! ReplicaSets: as many pods as asked for.

use serde_json::Value;
use std::{collections::BTreeSet, sync::Arc};

use super::{
    Controller,
    context::Context,
    events::{self, Saying},
    fields,
    kinds::Kind,
    pod_template::{self, count},
    timers::Alarm,
    view::Noticed,
};
use crate::api::{
    objects::Propagation,
    store::{ObjectKey, Stored},
};

/// As the real one: no more pods than this at a time.
const BURST: usize = 500;

#[derive(Debug, Default)]
pub(super) struct ReplicaSets {
    changed: BTreeSet<ObjectKey>,
}

impl Controller for ReplicaSets {
    fn notice(&mut self, _context: &Context, noticed: &Noticed) {
        match noticed.kind {
            Some(Kind::ReplicaSet) => _ = self.changed.insert(noticed.change.key.clone()),
            Some(Kind::Pod) => self.changed.extend(pod_template::owner_of(noticed, Kind::ReplicaSet)),
            _ => {}
        }
    }

    fn ring(&mut self, _context: &mut Context, alarm: &Alarm) {
        if let Alarm::Again { kind: Kind::ReplicaSet, key } = alarm {
            self.changed.insert(key.clone());
        }
    }

    fn work(&mut self, context: &mut Context) {
        for at in std::mem::take(&mut self.changed) {
            if let Some(set) = context.view.get(Kind::ReplicaSet, &at).cloned() {
                reconcile(context, &at, &set.value);
            }
        }
    }
}

fn reconcile(context: &mut Context, at: &ObjectKey, set: &Value) {
    let mut pods = context.view.controlled(Kind::Pod, fields::uid(set));
    pods.retain(|(_, pod)| fields::is_active(&pod.value));
    let wanted = usize::try_from(set["spec"]["replicas"].as_i64().unwrap_or(1)).unwrap_or(0);
    if !fields::is_going(set) {
        if pods.len() < wanted {
            for _ in 0..(wanted - pods.len()).min(BURST) {
                let name = format!("{}-", at.1);
                let pod = pod_template::pod_from(Kind::ReplicaSet, set, &set["spec"]["template"], &name, true);
                if let Some(pod) = pod_template::create(context, pod) {
                    let message = format!("Created pod: {}", fields::name(&pod.value));
                    say(context, set, "SuccessfulCreate", &message);
                }
            }
        } else if pods.len() > wanted {
            pods.sort_by_key(|(key, pod)| (rank(&pod.value), key.clone()));
            for (key, _) in pods.iter().take(pods.len() - wanted) {
                context.delete(Kind::Pod, key, Propagation::Background);
                say(context, set, "SuccessfulDelete", &format!("Deleted pod: {}", key.1));
            }
        }
    }
    set_status(context, at, set, &pods);
}

/// Who goes first: not bound, then pending, then not ready, then the cheapest, then the youngest.
fn rank(pod: &Value) -> (bool, bool, bool, i64, std::cmp::Reverse<String>) {
    let cost = fields::annotation(pod, "controller.kubernetes.io/pod-deletion-cost").and_then(|cost| cost.parse().ok());
    let created = pod["metadata"]["creationTimestamp"].as_str().unwrap_or_default().to_owned();
    let running = fields::phase(pod) == "Running";
    (fields::node_of(pod).is_some(), running, fields::is_ready(pod), cost.unwrap_or(0), std::cmp::Reverse(created))
}

fn set_status(context: &mut Context, at: &ObjectKey, set: &Value, pods: &[(ObjectKey, Arc<Stored>)]) {
    let least = set["spec"]["minReadySeconds"].as_i64().unwrap_or(0);
    let now = context.now();
    let values = || pods.iter().map(|(_, pod)| &pod.value);
    let all = count(values());
    let labelled = values().filter(|pod| {
        let wanted = set["spec"]["template"]["metadata"]["labels"].as_object();
        wanted.into_iter().flatten().all(|(key, value)| pod["metadata"]["labels"].get(key) == Some(value))
    });
    let (labelled, ready) = (count(labelled), count(values().filter(|pod| fields::is_ready(pod))));
    let available = count(values().filter(|pod| fields::is_available(pod, least, now)));
    context.update(Kind::ReplicaSet, at, |set| {
        set["status"]["observedGeneration"] = fields::generation(set).into();
        set["status"]["replicas"] = all.into();
        for (field, number) in
            [("fullyLabeledReplicas", labelled), ("readyReplicas", ready), ("availableReplicas", available)]
        {
            match set["status"].as_object_mut() {
                Some(status) if number == 0 => _ = status.remove(field),
                _ => set["status"][field] = number.into(),
            }
        }
    });
    let next = values().filter(|pod| fields::is_ready(pod)).filter_map(|pod| fields::available_at(pod, least));
    if let Some(next) = next.filter(|at| *at > now).min() {
        context.timers.set(next, Alarm::Again { kind: Kind::ReplicaSet, key: at.clone() });
    }
}

fn say(context: &mut Context, set: &Value, reason: &str, message: &str) {
    let saying = Saying { component: "replicaset-controller", warning: false, reason, message };
    events::say(context, Kind::ReplicaSet, set, &saying);
}
