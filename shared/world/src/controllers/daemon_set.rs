//! DaemonSets: one pod on every node that will have it.

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
    scheduler::{NodeTerm, label_map, node_selector, untolerated},
    view::Noticed,
};
use crate::api::{
    objects::Propagation,
    store::{ObjectKey, Stored},
};

const HASH: &str = "controller-revision-hash";

#[derive(Debug, Default)]
pub(super) struct DaemonSets {
    changed: BTreeSet<ObjectKey>,
}

impl Controller for DaemonSets {
    fn notice(&mut self, context: &Context, noticed: &Noticed) {
        let change = &noticed.change;
        match noticed.kind {
            Some(Kind::DaemonSet) => _ = self.changed.insert(change.key.clone()),
            Some(Kind::Pod) => self.changed.extend(pod_template::owner_of(noticed, Kind::DaemonSet)),
            Some(Kind::Node) => {
                let after = &change.after.value;
                let same = |before: &Value| {
                    before["metadata"]["labels"] == after["metadata"]["labels"] && before["spec"] == after["spec"]
                };
                if change.deleted || !change.before.as_ref().is_some_and(|before| same(&before.value)) {
                    self.changed.extend(context.view.all(Kind::DaemonSet).map(|(key, _)| key.clone()));
                }
            }
            _ => {}
        }
    }

    fn work(&mut self, context: &mut Context) {
        for at in std::mem::take(&mut self.changed) {
            if let Some(set) = context.view.get(Kind::DaemonSet, &at).cloned() {
                reconcile(context, &at, &set.value);
            }
        }
    }
}

/// What daemons bear that others do not: they run while a node is in trouble.
fn tolerations(template: &Value) -> Vec<Value> {
    let mut all = fields::list(&template["spec"]["tolerations"]).to_vec();
    let own = [
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    ];
    let network = ("network-unavailable", "NoSchedule");
    let hosted = template["spec"]["hostNetwork"] == true;
    for (name, effect) in own.into_iter().chain(hosted.then_some(network)) {
        all.push(json!({ "key": format!("node.kubernetes.io/{name}"), "operator": "Exists", "effect": effect }));
    }
    all
}

/// Whether a pod of this set should run on a node, and whether it may stay where it runs.
fn suits(set: &Value, tolerations: &[Value], terms: Option<&Vec<NodeTerm>>, node: &Value) -> (bool, bool) {
    let template = &set["spec"]["template"];
    let labels = label_map(&node["metadata"]["labels"]);
    let selected =
        label_map(&template["spec"]["nodeSelector"]).iter().all(|(key, value)| labels.get(key) == Some(value));
    let affinity = terms.is_none_or(|terms| terms.iter().any(|term| term.matches(fields::name(node), &labels)));
    if !selected || !affinity {
        return (false, false);
    }
    let taints = fields::list(&node["spec"]["taints"]);
    let lasting: Vec<Value> = taints.iter().filter(|taint| taint["effect"] == "NoExecute").cloned().collect();
    (untolerated(tolerations, taints).is_none(), untolerated(tolerations, &lasting).is_none())
}

fn reconcile(context: &mut Context, at: &ObjectKey, set: &Value) {
    let hash = revisions::current(context, Kind::DaemonSet, set);
    let mut by_node: BTreeMap<String, Vec<Arc<Stored>>> = BTreeMap::new();
    for (_, pod) in context.view.controlled(Kind::Pod, fields::uid(set)) {
        by_node.entry(target(&pod.value).unwrap_or_default().to_owned()).or_default().push(pod);
    }
    let bears = tolerations(&set["spec"]["template"]);
    let terms = node_selector(
        &set["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"],
    );
    let nodes: Vec<Arc<Stored>> = context.view.all(Kind::Node).map(|(_, node)| node.clone()).collect();
    let mut numbers = Numbers::default();
    let mut standing: Vec<Arc<Stored>> = Vec::new();
    for node in &nodes {
        let name = fields::name(&node.value);
        let pods = by_node.remove(name).unwrap_or_default();
        let (should_run, may_stay) = suits(set, &bears, terms.as_ref(), &node.value);
        numbers.desired += i64::from(should_run);
        let mut living: Vec<Arc<Stored>> = Vec::new();
        for pod in pods {
            if fields::is_going(&pod.value) {
                continue;
            }
            if fields::is_over(&pod.value) || !may_stay || !living.is_empty() {
                delete(context, set, &pod.value);
            } else {
                living.push(pod);
            }
        }
        if should_run && living.is_empty() && !fields::is_going(set) && !fields::is_going(&node.value) {
            create(context, set, name, &hash, &bears);
        }
        numbers.count(&living, should_run, set, &hash, context.now());
        standing.extend(living);
    }
    // Pods of nodes that are gone are the pod collector's.
    if !fields::is_going(set) {
        roll(context, set, &standing, &hash, &numbers);
    }
    set_status(context, at, &numbers);
}

/// The node a daemon's pod is meant for, bound or not.
fn target(pod: &Value) -> Option<&str> {
    let terms =
        &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
    fields::node_of(pod).or_else(|| terms[0]["matchFields"][0]["values"][0].as_str())
}

fn create(context: &mut Context, set: &Value, node: &str, hash: &str, bears: &[Value]) {
    let name = format!("{}-", fields::name(set));
    let mut template = set["spec"]["template"].clone();
    template["spec"]["tolerations"] = bears.into();
    let mut pod = pod_template::pod_from(Kind::DaemonSet, set, &template, &name, true);
    pod["metadata"]["labels"][HASH] = hash.into();
    let here = json!({ "key": "metadata.name", "operator": "In", "values": [node] });
    let required = &mut pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    match required["nodeSelectorTerms"].as_array_mut().filter(|terms| !terms.is_empty()) {
        Some(terms) => terms.iter_mut().for_each(|term| term["matchFields"] = json!([here])),
        None => *required = json!({ "nodeSelectorTerms": [{ "matchFields": [here] }] }),
    }
    if let Some(pod) = pod_template::create(context, pod) {
        say(context, set, "SuccessfulCreate", &format!("Created pod: {}", fields::name(&pod.value)));
    }
}

fn delete(context: &mut Context, set: &Value, pod: &Value) {
    let at = (fields::namespace(pod).to_owned(), fields::name(pod).to_owned());
    context.delete(Kind::Pod, &at, Propagation::Background);
    say(context, set, "SuccessfulDelete", &format!("Deleted pod: {}", at.1));
}

fn say(context: &mut Context, set: &Value, reason: &str, message: &str) {
    events::say(
        context,
        Kind::DaemonSet,
        set,
        &Saying { component: "daemonset-controller", warning: false, reason, message },
    );
}

/// Replaces pods of an old template, as many at a time as may be missing.
fn roll(context: &mut Context, set: &Value, pods: &[Arc<Stored>], hash: &str, numbers: &Numbers) {
    if set["spec"]["updateStrategy"]["type"] == "OnDelete" {
        return;
    }
    let most = &set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"];
    let most = fields::number_or_share(most, numbers.desired, true).unwrap_or(1).max(1);
    let mut room = most - (numbers.desired - numbers.available);
    let old = pods.iter().filter(|pod| fields::label(&pod.value, HASH) != Some(hash));
    let (ready, broken): (Vec<_>, Vec<_>) = old.partition(|pod| fields::is_ready(&pod.value));
    for pod in broken {
        delete(context, set, &pod.value);
    }
    for pod in ready {
        if room > 0 {
            delete(context, set, &pod.value);
            room -= 1;
        }
    }
}

#[derive(Debug, Default)]
struct Numbers {
    desired: i64,
    current: i64,
    misplaced: i64,
    ready: i64,
    available: i64,
    updated: i64,
}

impl Numbers {
    fn count(&mut self, living: &[Arc<Stored>], should_run: bool, set: &Value, hash: &str, now: jiff::Timestamp) {
        let least = set["spec"]["minReadySeconds"].as_i64().unwrap_or(0);
        let here = i64::from(!living.is_empty());
        if !should_run {
            self.misplaced += here;
            return;
        }
        let values = || living.iter().map(|pod| &pod.value);
        self.current += here;
        self.ready += count(values().filter(|pod| fields::is_ready(pod)));
        self.available += count(values().filter(|pod| fields::is_available(pod, least, now)));
        self.updated += count(values().filter(|pod| fields::label(pod, HASH) == Some(hash)));
    }
}

fn set_status(context: &Context, at: &ObjectKey, numbers: &Numbers) {
    context.update(Kind::DaemonSet, at, |set| {
        set["status"]["observedGeneration"] = fields::generation(set).into();
        let always = [
            ("currentNumberScheduled", numbers.current),
            ("desiredNumberScheduled", numbers.desired),
            ("numberMisscheduled", numbers.misplaced),
            ("numberReady", numbers.ready),
        ];
        for (field, number) in always {
            set["status"][field] = number.into();
        }
        let optional = [
            ("numberAvailable", numbers.available),
            ("numberUnavailable", numbers.desired - numbers.available),
            ("updatedNumberScheduled", numbers.updated),
        ];
        for (field, number) in optional {
            match set["status"].as_object_mut() {
                Some(status) if number == 0 => _ = status.remove(field),
                _ => set["status"][field] = number.into(),
            }
        }
    });
}
