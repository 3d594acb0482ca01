//! Namespaces: the ones every cluster has, what each of them holds from the start, and emptying one that goes.

use serde_json::json;
use std::collections::BTreeSet;

use super::{Controller, context::Context, fields, kinds::Kind, view::Noticed};
use crate::api::{
    objects::{Deletion, key},
    store::ObjectKey,
};

/// The priority classes that an API server makes when it starts.
const SYSTEM_CLASSES: [(&str, i64, &str); 2] = [
    ("system-node-critical", 2_000_001_000, "not be moved from their current node"),
    ("system-cluster-critical", 2_000_000_000, "run in the cluster, but can be moved to another node if necessary"),
];

const FIRST: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

#[derive(Debug, Default)]
pub(super) struct Namespaces {
    /// Namespaces to furnish, or to empty.
    waiting: BTreeSet<String>,
}

pub(super) fn create_the_first(context: &mut Context) {
    for name in FIRST {
        let namespace = json!({
            "metadata": { "name": name, "labels": { "kubernetes.io/metadata.name": name } },
            "spec": { "finalizers": ["kubernetes"] },
            "status": { "phase": "Active" },
        });
        context.create(Kind::Namespace, namespace);
    }
    for (name, value, what) in SYSTEM_CLASSES {
        let class = json!({
            "metadata": { "name": name, "generation": 1, "managedFields": [{ "manager": "kube-apiserver", "operation": "Update",
                "apiVersion": "scheduling.k8s.io/v1", "time": context.objects.now(), "fieldsType": "FieldsV1",
                "fieldsV1": { "f:description": {}, "f:preemptionPolicy": {}, "f:value": {} } }] },
            "value": value,
            "description": format!("Used for system critical pods that must {what}."),
            "preemptionPolicy": "PreemptLowerPriority",
        });
        context.create(Kind::PriorityClass, class);
    }
}

impl Controller for Namespaces {
    fn notice(&mut self, context: &Context, noticed: &Noticed) {
        let change = &noticed.change;
        match noticed.kind {
            Some(Kind::Namespace) => _ = self.waiting.insert(change.key.1.clone()),
            _ if change.key.0.is_empty() => {}
            // Leases are renewed without end and never the last thing a namespace waits for.
            Some(Kind::Lease) if !change.deleted => {}
            _ => {
                let namespace = context.view.get(Kind::Namespace, &key("", &change.key.0));
                if namespace.is_none_or(|stored| fields::is_going(&stored.value)) {
                    self.waiting.insert(change.key.0.clone());
                }
            }
        }
    }

    fn work(&mut self, context: &mut Context) {
        for name in std::mem::take(&mut self.waiting) {
            let at = key("", &name);
            let going = context.view.get(Kind::Namespace, &at).map(|stored| fields::is_going(&stored.value));
            match going {
                Some(false) => furnish(context, &name),
                // Objects outlive their namespace only where it was removed without waiting for its finalizer.
                Some(true) | None => empty(context, &at),
            }
        }
    }
}

/// What a real cluster puts into every namespace.
fn furnish(context: &mut Context, namespace: &str) {
    if !context.options.namespace_furniture {
        return;
    }
    if context.view.get(Kind::ServiceAccount, &key(namespace, "default")).is_none() {
        context.create(Kind::ServiceAccount, json!({ "metadata": { "name": "default", "namespace": namespace } }));
    }
    if context.view.get(Kind::ConfigMap, &key(namespace, "kube-root-ca.crt")).is_none() {
        let why = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";
        let map = json!({
            "metadata": { "name": "kube-root-ca.crt", "namespace": namespace, "annotations": { "kubernetes.io/description": why } },
            "data": { "ca.crt": "" },
        });
        context.create(Kind::ConfigMap, map);
    }
}

fn empty(context: &mut Context, namespace: &ObjectKey) {
    let contents = context.view.contents(&namespace.1);
    for place in &contents {
        let gone_already = context.view.at(place).is_none_or(|stored| fields::is_going(&stored.value));
        if let (false, Some(resource)) = (gone_already, context.view.resource_at(place)) {
            _ = context.objects.delete(resource, &place.key.0, &place.key.1, &Deletion::default());
        }
    }
    if contents.iter().all(|place| context.is_gone(place)) {
        context.update(Kind::Namespace, namespace, |value| {
            if let Some(finalizers) = value["spec"]["finalizers"].as_array_mut() {
                finalizers.retain(|finalizer| finalizer != "kubernetes");
            }
        });
    }
}
