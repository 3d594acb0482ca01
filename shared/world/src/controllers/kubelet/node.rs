//! The Node as a kubelet registers and reports it.

use serde_json::{Map, Value, json};

use super::{Running, create_lease};
use crate::{
    api::objects::key,
    controllers::{
        context::Context,
        events::{self, Saying},
        fields::{self, Condition},
        kinds::Kind,
    },
};

/// Registers the Node, or finds it again; either way it is not ready yet.
pub(super) fn register(context: &mut Context, running: &Running) {
    let machine = &running.machine;
    let at = key("", &machine.node);
    if context.fresh(Kind::Node, &at).is_none() {
        let mut taints: Vec<Value> = Vec::new();
        for (taint, value, effect) in &machine.taints {
            let mut one = json!({ "key": taint, "effect": effect });
            if !value.is_empty() {
                one["value"] = value.clone().into();
            }
            taints.push(one);
        }
        // What admission adds to every new Node, until the node controller has seen it ready.
        taints.push(json!({ "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule" }));
        let mut annotations = json!({ "volumes.kubernetes.io/controller-managed-attach-detach": "true" });
        for (name, value) in &machine.annotations {
            annotations[name] = value.clone().into();
        }
        let subnet = format!("10.{}.{}.0/24", 100 + running.number / 256, running.number % 256);
        let node = json!({
            "metadata": { "name": machine.node, "labels": labels(running), "annotations": annotations },
            "spec": { "providerID": machine.provider_id, "taints": taints, "podCIDR": subnet, "podCIDRs": [subnet] },
        });
        if let Some(stored) = context.create(Kind::Node, node) {
            let message = format!("Node {} event: Registered Node {} in Controller", machine.node, machine.node);
            let saying =
                Saying { component: "node-controller", warning: false, reason: "RegisteredNode", message: &message };
            events::say(context, Kind::Node, &stored.value, &saying);
        }
    }
    report(context, running);
    if let Some(node) = context.fresh(Kind::Node, &at) {
        create_lease(context, &node.value);
    }
}

fn labels(running: &Running) -> Value {
    let machine = &running.machine;
    let mut labels = Map::new();
    for (name, value) in [
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", "amd64"),
        ("beta.kubernetes.io/os", "linux"),
        ("beta.kubernetes.io/arch", "amd64"),
    ] {
        labels.insert(name.to_owned(), value.into());
    }
    labels.insert("kubernetes.io/hostname".to_owned(), machine.node.clone().into());
    labels.extend(machine.labels.iter().map(|(name, value)| (name.clone(), value.clone().into())));
    Value::Object(labels)
}

/// Writes the status. A Node that was removed stays removed: only a kubelet that starts registers.
pub(super) fn report(context: &mut Context, running: &Running) {
    let now = context.stamp();
    let version = context.options.kubelet_version.clone();
    context.update(Kind::Node, &key("", &running.machine.node), |node| {
        set_resources(node, running);
        set_conditions(node, running, &now);
        set_information(node, running, &version);
    });
}

fn set_resources(node: &mut Value, running: &Running) {
    let mut amounts: Map<String, Value> =
        running.machine.capacity.iter().map(|(name, amount)| (name.clone(), amount.clone().into())).collect();
    amounts.entry("pods").or_insert_with(|| "110".into());
    for name in ["ephemeral-storage", "hugepages-1Gi", "hugepages-2Mi"] {
        amounts.entry(name).or_insert_with(|| if name == "ephemeral-storage" { "100Gi" } else { "0" }.into());
    }
    // The device plugin registers late, and until then the kubelet has never heard of the resource.
    if let (Some((name, count)), true) = (&running.machine.accelerator, running.accelerated) {
        amounts.insert(name.clone(), count.to_string().into());
    }
    // What others put there (extended resources by patch) is theirs.
    for field in ["capacity", "allocatable"] {
        let mut all = node["status"][field].as_object().cloned().unwrap_or_default();
        if let (Some((name, _)), false) = (&running.machine.accelerator, running.accelerated) {
            all.remove(name);
        }
        all.extend(amounts.clone());
        node["status"][field] = Value::Object(all);
    }
}

fn set_conditions(node: &mut Value, running: &Running, now: &str) {
    let healthy = [
        ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ];
    for (kind, reason, message) in healthy {
        let condition = Condition { kind, status: "False", reason, message };
        fields::set_condition(node, &condition, now, &["lastHeartbeatTime"]);
    }
    let (status, reason, message) = if running.ready {
        ("True", "KubeletReady", "kubelet is posting ready status")
    } else {
        let network = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized";
        ("False", "KubeletNotReady", network)
    };
    let condition = Condition { kind: "Ready", status, reason, message };
    fields::set_condition(node, &condition, now, &["lastHeartbeatTime"]);
}

fn set_information(node: &mut Value, running: &Running, version: &str) {
    let machine = &running.machine;
    let architecture = machine.labels.get("kubernetes.io/arch").map_or("amd64", String::as_str);
    node["status"]["addresses"] = json!([
        { "type": "InternalIP", "address": address(running) },
        { "type": "Hostname", "address": machine.node },
    ]);
    node["status"]["daemonEndpoints"] = json!({ "kubeletEndpoint": { "Port": 10250 } });
    node["status"]["nodeInfo"] = json!({
        "architecture": architecture,
        "bootID": machine.boot_id,
        "containerRuntimeVersion": "containerd://2.1.4",
        "kernelVersion": "6.8.0-90-generic",
        "kubeProxyVersion": "",
        "kubeletVersion": version,
        "machineID": fields::hash(&machine.node.clone().into()),
        "operatingSystem": "linux",
        "osImage": "Ubuntu 24.04.3 LTS",
        "systemUUID": fields::hash(&machine.provider_id.clone().into()),
    });
}

pub(super) fn address(running: &Running) -> String {
    format!("10.{}.{}.{}", running.number / 62_500, running.number / 250 % 250, 4 + running.number % 250)
}

pub(super) fn say_ready(context: &mut Context, node: &str) {
    let Some(stored) = context.fresh(Kind::Node, &key("", node)) else { return };
    if fields::condition_is(&stored.value, "Ready", "True") {
        let message = format!("Node {node} status is now: NodeReady");
        let saying = Saying { component: "kubelet", warning: false, reason: "NodeReady", message: &message };
        events::say(context, Kind::Node, &stored.value, &saying);
    }
}
