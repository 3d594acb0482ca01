//! Volumes: claims get volumes, waiting ones where their pod goes, and volumes follow their claims' fate.

use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc};

use super::{
    Controller,
    context::Context,
    fields,
    kinds::Kind,
    quantity,
    view::{Noticed, View},
};
use crate::api::{
    objects::{Propagation, key},
    store::{ObjectKey, Stored},
};

pub(super) const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";
const ZONE: &str = "topology.kubernetes.io/zone";
const SELECTED: &str = "volume.kubernetes.io/selected-node";

#[derive(Debug, Default)]
pub(super) struct Volumes {
    claims: BTreeSet<ObjectKey>,
    volumes: BTreeSet<ObjectKey>,
    /// Pods that bring claims of their own.
    pods: BTreeSet<ObjectKey>,
}

impl Controller for Volumes {
    fn notice(&mut self, context: &Context, noticed: &Noticed) {
        let change = &noticed.change;
        match noticed.kind {
            Some(Kind::PersistentVolumeClaim) => {
                self.claims.insert(change.key.clone());
                if let Some(volume) = change.after.value["spec"]["volumeName"].as_str() {
                    self.volumes.insert(key("", volume));
                }
            }
            Some(Kind::PersistentVolume | Kind::StorageClass) => {
                self.volumes.insert(change.key.clone());
                let unbound =
                    context.view.all(Kind::PersistentVolumeClaim).filter(|(_, claim)| !is_bound(&claim.value));
                self.claims.extend(unbound.map(|(key, _)| key.clone()));
            }
            Some(Kind::Pod) if change.before.is_none() && has_own_claims(&change.after.value) => {
                self.pods.insert(change.key.clone());
            }
            _ => {}
        }
    }

    fn work(&mut self, context: &mut Context) {
        for at in std::mem::take(&mut self.pods) {
            if let Some(pod) = context.view.get(Kind::Pod, &at).cloned() {
                create_own_claims(context, &pod.value);
            }
        }
        for at in std::mem::take(&mut self.claims) {
            let Some(claim) = context.fresh(Kind::PersistentVolumeClaim, &at) else { continue };
            if !is_bound(&claim.value) && !fields::is_going(&claim.value) {
                serve(context, &at, &claim.value);
            }
        }
        for at in std::mem::take(&mut self.volumes) {
            follow_claim(context, &at);
        }
    }
}

fn has_own_claims(pod: &Value) -> bool {
    fields::list(&pod["spec"]["volumes"]).iter().any(|volume| volume["ephemeral"].is_object())
}

/// Claims that live and die with a pod.
fn create_own_claims(context: &mut Context, pod: &Value) {
    for volume in fields::list(&pod["spec"]["volumes"]).iter().filter(|volume| volume["ephemeral"].is_object()) {
        let template = &volume["ephemeral"]["volumeClaimTemplate"];
        let name = format!("{}-{}", fields::name(pod), volume["name"].as_str().unwrap_or_default());
        let claim = json!({
            "metadata": {
                "name": name,
                "namespace": fields::namespace(pod),
                "labels": template["metadata"]["labels"].as_object().cloned().unwrap_or_default(),
                "ownerReferences": [fields::controller_reference(Kind::Pod, pod)],
            },
            "spec": template["spec"],
            "status": { "phase": "Pending" },
        });
        context.create(Kind::PersistentVolumeClaim, claim);
    }
}

fn is_bound(claim: &Value) -> bool {
    claim["status"]["phase"] == "Bound"
}

/// The class a claim names, or the default one where it names none.
pub(super) fn class_of<'a>(view: &'a View, claim: &Value) -> Option<&'a Arc<Stored>> {
    match claim["spec"]["storageClassName"].as_str() {
        Some("") => None,
        Some(name) => view.get(Kind::StorageClass, &key("", name)),
        None => {
            let default = |class: &Value| {
                fields::annotation(class, "storageclass.kubernetes.io/is-default-class") == Some("true")
            };
            view.all(Kind::StorageClass).map(|(_, class)| class).find(|class| default(&class.value))
        }
    }
}

/// Free volumes that would do for a claim, the smallest first.
pub(super) fn candidates<'a>(view: &'a View, claim: &Value) -> Vec<&'a Arc<Stored>> {
    let wanted = quantity::amount("storage", &claim["spec"]["resources"]["requests"]["storage"]).unwrap_or(0);
    let class = class_of(view, claim)
        .map(|class| fields::name(&class.value))
        .or(claim["spec"]["storageClassName"].as_str())
        .unwrap_or("");
    let size = |volume: &Value| quantity::amount("storage", &volume["spec"]["capacity"]["storage"]).unwrap_or(0);
    let suits = |volume: &Value| {
        let free = volume["spec"]["claimRef"].is_null();
        let reserved = volume["spec"]["claimRef"]["namespace"] == claim["metadata"]["namespace"]
            && volume["spec"]["claimRef"]["name"] == claim["metadata"]["name"];
        let modes = fields::list(&claim["spec"]["accessModes"]);
        let modes = modes.iter().all(|mode| fields::list(&volume["spec"]["accessModes"]).contains(mode));
        let same_class = volume["spec"]["storageClassName"].as_str().unwrap_or("") == class;
        (free || reserved) && modes && same_class && size(volume) >= wanted && !fields::is_going(volume)
    };
    let mut found: Vec<&Arc<Stored>> =
        view.all(Kind::PersistentVolume).map(|(_, one)| one).filter(|one| suits(&one.value)).collect();
    found.sort_by_key(|volume| size(&volume.value));
    found
}

/// Immediate binding: an existing volume, or a new one where a class makes them.
fn serve(context: &mut Context, at: &ObjectKey, claim: &Value) {
    let class = class_of(&context.view, claim).cloned();
    let waits = class.as_ref().is_some_and(|class| class.value["volumeBindingMode"] == "WaitForFirstConsumer");
    if let Some(volume) = claim["spec"]["volumeName"].as_str().filter(|volume| !volume.is_empty()) {
        let volume = key("", volume);
        if context.fresh(Kind::PersistentVolume, &volume).is_some() {
            tie(context, at, claim, &volume);
        }
        return;
    }
    let selected = fields::annotation(claim, SELECTED).map(str::to_owned);
    if waits && selected.is_none() {
        set_phase(context, at, "Pending");
        return;
    }
    serve_on(context, at, claim, selected.as_deref());
}

/// Binds or makes a volume, on a node where one is given.
fn serve_on(context: &mut Context, at: &ObjectKey, claim: &Value, node: Option<&str>) {
    let node = node.and_then(|node| context.view.get(Kind::Node, &key("", node)).cloned());
    let reaches = |volume: &Value| {
        let terms = super::scheduler::node_selector(&volume["spec"]["nodeAffinity"]["required"]);
        let (Some(terms), Some(node)) = (terms, &node) else { return true };
        let labels = super::scheduler::label_map(&node.value["metadata"]["labels"]);
        terms.iter().any(|term| term.matches(fields::name(&node.value), &labels))
    };
    let existing = candidates(&context.view, claim).into_iter().find(|volume| reaches(&volume.value));
    if let Some(volume) = existing.map(|volume| key("", fields::name(&volume.value))) {
        tie(context, at, claim, &volume);
        return;
    }
    let class = class_of(&context.view, claim).cloned();
    let Some(class) = class.filter(|class| class.value["provisioner"] != NO_PROVISIONER) else {
        set_phase(context, at, "Pending");
        return;
    };
    let name = format!("pvc-{}", fields::uid(claim));
    let zone = node.as_ref().and_then(|node| fields::label(&node.value, ZONE).map(str::to_owned));
    let mut volume = json!({
        "metadata": { "name": name, "annotations": { "pv.kubernetes.io/provisioned-by": class.value["provisioner"] } },
        "spec": {
            "capacity": { "storage": claim["spec"]["resources"]["requests"]["storage"] },
            "accessModes": claim["spec"]["accessModes"],
            "storageClassName": fields::name(&class.value),
            "persistentVolumeReclaimPolicy": class.value["reclaimPolicy"].as_str().unwrap_or("Delete"),
            "volumeMode": claim["spec"]["volumeMode"].as_str().unwrap_or("Filesystem"),
            "csi": { "driver": class.value["provisioner"], "volumeHandle": name },
        },
        "status": { "phase": "Available" },
    });
    if let Some(zone) = zone {
        let here = json!([{ "key": ZONE, "operator": "In", "values": [zone] }]);
        volume["spec"]["nodeAffinity"] = json!({ "required": { "nodeSelectorTerms": [{ "matchExpressions": here }] } });
    }
    context.create(Kind::PersistentVolume, volume);
    tie(context, at, claim, &key("", &name));
}

/// Volume and claim name each other, and both are bound.
fn tie(context: &mut Context, at: &ObjectKey, claim: &Value, volume: &ObjectKey) {
    let mut capacity = Value::Null;
    context.update(Kind::PersistentVolume, volume, |volume| {
        volume["spec"]["claimRef"] = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": at.0, "name": at.1, "uid": fields::uid(claim),
        });
        volume["status"]["phase"] = "Bound".into();
        capacity = volume["spec"]["capacity"].clone();
    });
    context.update(Kind::PersistentVolumeClaim, at, |claim| {
        claim["spec"]["volumeName"] = volume.1.clone().into();
        claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = "yes".into();
        claim["status"]["phase"] = "Bound".into();
        claim["status"]["accessModes"] = claim["spec"]["accessModes"].clone();
        claim["status"]["capacity"] = capacity;
    });
}

fn set_phase(context: &Context, at: &ObjectKey, phase: &str) {
    context.update(Kind::PersistentVolumeClaim, at, |claim| claim["status"]["phase"] = phase.into());
}

/// The scheduler has chosen a node: waiting claims get their volumes there.
pub(super) fn bind_for(context: &mut Context, namespace: &str, claims: &[String], node: &str) {
    for name in claims {
        let at = key(namespace, name);
        let Some(claim) = context.fresh(Kind::PersistentVolumeClaim, &at) else { continue };
        if !is_bound(&claim.value) {
            context.update(Kind::PersistentVolumeClaim, &at, |claim| {
                claim["metadata"]["annotations"][SELECTED] = node.into();
            });
            serve_on(context, &at, &claim.value, Some(node));
        }
    }
}

/// A volume whose claim is gone is deleted or kept, as it says.
fn follow_claim(context: &mut Context, at: &ObjectKey) {
    let Some(volume) = context.fresh(Kind::PersistentVolume, at) else { return };
    let claim = &volume.value["spec"]["claimRef"];
    let Some(uid) = claim["uid"].as_str() else {
        if volume.value["status"]["phase"].is_null() {
            context.update(Kind::PersistentVolume, at, |volume| volume["status"]["phase"] = "Available".into());
        }
        return;
    };
    let text = |field: &str| claim[field].as_str().unwrap_or_default();
    let there = context.fresh(Kind::PersistentVolumeClaim, &key(text("namespace"), text("name")));
    if there.is_some_and(|there| fields::uid(&there.value) == uid) {
        return;
    }
    context.update(Kind::PersistentVolume, at, |volume| volume["status"]["phase"] = "Released".into());
    if volume.value["spec"]["persistentVolumeReclaimPolicy"] == "Delete" {
        context.delete(Kind::PersistentVolume, at, Propagation::Background);
    }
}
