//! Kubernetes objects from few words. An entry `Kind: {…}` is that object; the short ones are listed in `entry`.

use serde_json::{Map, Value, json};

const ZONE: &str = "topology.kubernetes.io/zone";
const HOST: &str = "kubernetes.io/hostname";
const POOL: &str = "karpenter.sh/nodepool";

/// All objects of a case. `types` are those of the catalogue, for nodes that name one.
pub fn objects(given: &Value, types: &Value) -> Vec<Value> {
    let entries = given.as_array().unwrap().iter().map(|entry| entry.as_object().unwrap().iter().next().unwrap());
    entries.flat_map(|(kind, words)| entry(kind, words, types)).collect()
}

fn entry(kind: &str, words: &Value, types: &Value) -> Vec<Value> {
    match kind {
        "pool" => vec![pool(words)],
        "pod" => pods(words),
        "node" => nodes(words, types),
        "claim" => vec![claim(words, types)],
        "pv" => vec![volume(words)],
        "pvc" => vec![volume_claim(words)],
        "class" => vec![storage_class(words)],
        _ => vec![merged(json!({ "apiVersion": version(kind), "kind": kind }), words)],
    }
}

fn version(kind: &str) -> &'static str {
    match kind {
        "DaemonSet" | "Deployment" | "StatefulSet" | "ReplicaSet" => "apps/v1",
        "Job" => "batch/v1",
        "PodDisruptionBudget" => "policy/v1",
        "CSINode" => "storage.k8s.io/v1",
        "PriorityClass" => "scheduling.k8s.io/v1",
        "RuntimeClass" => "node.k8s.io/v1",
        _ => "v1",
    }
}

/// Field by field; what is null in the second goes.
fn merged(mut first: Value, second: &Value) -> Value {
    for (key, value) in second.as_object().into_iter().flatten() {
        match (value, &mut first[key.as_str()]) {
            (Value::Null, _) => _ = first.as_object_mut().unwrap().remove(key),
            (Value::Object(_), own) if own.is_object() => *own = merged(own.take(), value),
            (_, own) => *own = value.clone(),
        }
    }
    first
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn all(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn amounts(given: &Value) -> Map<String, Value> {
    given.as_object().into_iter().flatten().map(|(name, amount)| (name.clone(), text(amount).into())).collect()
}

/// `key operator values…`, and `min N` at the end.
fn requirement(words: &Value) -> Value {
    let words = text(words);
    let mut words: Vec<&str> = words.split(' ').map(|word| word.trim_matches('"')).collect();
    let mut found = json!({ "key": words.remove(0), "operator": words.remove(0) });
    if let Some(at) = words.iter().position(|word| *word == "min") {
        found["minValues"] = words[at + 1].parse::<i64>().unwrap().into();
        words.truncate(at);
    }
    if !words.is_empty() {
        found["values"] = json!(words);
    }
    found
}

fn term(requirements: &Value) -> Value {
    json!({ "matchExpressions": all(requirements).map(requirement).collect::<Vec<_>>() })
}

/// `zone app=a`, or the term itself.
fn pod_term(words: &Value) -> Value {
    let Some(words) = words.as_str() else { return words.clone() };
    let (place, label) = words.split_once(' ').unwrap();
    json!({ "topologyKey": topology(place), "labelSelector": selector(label) })
}

/// `zone 1 app=a`, or the constraint itself.
fn spread(words: &Value) -> Value {
    let Some(words) = words.as_str() else { return words.clone() };
    let [place, skew, label] = words.split(' ').collect::<Vec<_>>()[..] else { panic!("{words}") };
    json!({ "maxSkew": skew.parse::<i64>().unwrap(), "topologyKey": topology(place),
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector(label) })
}

fn topology(place: &str) -> &'static str {
    if place == "zone" { ZONE } else { HOST }
}

fn selector(label: &str) -> Value {
    let (key, value) = label.split_once('=').unwrap();
    json!({ "matchLabels": { key: value } })
}

fn pool(words: &Value) -> Value {
    let requirements: Vec<Value> = all(&words["requirements"]).map(requirement).collect();
    let list = |name: &str| words.get(name).cloned().unwrap_or_else(|| json!([]));
    let class = json!({ "group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default" });
    let template = json!({ "nodeClassRef": class, "requirements": requirements, "taints": list("taints"),
        "startupTaints": list("startupTaints") });
    let labels = words.get("labels").cloned().unwrap_or_else(|| json!({}));
    let mut pool = json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
        "metadata": { "name": words.get("name").unwrap_or(&json!("default")) },
        "spec": { "template": { "metadata": { "labels": labels }, "spec": template } } });
    for field in ["weight", "limits"] {
        if let Some(value) = words.get(field) {
            pool["spec"][field] = value.clone();
        }
    }
    with_rest(pool, words)
}

/// Whatever the words say of metadata, spec and status themselves.
fn with_rest(mut object: Value, words: &Value) -> Value {
    for part in ["metadata", "spec", "status"] {
        if let Some(more) = words.get(part) {
            object[part] = merged(object[part].take(), more);
        }
    }
    object
}

fn pods(words: &Value) -> Vec<Value> {
    let name = text(&words["name"]);
    match words["count"].as_u64() {
        None => vec![pod(words, &name)],
        Some(count) => (0..count).map(|number| pod(words, &format!("{name}-{number}"))).collect(),
    }
}

fn pod(words: &Value, name: &str) -> Value {
    let mut requests = amounts(&words["requests"]);
    for (short, resource) in [("cpu", "cpu"), ("memory", "memory"), ("gpu", "nvidia.com/gpu")] {
        requests.extend(words.get(short).map(|amount| (resource.to_owned(), text(amount).into())));
    }
    let limits: Map<String, Value> =
        requests.iter().filter(|(name, _)| *name == "nvidia.com/gpu").map(|(a, b)| (a.clone(), b.clone())).collect();
    let ports: Vec<Value> = all(&words["ports"]).map(port).collect();
    let container = json!({ "name": "main", "image": "pause", "ports": ports,
        "resources": { "requests": requests, "limits": limits } });
    let mut spec = json!({ "containers": [container] });
    for (short, field) in [("at", "nodeName"), ("select", "nodeSelector"), ("tolerate", "tolerations")] {
        if let Some(value) = words.get(short) {
            spec[field] = value.clone();
        }
    }
    spec["topologySpreadConstraints"] = all(&words["spread"]).map(spread).collect();
    let volume = |name: &Value| json!({ "name": name, "persistentVolumeClaim": { "claimName": name } });
    spec["volumes"] = all(&words["claims"]).map(volume).collect();
    spec["affinity"] = affinity(words);
    let namespace = words.get("ns").cloned().unwrap_or_else(|| json!("default"));
    let labels = words.get("labels").cloned().unwrap_or_else(|| json!({}));
    let mut metadata = json!({ "name": name, "namespace": namespace, "labels": labels });
    if let Some(owner) = words["owner"].as_str() {
        let (kind, name) = owner.split_once('/').unwrap_or((owner, "owner"));
        let version = if kind == "Node" { "v1" } else { "apps/v1" };
        metadata["ownerReferences"] =
            json!([{ "apiVersion": version, "kind": kind, "name": name, "uid": "u", "controller": true }]);
    }
    with_rest(json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec }), words)
}

fn port(words: &Value) -> Value {
    match words.as_u64() {
        Some(number) => json!({ "containerPort": number, "hostPort": number }),
        None => merged(json!({ "containerPort": words["hostPort"] }), words),
    }
}

fn affinity(words: &Value) -> Value {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    let mut affinity = json!({});
    if let Some(terms) = words.get("need") {
        affinity["nodeAffinity"][REQUIRED] = json!({ "nodeSelectorTerms": all(terms).map(term).collect::<Vec<_>>() });
    }
    if let Some(wishes) = words.get("prefer") {
        let wish = |one: &Value| json!({ "weight": one[0], "preference": term(&json!([one[1]])) });
        affinity["nodeAffinity"][PREFERRED] = all(wishes).map(wish).collect();
    }
    for (short, kind) in [("near", "podAffinity"), ("apart", "podAntiAffinity")] {
        if let Some(terms) = words.get(short) {
            affinity[kind][REQUIRED] = all(terms).map(pod_term).collect();
        }
        if let Some(wishes) = words.get(format!("prefer-{short}")) {
            let term = |one: &Value| json!({ "topologyKey": one[1], "labelSelector": { "matchLabels": one[2] } });
            let wish = |one: &Value| json!({ "weight": one[0], "podAffinityTerm": term(one) });
            affinity[kind][PREFERRED] = all(wishes).map(wish).collect();
        }
    }
    affinity
}

/// Of a machine of a type; `None` for one that is of no type.
fn of_type<'t>(words: &Value, types: &'t Value) -> Option<&'t Value> {
    all(types).find(|one| words.get("type").is_some_and(|name| one["name"] == *name))
}

fn labels(words: &Value, types: &Value) -> Value {
    let zone = words.get("zone").cloned().unwrap_or_else(|| json!("zone-a"));
    let mut labels =
        json!({ POOL: "default", "karpenter.sh/capacity-type": "on-demand", ZONE: zone, "kubernetes.io/os": "linux" });
    if let Some(kind) = of_type(words, types) {
        labels["node.kubernetes.io/instance-type"] = kind["name"].clone();
        labels["kubernetes.io/arch"] = kind["architecture"].clone();
    }
    labels
}

fn bare_claim(name: &str, labels: &Value) -> Value {
    let class = json!({ "group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default" });
    json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": { "name": name, "labels": labels },
        "spec": { "requirements": [], "nodeClassRef": class } })
}

/// A claim without a node.
fn claim(words: &Value, types: &Value) -> Value {
    let name = text(&words["name"]);
    let Some(kind) = of_type(words, types) else {
        return with_rest(bare_claim(&name, &json!({ POOL: "default" })), words);
    };
    let mut claim = bare_claim(&name, &labels(words, types));
    claim["status"] = json!({ "providerID": format!("kwok://{name}"), "capacity": kind["resources"],
        "allocatable": kind["resources"] });
    with_rest(claim, words)
}

/// As many as the words say, as pods are.
fn nodes(words: &Value, types: &Value) -> Vec<Value> {
    let named = |number: u64| merged(words.clone(), &json!({ "name": format!("{}-{number}", text(&words["name"])) }));
    match words["count"].as_u64() {
        None => node(words, types),
        Some(count) => (0..count).flat_map(|number| node(&named(number), types)).collect(),
    }
}

/// A node, and its claim where the words name one.
fn node(words: &Value, types: &Value) -> Vec<Value> {
    let name = text(&words["name"]);
    let kind = of_type(words, types);
    let has = words.get("capacity").map(|given| Value::Object(amounts(given)));
    let has = has.or_else(|| kind.map(|kind| kind["resources"].clone())).unwrap();
    let promised = kind.map_or_else(|| has.clone(), |kind| kind["resources"].clone());
    let mut labels = labels(words, types);
    if words.get("claim").is_none() {
        labels.as_object_mut().unwrap().remove(POOL);
    }
    let labels = merged(labels, words.get("labels").unwrap_or(&Value::Null));
    let provider = format!("kwok://{name}");
    let taints = words.get("taints").cloned().unwrap_or_else(|| json!([]));
    let node = json!({ "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": name, "labels": merged(labels.clone(), &json!({ HOST: name })) },
        "spec": { "providerID": provider, "taints": taints }, "status": { "capacity": has, "allocatable": has } });
    let mut objects = vec![with_rest(node, words)];
    if let Some(more) = words.get("claim") {
        let mut claim = bare_claim(&format!("claim-of-{name}"), &labels);
        claim["status"] =
            json!({ "providerID": provider, "nodeName": name, "capacity": promised, "allocatable": promised });
        let mut claim = merged(claim, more);
        for condition in claim["status"]["conditions"].as_array_mut().into_iter().flatten() {
            *condition = merged(json!({ "reason": "R", "lastTransitionTime": "2026-03-01T00:00:00Z" }), condition);
        }
        objects.push(claim);
    }
    objects
}

fn volume(words: &Value) -> Value {
    let is = |kind: &str| words[kind] == true;
    let mut spec = json!({ "capacity": { "storage": "1Gi" }, "accessModes": ["ReadWriteOnce"] });
    if is("local") {
        spec["local"] = json!({ "path": "/data" });
    } else if is("nfs") {
        spec["nfs"] = json!({ "server": "files", "path": "/" });
    } else {
        spec["csi"] = json!({ "driver": "csi.example.com", "volumeHandle": words["name"] });
    }
    let zone = words.get("zone").map(|zone| json!([[format!("{ZONE} In {}", text(zone))]]));
    if let Some(terms) = words.get("terms").cloned().or(zone) {
        let terms: Vec<Value> = all(&terms).map(term).collect();
        spec["nodeAffinity"] = json!({ "required": { "nodeSelectorTerms": terms } });
    }
    let volume =
        json!({ "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": words["name"] }, "spec": spec });
    with_rest(volume, words)
}

fn volume_claim(words: &Value) -> Value {
    let mut spec = json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } });
    if let Some(volume) = words.get("volume") {
        spec["volumeName"] = volume.clone();
        spec["storageClassName"] = json!("");
    }
    if let Some(class) = words.get("class") {
        spec["storageClassName"] = class.clone();
    }
    let metadata = json!({ "name": words["name"], "namespace": "default" });
    let claim = json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec });
    with_rest(claim, words)
}

fn storage_class(words: &Value) -> Value {
    let or = |field: &str, usual: &str| words.get(field).cloned().unwrap_or_else(|| usual.into());
    let mut class = json!({ "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": { "name": words["name"] },
        "provisioner": or("provisioner", "csi.example.com"), "volumeBindingMode": or("mode", "WaitForFirstConsumer") });
    if words["default"] == true {
        class["metadata"]["annotations"] = json!({ "storageclass.kubernetes.io/is-default-class": "true" });
    }
    if let Some(zones) = words.get("zones") {
        class["allowedTopologies"] = json!([{ "matchLabelExpressions": [{ "key": ZONE, "values": zones }] }]);
    }
    with_rest(class, words)
}
