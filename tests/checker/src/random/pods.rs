//! What waits: workloads of a few pods each, every one with what its world is about.

use serde_json::{Value, json};

use super::Theme;
use super::draw::Draw;
use super::pools::TEAMS;
use super::types::ZONES;

/// Few, so that selectors meet.
pub const LABELS: &[&str] = &["web", "db", "cache"];

pub fn pods(draw: &mut Draw, themes: &[Theme], most: usize) -> Vec<Value> {
    let mut objects = Vec::new();
    let has = |theme| themes.contains(&theme);
    if has(Theme::Volumes) {
        objects.extend(storage_classes(draw));
    }
    if has(Theme::Affinity) || has(Theme::AntiAffinity) {
        objects.push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other", "labels": {"tier": "other"}}}));
    }
    let (mut left, mut number) = (draw.between(5, most), 0);
    while left > 0 {
        let replicas = draw.between(1, 6).min(left);
        left -= replicas;
        let namespace = if has(Theme::Affinity) && draw.chance(20) { "other" } else { "default" };
        let (template, more) = template(draw, themes, namespace, number);
        objects.extend(more);
        objects.push(workload(draw, &format!("work-{number}"), namespace, replicas, template));
        number += 1;
    }
    objects
}

fn workload(draw: &mut Draw, name: &str, namespace: &str, replicas: usize, template: Value) -> Value {
    let metadata = json!({"name": name, "namespace": namespace});
    let selector = json!({"matchLabels": template["metadata"]["labels"]});
    match draw.below(4) {
        0 if replicas == 1 => {
            let labels = &template["metadata"]["labels"];
            let metadata = json!({"name": name, "namespace": namespace, "labels": labels});
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
        }
        1 => json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata,
            "spec": {"parallelism": replicas, "template": template},
        }),
        2 => json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata,
            "spec": {"serviceName": name, "replicas": replicas, "selector": selector, "template": template},
        }),
        _ => json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
            "spec": {"replicas": replicas, "selector": selector, "template": template},
        }),
    }
}

pub fn template(draw: &mut Draw, themes: &[Theme], namespace: &str, number: usize) -> (Value, Vec<Value>) {
    let has = |theme| themes.contains(&theme);
    let app = *draw.pick(LABELS);
    let mut spec = json!({"containers": [container(draw, themes)]});
    if draw.chance(15) {
        let init = json!({"name": "init", "image": "init", "resources": {"requests": {"cpu": draw.pick(&["1", "3"])}}});
        let mut sidecar = json!({"name": "side", "image": "side", "resources": {"requests": {"memory": "128Mi"}}});
        sidecar["restartPolicy"] = json!("Always");
        spec["initContainers"] = if draw.chance(50) { json!([sidecar, init]) } else { json!([init]) };
    }
    if has(Theme::Selectors) {
        selectors(draw, &mut spec);
    }
    if has(Theme::Taints) && draw.chance(60) {
        spec["tolerations"] = match draw.below(3) {
            0 => json!([{"operator": "Exists"}]),
            1 => json!([{"key": "dedicated", "operator": "Exists"}]),
            _ => json!([{"key": "dedicated", "value": draw.pick(TEAMS), "operator": "Equal"}]),
        };
    }
    let mut spreads = Vec::new();
    if has(Theme::SpreadZone) && draw.chance(60) {
        spreads.push(spread(draw, "topology.kubernetes.io/zone", app, has(Theme::Preferences)));
    }
    if has(Theme::SpreadHost) && draw.chance(60) {
        spreads.push(spread(draw, "kubernetes.io/hostname", app, has(Theme::Preferences)));
    }
    if !spreads.is_empty() {
        spec["topologySpreadConstraints"] = json!(spreads);
    }
    for (theme, kind) in [(Theme::Affinity, "podAffinity"), (Theme::AntiAffinity, "podAntiAffinity")] {
        if has(theme) && draw.chance(50) {
            spec["affinity"][kind] = pod_affinity(draw, app, has(Theme::Preferences));
        }
    }
    if has(Theme::Preferences) && draw.chance(50) {
        let expression = json!({"key": "topology.kubernetes.io/zone", "operator": "In", "values": [draw.pick(ZONES)]});
        let preference = json!({"weight": draw.between(1, 100), "preference": {"matchExpressions": [expression]}});
        spec["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = json!([preference]);
    }
    let mut more = Vec::new();
    if has(Theme::Volumes) && draw.chance(50) {
        more = volume(draw, &mut spec, namespace, number);
    }
    if has(Theme::Malformed) && draw.chance(20) {
        malform(draw, &mut spec);
    }
    (json!({"metadata": {"labels": {"app": app}}, "spec": spec}), more)
}

fn container(draw: &mut Draw, themes: &[Theme]) -> Value {
    let cpu = *draw.pick(&["100m", "250m", "500m", "1", "1500m", "3"]);
    let memory = *draw.pick(&["128Mi", "512Mi", "1Gi", "3Gi", "6Gi"]);
    let mut container =
        json!({"name": "main", "image": "pause", "resources": {"requests": {"cpu": cpu, "memory": memory}}});
    if themes.contains(&Theme::Gpu) && draw.chance(50) {
        let (resource, counts) =
            *draw.pick(&[("nvidia.com/gpu", &[1, 1, 2, 4, 8][..]), ("nvidia.com/mig-1g.5gb", &[1, 2][..])]);
        container["resources"]["limits"] = json!({resource: draw.pick(counts).to_string()});
    }
    if themes.contains(&Theme::Ports) && draw.chance(40) {
        let port = *draw.pick(&[8080, 9090, 9100]);
        container["ports"] = json!([{"containerPort": port, "hostPort": port, "protocol": draw.pick(&["TCP", "UDP"])}]);
    }
    container
}

fn selectors(draw: &mut Draw, spec: &mut Value) {
    match draw.below(7) {
        0 => spec["nodeSelector"] = json!({"team": draw.pick(TEAMS)}),
        1 => spec["nodeSelector"] = json!({"topology.kubernetes.io/zone": draw.pick(ZONES)}),
        2 => spec["nodeSelector"] = json!({"kubernetes.io/arch": draw.pick(&["amd64", "arm64"])}),
        3 => {
            let expression =
                json!({"key": "team", "operator": draw.pick(&["NotIn", "In"]), "values": [draw.pick(TEAMS)]});
            require(spec, json!([{"matchExpressions": [expression]}]));
        }
        4 => {
            let term = |key: &str, value: &str| json!({"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]});
            let first = term("topology.kubernetes.io/zone", draw.pick::<&str>(ZONES));
            let second = term("karpenter.sh/capacity-type", draw.pick::<&str>(&["spot", "on-demand"]));
            require(spec, json!([first, second]));
        }
        5 => require(spec, json!([{"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}])),
        _ => {}
    }
}

fn require(spec: &mut Value, terms: Value) {
    spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        json!({"nodeSelectorTerms": terms});
}

fn spread(draw: &mut Draw, key: &str, app: &str, soft: bool) -> Value {
    let when = if soft && draw.chance(50) { "ScheduleAnyway" } else { "DoNotSchedule" };
    let chosen = if draw.chance(85) { app } else { *draw.pick::<&str>(LABELS) };
    let mut constraint = json!({
        "maxSkew": draw.between(1, 2), "topologyKey": key, "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"app": chosen}},
    });
    if when == "DoNotSchedule" && draw.chance(20) {
        constraint["minDomains"] = json!(draw.between(1, 3));
    }
    if draw.chance(20) {
        constraint["nodeTaintsPolicy"] = json!("Honor");
    }
    if draw.chance(15) {
        constraint["nodeAffinityPolicy"] = json!("Ignore");
    }
    constraint
}

fn pod_affinity(draw: &mut Draw, app: &str, soft: bool) -> Value {
    let key = *draw.pick(&["kubernetes.io/hostname", "topology.kubernetes.io/zone"]);
    let chosen = if draw.chance(60) { app } else { *draw.pick::<&str>(LABELS) };
    let mut term = json!({"topologyKey": key, "labelSelector": {"matchLabels": {"app": chosen}}});
    match draw.below(6) {
        0 => term["namespaces"] = json!(["default", "other"]),
        1 => term["namespaceSelector"] = json!({"matchLabels": {"tier": "other"}}),
        2 => term["namespaceSelector"] = json!({}),
        _ => {}
    }
    if soft && draw.chance(50) {
        let weighted = json!({"weight": draw.between(1, 100), "podAffinityTerm": term});
        return json!({"preferredDuringSchedulingIgnoredDuringExecution": [weighted]});
    }
    json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]})
}

pub fn storage_classes(draw: &mut Draw) -> Vec<Value> {
    let zone = json!({"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": draw.some(ZONES)}]});
    vec![
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "later"},
            "provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer",
        }),
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "zonal"},
            "provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies": [zone],
        }),
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "at-once"},
            "provisioner": "csi.example.com", "volumeBindingMode": "Immediate",
        }),
    ]
}

/// A volume that all pods of the workload share.
fn volume(draw: &mut Draw, spec: &mut Value, namespace: &str, number: usize) -> Vec<Value> {
    let name = format!("data-{number}");
    spec["volumes"] = json!([{"name": "data", "persistentVolumeClaim": {"claimName": name}}]);
    let mut claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": namespace},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    match draw.below(5) {
        0 => {
            claim["spec"]["volumeName"] = json!(name);
            claim["spec"]["storageClassName"] = json!("");
            let expression =
                json!({"key": "topology.kubernetes.io/zone", "operator": "In", "values": draw.some(ZONES)});
            let volume = json!({
                "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
                "spec": {
                    "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                    "csi": {"driver": "csi.example.com", "volumeHandle": name},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
                },
            });
            vec![claim, volume]
        }
        1 => {
            spec["volumes"] = json!([{"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": "zonal", "resources": {"requests": {"storage": "1Gi"}},
            }}}}]);
            Vec::new()
        }
        2 => {
            claim["spec"]["storageClassName"] = json!(draw.pick(&["at-once", "missing"]));
            vec![claim]
        }
        _ => {
            claim["spec"]["storageClassName"] = json!(draw.pick(&["later", "zonal"]));
            vec![claim]
        }
    }
}

/// Makes a pod ask for what nobody has.
fn malform(draw: &mut Draw, spec: &mut Value) {
    match draw.below(5) {
        0 => spec["nodeSelector"] = json!({"no-such-label": "x"}),
        1 => spec["containers"][0]["resources"]["requests"]["cpu"] = json!("100000"),
        2 => spec["volumes"] = json!([{"name": "data", "persistentVolumeClaim": {"claimName": "nowhere"}}]),
        3 => spec["containers"][0]["resources"]["requests"]["example.com/unobtainium"] = json!("1"),
        _ => spec["schedulingGates"] = json!([{"name": "wait"}]),
    }
}
