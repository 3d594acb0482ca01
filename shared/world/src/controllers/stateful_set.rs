//! StatefulSets: pods with numbers, claims of their own, one after the other.

use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    Controller,
    context::Context,
    events::{self, Saying},
    fields,
    kinds::Kind,
    pod_template::{self, count},
    revisions,
    timers::Alarm,
    view::Noticed,
};
use crate::api::{
    objects::{Propagation, key},
    store::{ObjectKey, Stored},
};

const HASH: &str = "controller-revision-hash";

#[derive(Debug, Default)]
pub(super) struct StatefulSets {
    changed: BTreeSet<ObjectKey>,
}

impl Controller for StatefulSets {
    fn notice(&mut self, _context: &Context, noticed: &Noticed) {
        match noticed.kind {
            Some(Kind::StatefulSet) => _ = self.changed.insert(noticed.change.key.clone()),
            Some(Kind::Pod) => self.changed.extend(pod_template::owner_of(noticed, Kind::StatefulSet)),
            _ => {}
        }
    }

    fn ring(&mut self, _context: &mut Context, alarm: &Alarm) {
        if let Alarm::Again { kind: Kind::StatefulSet, key } = alarm {
            self.changed.insert(key.clone());
        }
    }

    fn work(&mut self, context: &mut Context) {
        for at in std::mem::take(&mut self.changed) {
            if let Some(set) = context.view.get(Kind::StatefulSet, &at).cloned() {
                reconcile(context, &at, &set.value);
            }
        }
    }
}

type Numbered = BTreeMap<i64, Arc<Stored>>;

fn reconcile(context: &mut Context, at: &ObjectKey, set: &Value) {
    let update = revisions::current(context, Kind::StatefulSet, set);
    let mut pods = Numbered::new();
    for (_, pod) in context.view.controlled(Kind::Pod, fields::uid(set)) {
        let number = fields::name(&pod.value).rsplit_once('-').and_then(|(_, number)| number.parse().ok());
        pods.extend(number.map(|number| (number, pod)));
    }
    if !fields::is_going(set) {
        act(context, set, &pods, &update);
    }
    set_status(context, at, set, &update);
}

fn start_of(set: &Value) -> i64 {
    set["spec"]["ordinals"]["start"].as_i64().unwrap_or(0)
}

fn act(context: &mut Context, set: &Value, pods: &Numbered, update: &str) {
    let (start, wanted) = (start_of(set), set["spec"]["replicas"].as_i64().unwrap_or(1));
    let parallel = set["spec"]["podManagementPolicy"] == "Parallel";
    let healthy = |pod: &Value| fields::is_ready(pod) && !fields::is_going(pod);
    for number in start..start + wanted {
        match pods.get(&number) {
            None => create(context, set, number, update),
            Some(pod) if fields::is_over(&pod.value) && !fields::is_going(&pod.value) => {
                delete(context, set, &pod.value)
            }
            Some(pod) if healthy(&pod.value) => continue,
            Some(_) => {}
        }
        if !parallel {
            return;
        }
    }
    let beyond = |number: &i64| *number < start || *number >= start + wanted;
    for (_, pod) in pods.iter().rev().filter(|(number, _)| beyond(number)) {
        if !fields::is_going(&pod.value) {
            delete(context, set, &pod.value);
        }
        if !parallel {
            return;
        }
    }
    roll(context, set, pods, update, start + wanted);
}

/// From the last pod to the first, one at a time, down to the partition.
fn roll(context: &mut Context, set: &Value, pods: &Numbered, update: &str, end: i64) {
    let strategy = &set["spec"]["updateStrategy"];
    if strategy["type"] == "OnDelete" {
        return;
    }
    let partition = strategy["rollingUpdate"]["partition"].as_i64().unwrap_or(0);
    for (_, pod) in pods.iter().rev().filter(|(number, _)| **number >= partition && **number < end) {
        let old = fields::label(&pod.value, HASH) != Some(&format!("{}-{update}", fields::name(set)));
        if old && !fields::is_going(&pod.value) {
            delete(context, set, &pod.value);
            return;
        }
        if !fields::is_ready(&pod.value) || fields::is_going(&pod.value) {
            return;
        }
    }
}

fn create(context: &mut Context, set: &Value, number: i64, update: &str) {
    let name = format!("{}-{number}", fields::name(set));
    let mut pod = pod_template::pod_from(Kind::StatefulSet, set, &set["spec"]["template"], &name, false);
    for (label, value) in [
        ("statefulset.kubernetes.io/pod-name", name.clone()),
        ("apps.kubernetes.io/pod-index", number.to_string()),
        (HASH, format!("{}-{update}", fields::name(set))),
    ] {
        pod["metadata"]["labels"][label] = value.into();
    }
    pod["spec"]["hostname"] = name.clone().into();
    pod["spec"]["subdomain"] = set["spec"]["serviceName"].as_str().unwrap_or_default().into();
    let mut volumes = fields::list(&pod["spec"]["volumes"]).to_vec();
    for template in fields::list(&set["spec"]["volumeClaimTemplates"]) {
        let volume = fields::name(template);
        let claim = format!("{volume}-{name}");
        volumes.retain(|one| one["name"] != *volume);
        volumes.push(json!({ "name": volume, "persistentVolumeClaim": { "claimName": claim } }));
        create_claim(context, set, template, &claim);
    }
    if !volumes.is_empty() {
        pod["spec"]["volumes"] = volumes.into();
    }
    if pod_template::create(context, pod).is_some() {
        say(
            context,
            set,
            "SuccessfulCreate",
            &format!("create Pod {name} in StatefulSet {} successful", fields::name(set)),
        );
    }
}

/// Claims outlive their pods: a pod that comes back finds its data.
fn create_claim(context: &mut Context, set: &Value, template: &Value, name: &str) {
    if context.fresh(Kind::PersistentVolumeClaim, &key(fields::namespace(set), name)).is_some() {
        return;
    }
    let mut labels = template["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    labels.extend(set["spec"]["selector"]["matchLabels"].as_object().cloned().unwrap_or_default());
    let claim = json!({
        "metadata": { "name": name, "namespace": fields::namespace(set), "labels": labels },
        "spec": template["spec"],
        "status": { "phase": "Pending" },
    });
    context.create(Kind::PersistentVolumeClaim, claim);
}

fn delete(context: &mut Context, set: &Value, pod: &Value) {
    context.delete(Kind::Pod, &key(fields::namespace(pod), fields::name(pod)), Propagation::Background);
    let message = format!("delete Pod {} in StatefulSet {} successful", fields::name(pod), fields::name(set));
    say(context, set, "SuccessfulDelete", &message);
}

fn say(context: &mut Context, set: &Value, reason: &str, message: &str) {
    let saying = Saying { component: "statefulset-controller", warning: false, reason, message };
    events::say(context, Kind::StatefulSet, set, &saying);
}

fn set_status(context: &mut Context, at: &ObjectKey, set: &Value, update: &str) {
    let least = set["spec"]["minReadySeconds"].as_i64().unwrap_or(0);
    let (now, update) = (context.now(), format!("{}-{update}", at.1));
    let pods: Vec<Value> =
        context.view.controlled(Kind::Pod, fields::uid(set)).iter().map(|(_, pod)| pod.value.clone()).collect();
    let there = || pods.iter().filter(|pod| !fields::is_over(pod));
    let (all, ready) = (count(there()), count(there().filter(|pod| fields::is_ready(pod))));
    let available = count(there().filter(|pod| fields::is_available(pod, least, now)));
    let updated = count(there().filter(|pod| fields::label(pod, HASH) == Some(&update) && !fields::is_going(pod)));
    let wanted = set["spec"]["replicas"].as_i64().unwrap_or(1);
    context.update(Kind::StatefulSet, at, |set| {
        let current = set["status"]["currentRevision"].as_str().filter(|current| !current.is_empty());
        let done = updated == wanted && all == wanted && ready == wanted;
        let current = if done { update.clone() } else { current.unwrap_or(&update).to_owned() };
        let on_current = count(there().filter(|pod| fields::label(pod, HASH) == Some(&current)));
        let status = &mut set["status"];
        for (field, number) in [
            ("replicas", all),
            ("readyReplicas", ready),
            ("availableReplicas", available),
            ("updatedReplicas", updated),
            ("currentReplicas", on_current),
        ] {
            status[field] = number.into();
        }
        status["currentRevision"] = current.into();
        status["updateRevision"] = update.clone().into();
        status["collisionCount"] = 0.into();
        set["status"]["observedGeneration"] = fields::generation(set).into();
    });
    let next = there().filter(|pod| fields::is_ready(pod)).filter_map(|pod| fields::available_at(pod, least));
    if let Some(next) = next.filter(|next| *next > now).min() {
        context.timers.set(next, Alarm::Again { kind: Kind::StatefulSet, key: at.clone() });
    }
}
