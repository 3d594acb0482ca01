//! Deployments: a ReplicaSet for every template, and a rollout from the old ones to the new one.

mod rollout;
mod status;

use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc};

use super::{
    Controller,
    context::Context,
    events::{self, Saying},
    fields,
    kinds::Kind,
    pod_template,
    timers::Alarm,
    view::Noticed,
};
use crate::api::{
    objects::Propagation,
    store::{ObjectKey, Stored},
};

const HASH: &str = "pod-template-hash";
const REVISION: &str = "deployment.kubernetes.io/revision";

#[derive(Debug, Default)]
pub(super) struct Deployments {
    changed: BTreeSet<ObjectKey>,
}

/// The ReplicaSets of a Deployment.
struct Sets {
    new: Option<Arc<Stored>>,
    /// The oldest first.
    old: Vec<Arc<Stored>>,
}

impl Controller for Deployments {
    fn notice(&mut self, context: &Context, noticed: &Noticed) {
        match noticed.kind {
            Some(Kind::Deployment) => _ = self.changed.insert(noticed.change.key.clone()),
            Some(Kind::ReplicaSet) => self.changed.extend(pod_template::owner_of(noticed, Kind::Deployment)),
            // Recreate waits until the last old pod is really gone.
            Some(Kind::Pod) if noticed.change.deleted => {
                let owner = pod_template::owner_of(noticed, Kind::ReplicaSet);
                let set = owner.and_then(|owner| context.view.get(Kind::ReplicaSet, &owner));
                let name = set.and_then(|set| fields::controller(&set.value)?["name"].as_str().map(str::to_owned));
                self.changed.extend(name.map(|name| (noticed.change.key.0.clone(), name)));
            }
            _ => {}
        }
    }

    fn ring(&mut self, _context: &mut Context, alarm: &Alarm) {
        if let Alarm::Again { kind: Kind::Deployment, key } = alarm {
            self.changed.insert(key.clone());
        }
    }

    fn work(&mut self, context: &mut Context) {
        for at in std::mem::take(&mut self.changed) {
            let Some(deployment) = context.view.get(Kind::Deployment, &at).cloned() else { continue };
            if fields::is_going(&deployment.value) {
                continue;
            }
            reconcile(context, &at, &deployment.value);
        }
    }
}

fn reconcile(context: &mut Context, at: &ObjectKey, deployment: &Value) {
    let mut sets = find_sets(context, deployment);
    let paused = deployment["spec"]["paused"] == true;
    let mut created = false;
    if sets.new.is_none() && !paused {
        sets.new = create_set(context, deployment, &sets);
        created = sets.new.is_some();
    }
    if let Some(new) = sets.new.clone() {
        set_revision(context, at, &new.value, &sets);
        rollout::roll(context, deployment, &new, &sets);
    } else if let Some(latest) = sets.old.last().cloned() {
        // Paused before its first rollout of this template: only the size follows.
        let wanted = deployment["spec"]["replicas"].as_i64().unwrap_or(1);
        rollout::scale(context, deployment, &latest.value, wanted);
    }
    forget_oldest(context, deployment, &sets);
    status::set(context, at, deployment, &find_fresh(context, &sets), created);
}

fn find_sets(context: &Context, deployment: &Value) -> Sets {
    let mut all: Vec<Arc<Stored>> =
        context.view.controlled(Kind::ReplicaSet, fields::uid(deployment)).into_iter().map(|(_, set)| set).collect();
    all.sort_by_key(|set| (revision(&set.value), fields::name(&set.value).to_owned()));
    let template = &deployment["spec"]["template"];
    let name = format!("{}-{}", fields::name(deployment), fields::hash(template));
    let is_new = |set: &Value| {
        if fields::name(set) == name {
            return true;
        }
        let mut theirs = set["spec"]["template"].clone();
        if let Some(labels) = theirs["metadata"]["labels"].as_object_mut() {
            labels.remove(HASH);
        }
        theirs["metadata"]["labels"] == template["metadata"]["labels"]
            && theirs["metadata"]["annotations"] == template["metadata"]["annotations"]
            && theirs["spec"] == template["spec"]
    };
    let new = all.iter().position(|set| is_new(&set.value) && !fields::is_going(&set.value));
    let new = new.map(|place| all.remove(place));
    Sets { new, old: all }
}

/// The same sets as they are after this round's writes.
fn find_fresh(context: &Context, sets: &Sets) -> Sets {
    let fresh = |set: &Arc<Stored>| {
        let at = (fields::namespace(&set.value).to_owned(), fields::name(&set.value).to_owned());
        context.fresh(Kind::ReplicaSet, &at)
    };
    Sets { new: sets.new.as_ref().and_then(fresh), old: sets.old.iter().filter_map(fresh).collect() }
}

fn revision(set: &Value) -> i64 {
    fields::annotation(set, REVISION).and_then(|revision| revision.parse().ok()).unwrap_or(0)
}

fn create_set(context: &mut Context, deployment: &Value, sets: &Sets) -> Option<Arc<Stored>> {
    let mut template = deployment["spec"]["template"].clone();
    let hash = fields::hash(&template);
    template["metadata"]["labels"][HASH] = hash.clone().into();
    let mut selector = deployment["spec"]["selector"].clone();
    selector["matchLabels"][HASH] = hash.clone().into();
    let replicas = rollout::first_size(deployment, sets);
    let set = json!({
        "metadata": {
            "name": format!("{}-{hash}", fields::name(deployment)),
            "namespace": fields::namespace(deployment),
            "labels": template["metadata"]["labels"],
            "annotations": rollout::annotations(deployment),
            "ownerReferences": [fields::controller_reference(Kind::Deployment, deployment)],
        },
        "spec": {
            "replicas": replicas,
            "minReadySeconds": deployment["spec"]["minReadySeconds"].as_i64().unwrap_or(0),
            "selector": selector,
            "template": template,
        },
        "status": { "replicas": 0 },
    });
    let created = context.create(Kind::ReplicaSet, set)?;
    if replicas > 0 {
        let message = format!("Scaled up replica set {} from 0 to {replicas}", fields::name(&created.value));
        say(context, deployment, &message);
    }
    Some(created)
}

/// The new set carries the highest revision, also when it is an old one that was rolled back to.
fn set_revision(context: &Context, at: &ObjectKey, new: &Value, sets: &Sets) {
    let last = sets.old.iter().map(|set| revision(&set.value)).max().unwrap_or(0);
    let wanted = if revision(new) > last { revision(new) } else { last + 1 };
    let key = (at.0.clone(), fields::name(new).to_owned());
    for (kind, key) in [(Kind::ReplicaSet, &key), (Kind::Deployment, at)] {
        context.update(kind, key, |value| value["metadata"]["annotations"][REVISION] = wanted.to_string().into());
    }
}

fn forget_oldest(context: &Context, deployment: &Value, sets: &Sets) {
    let kept = usize::try_from(deployment["spec"]["revisionHistoryLimit"].as_i64().unwrap_or(10)).unwrap_or(0);
    let surplus = sets.old.len().saturating_sub(kept);
    let empty = |set: &&Arc<Stored>| {
        set.value["spec"]["replicas"] == 0 && set.value["status"]["replicas"].as_i64().unwrap_or(0) == 0
    };
    for set in sets.old.iter().take(surplus).filter(empty) {
        let at = (fields::namespace(&set.value).to_owned(), fields::name(&set.value).to_owned());
        context.delete(Kind::ReplicaSet, &at, Propagation::Background);
    }
}

fn say(context: &mut Context, deployment: &Value, message: &str) {
    let saying = Saying { component: "deployment-controller", warning: false, reason: "ScalingReplicaSet", message };
    events::say(context, Kind::Deployment, deployment, &saying);
}
