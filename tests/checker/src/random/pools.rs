//! One to three pools, and DaemonSets.

use serde_json::{Value, json};

use super::Theme;
use super::draw::Draw;
use super::types::ZONES;

pub const TEAMS: &[&str] = &["red", "blue"];

pub fn pools(draw: &mut Draw, themes: &[Theme]) -> Vec<Value> {
    let has = |theme| themes.contains(&theme);
    let count = if has(Theme::Weights) { draw.between(2, 3) } else { draw.between(1, 2) };
    let mut objects: Vec<Value> = (0..count).map(|number| pool(draw, themes, number)).collect();
    if has(Theme::Daemons) {
        objects.extend((0..draw.between(1, 2)).map(|number| daemon_set(draw, themes, number)));
    }
    objects
}

fn pool(draw: &mut Draw, themes: &[Theme], number: usize) -> Value {
    let has = |theme| themes.contains(&theme);
    let mut requirements = Vec::new();
    if draw.chance(30) {
        requirements.push(json!({"key": "topology.kubernetes.io/zone", "operator": "In", "values": draw.some(ZONES)}));
    }
    if draw.chance(30) {
        let both = ["spot", "on-demand"];
        let types = draw.some(&both);
        requirements.push(json!({"key": "karpenter.sh/capacity-type", "operator": "In", "values": types}));
    }
    if draw.chance(20) {
        requirements.push(json!({"key": "kubernetes.io/arch", "operator": "NotIn", "values": ["arm64"]}));
    }
    let mut labels = json!({});
    if has(Theme::Selectors) {
        match draw.below(3) {
            0 => labels["team"] = json!(draw.pick(TEAMS)),
            1 => requirements.push(json!({"key": "team", "operator": "In", "values": TEAMS})),
            _ => {}
        }
    }
    if has(Theme::MinValues) && draw.chance(60) {
        let key =
            *draw.pick(&["node.kubernetes.io/instance-type", "topology.kubernetes.io/zone", "kubernetes.io/arch"]);
        requirements.push(json!({"key": key, "operator": "Exists", "minValues": draw.between(1, 3)}));
    }
    let mut spec = json!({
        "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
        "requirements": requirements,
    });
    if has(Theme::Taints) && draw.chance(60) {
        let effect = *draw.pick(&["NoSchedule", "NoExecute", "PreferNoSchedule"]);
        spec["taints"] = json!([{"key": "dedicated", "value": draw.pick(TEAMS), "effect": effect}]);
    }
    if draw.chance(15) {
        spec["startupTaints"] = json!([{"key": "starting", "effect": "NoSchedule"}]);
    }
    let mut pool = json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": format!("pool-{number}")},
        "spec": {"template": {"metadata": {"labels": labels}, "spec": spec}},
    });
    if has(Theme::Weights) && draw.chance(70) {
        pool["spec"]["weight"] = json!(draw.between(1, 100));
    }
    if has(Theme::Limits) && draw.chance(80) {
        pool["spec"]["limits"] = match draw.below(4) {
            0 => json!({"nodes": draw.between(1, 4).to_string()}),
            1 => json!({"memory": format!("{}Gi", draw.between(8, 64))}),
            2 if has(Theme::Gpu) => json!({"nvidia.com/gpu": draw.between(1, 8).to_string()}),
            _ => json!({"cpu": draw.between(4, 40).to_string()}),
        };
    }
    pool
}

fn daemon_set(draw: &mut Draw, themes: &[Theme], number: usize) -> Value {
    let name = format!("agent-{number}");
    let mut container = json!({
        "name": "main", "image": "agent",
        "resources": {"requests": {"cpu": draw.pick(&["100m", "250m"]), "memory": draw.pick(&["64Mi", "256Mi"])}},
    });
    if themes.contains(&Theme::Ports) && draw.chance(60) {
        container["ports"] = json!([{"containerPort": 9100, "hostPort": 9100}]);
    }
    let mut spec = json!({"containers": [container]});
    if draw.chance(60) {
        spec["tolerations"] = json!([{"operator": "Exists"}]);
    }
    match draw.below(5) {
        0 => spec["nodeSelector"] = json!({"kubernetes.io/arch": "arm64"}),
        1 => spec["nodeSelector"] = json!({"topology.kubernetes.io/zone": "zone-a"}),
        _ => {}
    }
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}}, "spec": spec}},
    })
}
