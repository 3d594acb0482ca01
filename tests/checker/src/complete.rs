//! Adds what the API server and the usual controllers would have added to the files. What a file says itself stands.

use k8s_openapi::api::core::v1::{
    Node, PersistentVolumeClaim, Pod, PodAffinityTerm, PodSpec, ResourceRequirements, Taint,
};
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelectorRequirement;

use crate::labels::Labels;

/// Requests from limits, protocols and host ports, label keys of affinities folded into their selectors.
pub fn pod(pod: &mut Pod) {
    pod.metadata.namespace.get_or_insert_with(|| "default".to_owned());
    let labels = pod.metadata.labels.clone().unwrap_or_default();
    if let Some(spec) = &mut pod.spec {
        pod_spec(spec);
        fold_label_keys(spec, &labels);
    }
}

/// The part of it that templates of DaemonSets need too.
pub fn pod_spec(spec: &mut PodSpec) {
    let host_network = spec.host_network == Some(true);
    for container in spec.init_containers.iter_mut().flatten().chain(&mut spec.containers) {
        if let Some(resources) = &mut container.resources {
            request_limits(resources);
        }
        for port in container.ports.iter_mut().flatten() {
            port.protocol.get_or_insert_with(|| "TCP".to_owned());
            if host_network && port.host_port.unwrap_or(0) == 0 {
                port.host_port = Some(port.container_port);
            }
        }
    }
    let asked: Vec<String> = spec
        .init_containers
        .iter()
        .flatten()
        .chain(&spec.containers)
        .filter_map(|container| container.resources.as_ref()?.requests.as_ref())
        .flat_map(|requests| requests.keys().cloned())
        .collect();
    if let Some(resources) = &mut spec.resources {
        // A limit of the whole pod says nothing about what its containers ask for themselves.
        let own = resources.requests.clone().unwrap_or_default();
        request_limits(resources);
        if let Some(requests) = &mut resources.requests {
            requests.retain(|name, _| own.contains_key(name) || !asked.contains(name));
        }
    }
}

/// What a RuntimeClass takes for itself, and where it can be found: admission writes it into every pod that names the class.
pub fn run_by(spec: &mut PodSpec, classes: &[RuntimeClass]) {
    let named = |class: &&RuntimeClass| class.metadata.name.is_some() && class.metadata.name == spec.runtime_class_name;
    let Some(class) = classes.iter().find(named) else { return };
    if spec.overhead.is_none() {
        spec.overhead = class.overhead.as_ref().and_then(|overhead| overhead.pod_fixed.clone());
    }
    let Some(scheduling) = &class.scheduling else { return };
    for (key, value) in scheduling.node_selector.iter().flatten() {
        spec.node_selector.get_or_insert_default().entry(key.clone()).or_insert_with(|| value.clone());
    }
    spec.tolerations.get_or_insert_default().extend(scheduling.tolerations.iter().flatten().cloned());
}

fn request_limits(resources: &mut ResourceRequirements) {
    for (name, quantity) in resources.limits.iter().flatten() {
        let requests = resources.requests.get_or_insert_default();
        requests.entry(name.clone()).or_insert_with(|| quantity.clone());
    }
}

fn fold_label_keys(spec: &mut PodSpec, labels: &Labels) {
    let Some(affinity) = &mut spec.affinity else { return };
    let mut terms: Vec<&mut PodAffinityTerm> = Vec::new();
    if let Some(affinity) = &mut affinity.pod_affinity {
        terms.extend(affinity.required_during_scheduling_ignored_during_execution.iter_mut().flatten());
    }
    if let Some(affinity) = &mut affinity.pod_anti_affinity {
        terms.extend(affinity.required_during_scheduling_ignored_during_execution.iter_mut().flatten());
    }
    for term in terms {
        let Some(selector) = &mut term.label_selector else { continue };
        let same = term.match_label_keys.iter().flatten().map(|key| (key, "In"));
        let other = term.mismatch_label_keys.iter().flatten().map(|key| (key, "NotIn"));
        for (key, operator) in same.chain(other) {
            let Some(value) = labels.get(key) else { continue };
            selector.match_expressions.get_or_insert_default().push(LabelSelectorRequirement {
                key: key.clone(),
                operator: operator.to_owned(),
                values: Some(vec![value.clone()]),
            });
        }
    }
}

/// The default storage class for claims that name none.
pub fn volume_claims(claims: &mut [PersistentVolumeClaim], classes: &[StorageClass]) {
    let is_default = |class: &&StorageClass| {
        let notes = class.metadata.annotations.as_ref();
        notes.and_then(|notes| notes.get("storageclass.kubernetes.io/is-default-class")).is_some_and(|it| it == "true")
    };
    let fallback = classes.iter().rfind(is_default).and_then(|class| class.metadata.name.clone());
    for claim in claims {
        claim.metadata.namespace.get_or_insert_with(|| "default".to_owned());
        let spec = claim.spec.get_or_insert_default();
        if spec.storage_class_name.is_none() {
            spec.storage_class_name.clone_from(&fallback);
        }
    }
}

/// Capacity from allocatable and the other way round, and the taints that show a node's state.
pub fn node(node: &mut Node) {
    let status = node.status.get_or_insert_default();
    if status.capacity.is_none() {
        status.capacity.clone_from(&status.allocatable);
    }
    if status.allocatable.is_none() {
        status.allocatable.clone_from(&status.capacity);
    }
    let ready = status.conditions.iter().flatten().find(|one| one.type_ == "Ready").map(|one| one.status.clone());
    let spec = node.spec.get_or_insert_default();
    if spec.unschedulable == Some(true) {
        taint(spec.taints.get_or_insert_default(), "node.kubernetes.io/unschedulable", &["NoSchedule"]);
    }
    let state = match ready.as_deref() {
        Some("False") => "node.kubernetes.io/not-ready",
        Some("Unknown") => "node.kubernetes.io/unreachable",
        _ => return,
    };
    taint(spec.taints.get_or_insert_default(), state, &["NoSchedule", "NoExecute"]);
}

fn taint(taints: &mut Vec<Taint>, key: &str, effects: &[&str]) {
    for effect in effects {
        if !taints.iter().any(|one| one.key == key && one.effect == *effect) {
            taints.push(Taint { key: key.to_owned(), effect: (*effect).to_owned(), ..Taint::default() });
        }
    }
}
