//! What the server fills in: the defaults of the built-in kinds (on every write), their first status, and what the
//! admission plugins of a default server add on creation.

mod admission;
mod controllers;
mod pod;

pub use admission::{PriorityError, admit_on_create, admit_pod, admit_service_account};
pub use controllers::generate_job_selector;
pub use pod::{default_pod_template, qos_class};

use crate::resources::kinds::Resource;
use crate::resources::look::{at, default_text, default_to, each_item, has, items, object_at, text};
use serde_json::{Value, json};

/// Fills the defaults of a built-in kind in place. Custom resources get theirs in `decode`.
pub fn apply(resource: &Resource, object: &mut Value) {
    if resource.custom.is_some() {
        return;
    }
    match resource.kind.as_str() {
        "Pod" => pod::default_pod(object),
        "Deployment" => controllers::deployment(object),
        "StatefulSet" => controllers::stateful_set(object),
        "DaemonSet" => {
            controllers::daemon_set(object);
            default_text(object_at(object_at(object, "metadata"), "annotations"), TEMPLATE_GENERATION, "1");
        }
        "ReplicaSet" => controllers::replica_set(object),
        "Job" => controllers::job(object),
        "Service" => service(object),
        "PersistentVolumeClaim" => default_to(object_at(object, "spec"), "volumeMode", "Filesystem"),
        "PersistentVolume" => persistent_volume(object),
        "StorageClass" => {
            default_text(object, "reclaimPolicy", "Delete");
            default_text(object, "volumeBindingMode", "Immediate");
        }
        "Secret" => secret(object),
        "Namespace" => namespace(object),
        "Node" => node(object),
        // Behind a feature gate that is off by default.
        "Lease" => {
            if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
                spec.retain(|field, _| !["strategy", "preferredHolder"].contains(&field.as_str()));
            }
        }
        "PriorityClass" => default_text(object, "preemptionPolicy", "PreemptLowerPriority"),
        "CustomResourceDefinition" => crate::resources::crd::default_definition(object),
        _ => {}
    }
}

/// The status a new object starts with, whatever the client sent. None where the client's own stays: nodes, and kinds
/// that have none.
pub fn initial_status(resource: &Resource, object: &Value, now: &str) -> Option<Value> {
    if resource.subresource("status").is_none() || resource.kind == "Node" {
        return None;
    }
    Some(match resource.kind.as_str() {
        "Pod" => {
            let mut status = json!({"phase": "Pending", "qosClass": qos_class(object)});
            if !items(object, &["spec", "schedulingGates"]).is_empty() {
                let message = "Scheduling is blocked due to non-empty scheduling gates";
                status["conditions"] = json!([{"type": "PodScheduled", "status": "False", "lastProbeTime": null,
                    "lastTransitionTime": now, "reason": "SchedulingGated", "message": message}]);
            }
            status
        }
        "Namespace" => json!({"phase": "Active"}),
        "PersistentVolume" => json!({"phase": "Pending", "lastPhaseTransitionTime": now}),
        "PersistentVolumeClaim" => json!({"phase": "Pending"}),
        "Service" => json!({"loadBalancer": {}}),
        "ReplicaSet" => json!({"replicas": 0}),
        "StatefulSet" => json!({"replicas": 0, "availableReplicas": 0}),
        "DaemonSet" => json!({"currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0,
            "numberReady": 0}),
        "PodDisruptionBudget" => json!({"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0,
            "expectedPods": 0}),
        "VolumeAttachment" => json!({"attached": false}),
        "Deployment" | "Job" => json!({}),
        _ => Value::Null,
    })
}

fn service(object: &mut Value) {
    let spec = object_at(object, "spec");
    default_text(spec, "sessionAffinity", "None");
    default_text(spec, "type", "ClusterIP");
    if text(spec, &["sessionAffinity"]) == "ClientIP" {
        default_to(spec, "sessionAffinityConfig", json!({"clientIP": {"timeoutSeconds": 10800}}));
    }
    each_item(spec, "ports", &mut |port| {
        default_text(port, "protocol", "TCP");
        let number = at(port, &["port"]).clone();
        if !number.is_null() {
            default_to(port, "targetPort", number);
        }
    });
    let kind = text(spec, &["type"]).to_owned();
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        default_text(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        default_to(spec, "allocateLoadBalancerNodePorts", true);
    }
    if kind != "ExternalName" {
        default_text(spec, "internalTrafficPolicy", "Cluster");
    }
}

fn persistent_volume(object: &mut Value) {
    let spec = object_at(object, "spec");
    default_text(spec, "persistentVolumeReclaimPolicy", "Retain");
    default_to(spec, "volumeMode", "Filesystem");
    if has(spec, &["hostPath"]) {
        default_to(&mut spec["hostPath"], "type", "");
    }
}

/// `stringData` is only for writing: it ends up in `data`, encoded.
fn secret(object: &mut Value) {
    default_text(object, "type", "Opaque");
    let Some(Value::Object(plain)) = object.as_object_mut().and_then(|map| map.remove("stringData")) else { return };
    let data = object_at(object, "data");
    for (key, value) in plain {
        data[&key] = json!(crate::resources::discovery::base64(value.as_str().unwrap_or_default().as_bytes()));
    }
}

fn namespace(object: &mut Value) {
    let name = text(object, &["metadata", "name"]).to_owned();
    if !name.is_empty() {
        object_at(object_at(object, "metadata"), "labels")["kubernetes.io/metadata.name"] = json!(name);
    }
}

const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// What a new object gets that nobody manages: it is no default of a field, but the server's own doing.
pub fn settle_new(kind: &str, object: &mut Value) {
    if kind == "Service" && text(object, &["spec", "type"]) != "ExternalName" {
        let spec = object_at(object, "spec");
        default_to(spec, "ipFamilies", json!(["IPv4"]));
        default_to(spec, "ipFamilyPolicy", "SingleStack");
        let address = at(spec, &["clusterIP"]).clone();
        if !text(spec, &["clusterIP"]).is_empty() {
            default_to(spec, "clusterIPs", json!([address]));
        }
    }
    if kind == "Namespace" {
        namespace(object);
        let spec = object_at(object, "spec");
        if items(spec, &["finalizers"]).iter().all(|one| one != "kubernetes") {
            let mut finalizers = items(spec, &["finalizers"]).to_vec();
            finalizers.push(json!("kubernetes"));
            spec["finalizers"] = Value::Array(finalizers);
        }
    }
}

/// What an update brings with it.
pub fn carry_on(kind: &str, old: &Value, new: &mut Value, now: &str) {
    match kind {
        "Pod" => admission::tolerate_lost_nodes(object_at(new, "spec")),
        // The finalizers of a namespace have a path of their own.
        "Namespace" => {
            let before = at(old, &["spec", "finalizers"]).clone();
            if !before.is_null() {
                object_at(new, "spec")["finalizers"] = before;
            }
        }
        "DaemonSet" => {
            let before = text(old, &["metadata", "annotations", TEMPLATE_GENERATION]).parse::<i64>().unwrap_or(1);
            let changed = at(old, &["spec", "template"]) != at(new, &["spec", "template"]);
            let generation = before + i64::from(changed);
            object_at(object_at(new, "metadata"), "annotations")[TEMPLATE_GENERATION] = json!(generation.to_string());
        }
        "PersistentVolume" if at(old, &["status", "phase"]) != at(new, &["status", "phase"]) => {
            object_at(new, "status")["lastPhaseTransitionTime"] = json!(now);
        }
        _ => {}
    }
}

fn node(object: &mut Value) {
    let capacity = at(object, &["status", "capacity"]).clone();
    if !capacity.is_null() {
        default_to(object_at(object, "status"), "allocatable", capacity);
    }
    object_at(object, "spec");
}

#[cfg(test)]
#[path = "defaults_tests.rs"]
mod tests;
