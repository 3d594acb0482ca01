//! Clusters that run: nodes of pools with pods on them, some fuller than others, and what forbids to disturb them.
//!
//! Pods are thrown onto nodes; those that break a rule where they fell are taken away again, so that every world is a sound one.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::Theme;
use super::draw::Draw;
use super::pods::{LABELS, storage_classes, template};
use super::pools;
use crate::answer::{Answer, PodAnswer};
use crate::carry_out::{labels, machine};
use crate::catalog::{Catalog, InstanceType, Offering};
use crate::fresh::Fresh;
use crate::settle::BEGIN;
use crate::{Cluster, Objects, Rule, check};

pub fn objects(draw: &mut Draw, themes: &[Theme], types: &[Value]) -> Vec<Value> {
    let has = |theme| themes.contains(&theme);
    let catalog = Catalog::parse(&json!(types).to_string()).unwrap_or_default();
    let mut objects = pools::pools(draw, themes);
    for pool in objects.iter_mut().filter(|object| object["kind"] == "NodePool") {
        how_nodes_go(draw, themes, pool);
    }
    let pools: Vec<Value> = objects.iter().filter(|object| object["kind"] == "NodePool").cloned().collect();
    for number in 0..draw.between(2, 12) {
        let pool = draw.pick(&pools).clone();
        objects.extend(node(draw, themes, &catalog, &pool, number));
    }
    if has(Theme::Volumes) {
        objects.extend(storage_classes(draw));
    }
    if has(Theme::Affinity) || has(Theme::AntiAffinity) {
        objects.push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other", "labels": {"tier": "other"}}}));
    }
    let pods = pods(draw, themes, &mut objects);
    let sound = thrown(draw, &objects, &catalog, pods);
    objects.extend(sound);
    if has(Theme::Waits) {
        let (template, more) = template(draw, themes, "default", 90);
        objects.extend(more);
        for replica in 0..draw.between(1, 3) {
            objects.push(pod("work-90", replica, "default", &template));
        }
    }
    if has(Theme::PodBudgets) {
        for number in 0..draw.between(1, 2) {
            objects.push(pod_budget(draw, number));
        }
    }
    if has(Theme::Drift) && draw.chance(40) {
        fix_size(draw, &mut objects);
    }
    objects
}

/// The first pool has as many nodes as there are, or a limit of one more.
fn fix_size(draw: &mut Draw, objects: &mut [Value]) {
    let of_pool =
        |object: &&Value| object["kind"] == "Node" && object["metadata"]["labels"]["karpenter.sh/nodepool"] == "pool-0";
    let nodes = objects.iter().filter(of_pool).count();
    let limits = draw.chance(50).then(|| json!({"nodes": (nodes + 1).to_string()}));
    let pool = objects.iter_mut().find(|object| object["metadata"]["name"] == "pool-0");
    if let Some(spec) = pool.and_then(|pool| pool["spec"].as_object_mut()) {
        spec.remove("weight");
        spec.remove("limits");
        spec.insert("replicas".to_owned(), json!(nodes));
        spec.extend(limits.map(|limits| ("limits".to_owned(), limits)));
    }
}

/// What a pool says about taking its nodes away.
fn how_nodes_go(draw: &mut Draw, themes: &[Theme], pool: &mut Value) {
    let has = |theme| themes.contains(&theme);
    let mut says = json!({"consolidateAfter": draw.pick(&["0s", "30s", "5m"]), "budgets": [{"nodes": "100%"}]});
    if has(Theme::NodeBudgets) {
        says["budgets"] = match draw.below(7) {
            0 => json!([{"nodes": "10%"}]),
            1 => json!([{"nodes": "30%"}, {"nodes": "2", "reasons": ["Underutilized"]}]),
            2 => json!([{"nodes": "1"}]),
            3 => {
                json!([{"nodes": "0", "schedule": "0 1 * * *", "duration": "2h", "reasons": ["Underutilized", "Drifted"]}])
            }
            4 => json!([{"nodes": "50%"}, {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"}]),
            5 => json!([{"nodes": "0", "reasons": ["Empty"]}, {"nodes": "3"}]),
            _ => json!([{"nodes": "0"}]),
        };
        if draw.chance(30) {
            pool["metadata"]["annotations"]["pilotlight.dev/time-zone"] =
                json!(draw.pick(&["Europe/Paris", "Asia/Tokyo"]));
        }
    }
    if has(Theme::WhenEmpty) && draw.chance(60) {
        says["consolidationPolicy"] = json!("WhenEmpty");
    } else if has(Theme::Balanced) && draw.chance(70) {
        says["consolidationPolicy"] = json!("Balanced");
    }
    if has(Theme::Restless) && draw.chance(40) {
        says["consolidateAfter"] = json!(draw.pick(&["Never", "1h"]));
    }
    pool["spec"]["disruption"] = says;
    if has(Theme::MovesGpus) {
        pool["metadata"]["annotations"]["pilotlight.dev/consolidate-gpu"] = json!("true");
    }
    if has(Theme::SpotToSpot) && draw.chance(70) {
        pool["metadata"]["annotations"]["pilotlight.dev/spot-to-spot"] = json!("true");
    }
    if has(Theme::Costs) && draw.chance(50) {
        pool["metadata"]["annotations"]["pilotlight.dev/minimum-saving"] = json!(draw.pick(&["0%", "20%", "50%"]));
    }
    if has(Theme::Expiry) {
        pool["spec"]["template"]["spec"]["expireAfter"] = json!(draw.pick(&["24h", "Never", "720h"]));
        if draw.chance(50) {
            pool["spec"]["template"]["spec"]["terminationGracePeriod"] = json!("1h");
        }
    }
}

fn node(draw: &mut Draw, themes: &[Theme], catalog: &Catalog, pool: &Value, number: usize) -> Vec<Value> {
    let has = |theme| themes.contains(&theme);
    let strays = has(Theme::Drift) && draw.chance(25);
    let known: crate::objects::NodePool = serde_json::from_value(pool.clone()).unwrap_or_default();
    let fresh = Fresh::unopened(&known, catalog);
    let every: Vec<(&InstanceType, &Offering)> =
        catalog.types.iter().flat_map(|one| one.offerings.iter().map(move |offering| (one, offering))).collect();
    let allowed: Vec<(&InstanceType, &Offering)> = fresh.nodes().collect();
    let of = if strays { every } else { allowed };
    if of.is_empty() {
        return Vec::new();
    }
    let (one, offering) = *draw.pick(&of);
    let mut claim = fresh.answer.into_owned();
    if strays {
        claim.requirements.clear();
    }
    let begin: Timestamp = BEGIN.parse().unwrap_or(Timestamp::UNIX_EPOCH);
    let hours = i64::try_from(draw.between(1, 60)).unwrap_or(1);
    let created = begin.checked_sub(SignedDuration::from_hours(hours)).unwrap_or(begin);
    let mut made = machine(&format!("node-{number}"), pool, labels(catalog, &claim, pool, one, offering), one, created);
    let [claim, node] = made.as_mut_slice() else { return made };
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": "R", "lastTransitionTime": created.to_string()});
    let stages = |initialized: &str| {
        vec![condition("Launched", "True"), condition("Registered", "True"), condition("Initialized", initialized)]
    };
    if has(Theme::Drift) && draw.chance(20) {
        let mut conditions = stages("True");
        conditions.push(condition("Drifted", "True"));
        claim["status"]["conditions"] = json!(conditions);
    }
    if has(Theme::DoNotDisrupt) && draw.chance(15) {
        node["metadata"]["annotations"] = json!({"karpenter.sh/do-not-disrupt": "true"});
    }
    if has(Theme::Restless) && draw.chance(30) {
        claim["status"]["lastPodEventTime"] = json!(draw.pick(&["2026-03-01T01:59:50Z", "2026-03-01T01:30:00Z"]));
    }
    if has(Theme::Unready) && draw.chance(25) {
        match draw.below(4) {
            0 => node["status"]["conditions"] = json!([{"type": "Ready", "status": "False"}]),
            1 => node["spec"]["unschedulable"] = json!(true),
            2 => claim["status"]["conditions"] = json!(stages("Unknown")),
            _ => node["metadata"]["labels"]["node-role.kubernetes.io/control-plane"] = json!(""),
        }
    }
    if has(Theme::Leaving) && draw.chance(15) {
        claim["metadata"]["deletionTimestamp"] = json!("2026-03-01T01:55:00Z");
        claim["metadata"]["finalizers"] = json!(["karpenter.sh/termination"]);
    }
    made
}

fn pods(draw: &mut Draw, themes: &[Theme], objects: &mut Vec<Value>) -> Vec<Value> {
    let has = |theme| themes.contains(&theme);
    let mut all = Vec::new();
    let nodes = objects.iter().filter(|object| object["kind"] == "Node").count();
    let (mut left, mut number) = (draw.below(4 * nodes + 1), 0);
    while left > 0 {
        let replicas = draw.between(1, 6).min(left);
        left -= replicas;
        let namespace = if has(Theme::Affinity) && draw.chance(20) { "other" } else { "default" };
        let (template, more) = template(draw, themes, namespace, number);
        objects.extend(more);
        for replica in 0..replicas {
            let mut one = pod(&format!("work-{number}"), replica, namespace, &template);
            if has(Theme::DoNotDisrupt) && draw.chance(10) {
                let value = *draw.pick(&["true", "4h", "10m", "maybe"]);
                one["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"] = json!(value);
            }
            if has(Theme::Costs) && draw.chance(30) {
                match draw.below(3) {
                    0 => one["metadata"]["annotations"]["karpenter.sh/disruption-cost"] = json!("-2147483647"),
                    1 => {
                        one["metadata"]["annotations"]["controller.kubernetes.io/pod-deletion-cost"] =
                            json!("500000000")
                    }
                    _ => one["spec"]["priority"] = json!(1_000_000),
                }
            }
            if has(Theme::Costs) && draw.chance(10) {
                one["metadata"]["annotations"]["pilotlight.dev/ignored-when-idle"] = json!("true");
            }
            all.push(one);
        }
        number += 1;
    }
    all
}

fn pod(workload: &str, replica: usize, namespace: &str, template: &Value) -> Value {
    let owner =
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": workload, "uid": workload, "controller": true});
    json!({
        "apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
        "metadata": {"name": format!("{workload}-{replica}"), "namespace": namespace, "labels": template["metadata"]["labels"],
            "ownerReferences": [owner]},
    })
}

fn pod_budget(draw: &mut Draw, number: usize) -> Value {
    let mut spec = json!({"selector": {"matchLabels": {"app": draw.pick(LABELS)}}});
    match draw.below(4) {
        0 => spec["maxUnavailable"] = json!(0),
        1 => spec["maxUnavailable"] = json!(1),
        2 => spec["minAvailable"] = json!("50%"),
        _ => spec["minAvailable"] = json!("100%"),
    }
    json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": format!("pdb-{number}"), "namespace": "default"},
        "spec": spec})
}

/// Throws pods onto nodes, a few times each, and keeps those that keep every rule.
fn thrown(draw: &mut Draw, objects: &[Value], catalog: &Catalog, pods: Vec<Value>) -> Vec<Value> {
    let nodes: Vec<String> = objects
        .iter()
        .filter(|object| object["kind"] == "Node")
        .filter_map(|object| object["metadata"]["name"].as_str().map(str::to_owned))
        .collect();
    if nodes.is_empty() {
        return Vec::new();
    }
    let mut fixed: BTreeMap<String, String> = BTreeMap::new();
    for _ in 0..3 {
        let mut at = fixed.clone();
        for pod in &pods {
            at.entry(named(pod)).or_insert_with(|| draw.pick(&nodes).clone());
        }
        fixed = sound(objects, catalog, &pods, at, &fixed);
    }
    let place = |mut pod: Value| {
        let node = fixed.get(&named(&pod))?;
        pod["spec"]["nodeName"] = json!(node);
        pod["status"] = json!({"phase": "Running"});
        Some(pod)
    };
    pods.into_iter().filter_map(place).collect()
}

/// Takes pods away until no rule is broken: those that are named first, then the last ones of a place. What stood before stays as
/// long as others can go.
fn sound(
    objects: &[Value],
    catalog: &Catalog,
    pods: &[Value],
    mut at: BTreeMap<String, String>,
    fixed: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut read = Objects::default();
    for object in objects {
        // A node that is leaving has pods all the same.
        let mut object = object.clone();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("deletionTimestamp");
        }
        drop(read.add("world", object));
    }
    loop {
        let mut all = read.clone();
        for pod in pods.iter().filter(|pod| at.contains_key(&named(pod))) {
            drop(all.add("world", pod.clone()));
        }
        let cluster = Cluster::new(all, catalog);
        let answer = Answer {
            pods: at
                .iter()
                .filter_map(|(pod, node)| {
                    let (namespace, name) = pod.split_once('/')?;
                    let on = Some(format!("node/{node}"));
                    Some(PodAnswer {
                        namespace: namespace.to_owned(),
                        name: name.to_owned(),
                        on,
                        ..PodAnswer::default()
                    })
                })
                .collect(),
            ..Answer::default()
        };
        let found = check(&cluster, catalog, &answer);
        let messages: Vec<&String> =
            found.iter().filter(|one| one.rule != Rule::LeftOut).map(|one| &one.message).collect();
        if messages.is_empty() {
            return at;
        }
        let words: BTreeSet<&str> = messages.iter().flat_map(|message| message.split(' ')).collect();
        let blamed = |(pod, node): &(&String, &String)| {
            words.contains(pod.as_str()) || words.contains(format!("node/{node}").as_str())
        };
        let mut culprits: Vec<String> = at.iter().filter(blamed).map(|(pod, _)| pod.clone()).collect();
        culprits.sort_by_key(|pod| fixed.contains_key(pod));
        // One of a place at a time: without it the others may do.
        let mut places: BTreeSet<String> = BTreeSet::new();
        let fallen: Vec<String> = culprits.into_iter().filter(|pod| places.insert(at[pod].clone())).collect();
        if fallen.is_empty() {
            return BTreeMap::new();
        }
        fallen.iter().for_each(|pod| drop(at.remove(pod)));
    }
}

fn named(pod: &Value) -> String {
    let metadata = &pod["metadata"];
    format!("{}/{}", metadata["namespace"].as_str().unwrap_or("default"), metadata["name"].as_str().unwrap_or_default())
}
