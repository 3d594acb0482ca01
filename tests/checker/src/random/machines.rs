//! Nodes with pods on them, claims on their way, and nodes that are leaving.

use serde_json::{Value, json};

use super::Theme;
use super::draw::Draw;
use super::pods::LABELS;
use super::pools::TEAMS;
use super::types::{PRODUCT, ZONES};

pub fn machines(draw: &mut Draw, themes: &[Theme], types: &[Value]) -> Vec<Value> {
    let has = |theme| themes.contains(&theme);
    let mut objects = Vec::new();
    if has(Theme::Nodes) {
        for number in 0..draw.between(1, 4) {
            objects.extend(node(draw, themes, types, number, false));
        }
    }
    if has(Theme::Leaving) {
        objects.extend(node(draw, themes, types, 90, true));
    }
    if has(Theme::InFlight) {
        for number in 0..draw.between(1, 2) {
            objects.extend(in_flight(draw, themes, types, number));
        }
    }
    objects
}

/// Labels of a machine of this type.
fn labels(draw: &mut Draw, themes: &[Theme], kind: &Value) -> Value {
    let mut labels = json!({
        "karpenter.sh/nodepool": "pool-0", "karpenter.sh/capacity-type": draw.pick(&["spot", "on-demand"]),
        "node.kubernetes.io/instance-type": kind["name"], "kubernetes.io/arch": kind["architecture"], "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": draw.pick(ZONES),
    });
    if themes.contains(&Theme::Selectors) && draw.chance(50) {
        labels["team"] = json!(draw.pick(TEAMS));
    }
    if let Some(product) = kind["offerings"][0]["Requirements"][2]["values"][0].as_str() {
        labels[PRODUCT] = json!(product);
    }
    labels
}

fn node(draw: &mut Draw, themes: &[Theme], types: &[Value], number: usize, leaving: bool) -> Vec<Value> {
    let has = |theme| themes.contains(&theme);
    let name = format!("node-{number}");
    let kind = draw.pick(types).clone();
    let mut labels = labels(draw, themes, &kind);
    labels["kubernetes.io/hostname"] = json!(name);
    let provider = format!("kwok://{name}");
    let managed = leaving || draw.chance(60);
    let mut node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": {"providerID": provider},
        "status": {"capacity": kind["resources"], "allocatable": kind["resources"]},
    });
    if has(Theme::Taints) && draw.chance(40) {
        node["spec"]["taints"] = json!([{"key": "dedicated", "value": draw.pick(TEAMS), "effect": "NoSchedule"}]);
    }
    if !leaving && draw.chance(10) {
        node["spec"]["unschedulable"] = json!(true);
    }
    let mut objects = Vec::new();
    if managed {
        let mut claim = json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": format!("claim-of-{name}"), "labels": labels},
            "spec": {"requirements": [], "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}},
            "status": {"providerID": provider, "nodeName": name, "capacity": kind["resources"], "allocatable": kind["resources"]},
        });
        if leaving {
            claim["metadata"]["deletionTimestamp"] = json!("2026-03-01T00:00:00Z");
            claim["metadata"]["finalizers"] = json!(["karpenter.sh/termination"]);
        } else if draw.chance(25) {
            // Registered, and still without what its device plugin will report.
            claim["status"]["conditions"] = json!([
                {"type": "Launched", "status": "True", "reason": "Launched", "lastTransitionTime": "2026-03-01T00:00:00Z"},
                {"type": "Registered", "status": "True", "reason": "Registered", "lastTransitionTime": "2026-03-01T00:00:00Z"},
                {"type": "Initialized", "status": "Unknown", "reason": "NodeNotReady", "lastTransitionTime": "2026-03-01T00:00:00Z"}
            ]);
            claim["spec"]["startupTaints"] = json!([{"key": "starting", "effect": "NoSchedule"}]);
            let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
            node["spec"]["taints"] = json!([taints, vec![json!({"key": "starting", "effect": "NoSchedule"})]].concat());
            if node["status"]["allocatable"].get("nvidia.com/gpu").is_some() {
                node["status"]["allocatable"]["nvidia.com/gpu"] = json!("0");
                node["status"]["capacity"]["nvidia.com/gpu"] = json!("0");
            }
        }
        objects.push(claim);
    }
    if has(Theme::Volumes) && draw.chance(50) {
        let driver = json!({"name": "csi.example.com", "nodeID": name, "topologyKeys": [], "allocatable": {"count": draw.between(1, 2)}});
        objects.push(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": [driver]},
        }));
    }
    objects.push(node);
    let residents = if leaving { draw.between(1, 5) } else { draw.below(4) };
    objects.extend((0..residents).map(|resident| bound_pod(draw, themes, &name, resident)));
    objects
}

fn bound_pod(draw: &mut Draw, themes: &[Theme], node: &str, number: usize) -> Value {
    let name = format!("resident-of-{node}-{number}");
    let app = *draw.pick(LABELS);
    let mut container = json!({
        "name": "main", "image": "pause",
        "resources": {"requests": {"cpu": draw.pick(&["100m", "250m", "500m"]), "memory": draw.pick(&["64Mi", "256Mi"])}},
    });
    if themes.contains(&Theme::Ports) && draw.chance(30) {
        container["ports"] = json!([{"containerPort": 8080, "hostPort": 8080}]);
    }
    let mut spec = json!({"nodeName": node, "containers": [container], "tolerations": [{"operator": "Exists"}]});
    if themes.contains(&Theme::AntiAffinity) && draw.chance(25) {
        let key = *draw.pick(&["kubernetes.io/hostname", "topology.kubernetes.io/zone"]);
        let term = json!({"topologyKey": key, "labelSelector": {"matchLabels": {"app": draw.pick(LABELS)}}});
        spec["affinity"] = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}});
    }
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default", "labels": {"app": app}},
        "spec": spec, "status": {"phase": "Running"},
    })
}

fn in_flight(draw: &mut Draw, themes: &[Theme], types: &[Value], number: usize) -> Vec<Value> {
    let name = format!("coming-{number}");
    let kind = draw.pick(types).clone();
    let labels = labels(draw, themes, &kind);
    vec![json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": name, "labels": labels},
        "spec": {"requirements": [], "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}},
        "status": {"providerID": format!("kwok://{name}"), "capacity": kind["resources"], "allocatable": kind["resources"]},
    })]
}
