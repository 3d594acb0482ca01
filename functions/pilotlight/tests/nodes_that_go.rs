//! What `pilotlight plan --consolidate` answers, case by case, through the binary and judged by the checker.
//!
//! The files in `going/` are written like those in `scenarios/`, with few words for what is given. Where a case gives no pool, there is
//! one of on-demand amd64 machines that lets all its nodes go at once; `disruption`, `notes` and `template` say what else it says.
//!
//! | a case expects | |
//! |---|---|
//! | `goes` | commands, as `Reason nodes -> types that come`; with ` first` before the arrow where the node goes first |
//! | `stays` | codes by node; every node that is not named here goes |
//! | `because` | a part of the words by node |
//! | `moves` | by pod, `node/NAME`, `new` or `later` |
//! | `pools`, `lists` | of all replacements: their pools, and every type and capacity type that they may become |
//! | `saves` | an hour |

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "scenarios/given.rs"]
mod given;

use checker::{
    Catalog, Objects,
    disruption::{self, Ways},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Sunday, in the night.
const NOW: &str = "2026-03-01T01:00:00Z";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn check(file: &str, least: usize) {
    let text = fs::read_to_string(folder().join("going").join(file)).unwrap();
    let options = serde_saphyr::options! { strict_booleans: true };
    let cases: Value =
        serde_saphyr::from_str_with_options(&text, options).unwrap_or_else(|error| panic!("{file}: {error}"));
    let cases = cases.as_array().unwrap();
    let played = cases.iter().map(|case| (case["it"].as_str().unwrap(), play(case)));
    let wrong: Vec<_> = played.filter(|(_, wrong)| !wrong.is_empty()).collect();
    assert!(wrong.is_empty(), "{file}: {wrong:#?}");
    assert!(cases.len() >= least, "{file} has only {} cases", cases.len());
}

/// One process a case; what is wrong with the answer, in words.
fn play(case: &Value) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("cluster.yaml");
    let types = folder().join("consolidate/catalog.json");
    let known = fs::read_to_string(&types).unwrap();
    let mut objects = given::objects(&case["given"], &serde_json::from_str(&known).unwrap());
    if !objects.iter().any(|object| object["kind"] == "NodePool") {
        objects.push(usual_pool());
    }
    says(case, &mut objects);
    let text: Vec<String> = objects.iter().map(|object| format!("{object}\n")).collect();
    let text = text.join("---\n");
    fs::write(&file, &text).unwrap();
    let now = case["now"].as_str().unwrap_or(NOW);
    let mut command = Command::new(env!("CARGO_BIN_EXE_pilotlight"));
    ["SCHEDULER_CONFIG", "PREFERENCE_POLICY", "MIN_VALUES_POLICY"].iter().for_each(|name| _ = command.env_remove(name));
    command.args(["plan", "--consolidate", "-o", "json", "--now", now, "-f"]).arg(&file).arg("--catalog").arg(&types);
    let output = command.output().unwrap();
    let Ok(answer) = serde_json::from_slice::<Value>(&output.stdout) else {
        return vec![String::from_utf8_lossy(&output.stderr).into_owned()];
    };
    let mut wrong = compared(case, &answer);
    let mut read = Objects::default();
    read.add_yaml("given", &text).unwrap();
    let judged = serde_json::from_value(answer).unwrap();
    let found = disruption::check(&read, &Catalog::parse(&known).unwrap(), &judged, now.parse().unwrap(), Ways::Ours);
    wrong.extend(found.iter().map(|one| format!("judged: {one}")));
    wrong
}

fn usual_pool() -> Value {
    let required = |key: &str, value: &str| json!({ "key": key, "operator": "In", "values": [value] });
    let requirements = [required("karpenter.sh/capacity-type", "on-demand"), required("kubernetes.io/arch", "amd64")];
    let class = json!({ "group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default" });
    json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": { "name": "default" },
        "spec": { "template": { "spec": { "nodeClassRef": class, "requirements": requirements } } } })
}

/// What a case says of all its pools.
fn says(case: &Value, objects: &mut [Value]) {
    for pool in objects.iter_mut().filter(|object| object["kind"] == "NodePool") {
        if pool["spec"]["disruption"].is_null() {
            pool["spec"]["disruption"] = json!({ "budgets": [{ "nodes": "100%" }] });
        }
        for (key, value) in case["disruption"].as_object().into_iter().flatten() {
            pool["spec"]["disruption"][key] = value.clone();
        }
        for (key, value) in case["notes"].as_object().into_iter().flatten() {
            pool["metadata"]["annotations"][key] = value.clone();
        }
        for (key, value) in case["template"].as_object().into_iter().flatten() {
            pool["spec"]["template"]["spec"][key] = value.clone();
        }
    }
}

fn compared(case: &Value, answer: &Value) -> Vec<String> {
    let mut wrong = vec![];
    let mut same = |word: &str, own: Value| {
        if case.get(word).is_some_and(|expected| *expected != own) {
            wrong.push(format!("{word}: {own}"));
        }
    };
    let commands = || answer["disruptions"].as_array().into_iter().flatten();
    let replacements = || commands().flat_map(|one| one["replacements"].as_array().into_iter().flatten());
    let offered = |field: &str| {
        let all = replacements().flat_map(|one| one["offerings"].as_array().into_iter().flatten());
        let mut all: Vec<String> = all.map(|one| one[field].as_str().unwrap().to_owned()).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    same("goes", commands().map(|one| json!(told(one))).collect());
    let kept: BTreeMap<&str, &Value> =
        answer["kept"].as_array().into_iter().flatten().map(|one| (one["node"].as_str().unwrap(), one)).collect();
    same("stays", kept.iter().map(|(node, one)| ((*node).to_owned(), one["code"].clone())).collect());
    same("pools", replacements().map(|one| one["nodePool"].clone()).collect());
    same("lists", json!([offered("instanceType"), offered("capacityType")].concat()));
    for (node, part) in case["because"].as_object().into_iter().flatten() {
        let words = kept.get(node.as_str()).and_then(|one| one["reason"].as_str()).unwrap_or("it goes");
        if !words.contains(part.as_str().unwrap()) {
            wrong.push(format!("because of {node}: {words}"));
        }
    }
    let moves = || commands().flat_map(|one| one["moves"].as_array().into_iter().flatten());
    for (pod, expected) in case["moves"].as_object().into_iter().flatten() {
        let own = moves().find(|one| one["pod"] == format!("default/{pod}"));
        let to = own.map_or("nothing", |one| match one["to"].as_str() {
            Some(to) if to.starts_with("claim/") => "new",
            Some(to) => to,
            None => "later",
        });
        if to != expected.as_str().unwrap() {
            wrong.push(format!("moves of {pod}: {to}"));
        }
    }
    let saves = answer["savesPerHour"].as_f64().unwrap();
    if case["saves"].as_f64().is_some_and(|expected| (expected - saves).abs() > 1e-6) {
        wrong.push(format!("saves: {saves}"));
    }
    wrong.extend(case.as_object().unwrap().keys().filter(|word| !WORDS.contains(&word.as_str())).cloned());
    wrong
}

const WORDS: [&str; 13] = [
    "it",
    "given",
    "now",
    "disruption",
    "notes",
    "template",
    "goes",
    "stays",
    "because",
    "moves",
    "pools",
    "lists",
    "saves",
];

/// `Underutilized a,b -> m.medium`.
fn told(command: &Value) -> String {
    let nodes: Vec<&str> = command["nodes"].as_array().unwrap().iter().map(|node| node.as_str().unwrap()).collect();
    let comes = command["replacements"].as_array().unwrap().iter();
    let comes: Vec<&str> = comes.map(|one| one["offerings"][0]["instanceType"].as_str().unwrap()).collect();
    let first = if command["terminateFirst"] == true { " first" } else { "" };
    assert_eq!(command["action"] == "replace", !comes.is_empty(), "{command}");
    let reason = command["reason"].as_str().unwrap();
    format!("{reason} {}{first} -> {}", nodes.join(","), comes.join(",")).trim_end_matches([' ', '-', '>']).to_owned()
}

#[test]
fn what_nobody_uses_goes_and_what_costs_too_much_is_replaced() {
    check("1-saving.yaml", 40);
}

#[test]
fn what_must_not_be_disturbed_is_not() {
    check("2-holding.yaml", 22);
}

#[test]
fn no_more_go_at_a_time_than_pools_let() {
    check("3-budgets.yaml", 25);
}

#[test]
fn what_has_to_leave_is_replaced_first() {
    check("4-leaving.yaml", 23);
}

#[test]
fn machines_of_ones_own_take_turns_and_rest() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("cluster.json");
    let planned = |notes: Value| {
        let class = json!({ "group": "pilotlight.dev", "kind": "PowerNodeClass", "name": "rack" });
        let seed = json!({ "seed": { "onURL": "https://a.example/on", "offURL": "https://a.example/off" } });
        let size = json!({ "cpu": "16", "memory": "64Gi", "pods": "110" });
        let machine = |name: &str| json!({ "name": name, "gpu": { "count": 2 }, "capacity": size, "backEnd": seed });
        let mut items = vec![
            json!({ "apiVersion": "pilotlight.dev/v1alpha1", "kind": "PowerNodeClass", "metadata": { "name": "rack" },
                "spec": { "machines": [machine("m1"), machine("m2")] } }),
            json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": { "name": "rack", "annotations": notes },
                "spec": { "disruption": { "budgets": [{ "nodes": "1" }] },
                    "template": { "spec": { "nodeClassRef": class, "requirements": [] } } } }),
        ];
        for (name, on) in [("m1", "2026-02-28T20:00:00Z"), ("m2", "2026-02-20T00:00:00Z")] {
            let condition = |kind: &str| json!({ "type": kind, "status": "True", "lastTransitionTime": on });
            let own = json!({ "karpenter.sh/nodepool": "rack", "node.kubernetes.io/instance-type": name,
                "karpenter.sh/capacity-type": "on-demand" });
            let metadata = json!({ "name": name, "labels": own, "creationTimestamp": on });
            items.push(
                json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": { "providerID": name },
                "status": { "allocatable": size, "capacity": size } }),
            );
            let conditions = ["Launched", "Registered", "Initialized"].map(condition);
            items.push(json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": metadata,
                "spec": { "nodeClassRef": class, "requirements": [], "expireAfter": "Never" },
                "status": { "providerID": name, "conditions": conditions } }));
        }
        fs::write(&file, json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_pilotlight"));
        command.args(["plan", "--consolidate", "-o", "json", "--now", NOW, "-f"]).arg(&file);
        let answer: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
        let goes: Vec<String> = answer["disruptions"].as_array().unwrap().iter().map(told).collect();
        let stays = answer["kept"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap().to_owned());
        (goes, stays.collect::<Vec<String>>())
    };
    let of = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    // The one that was switched on longer ago.
    assert_eq!(planned(json!({})), (of(&["Empty m2"]), of(&["Budget"])));
    let rest = json!({ "pilotlight.dev/cool-down": "12h" });
    assert_eq!(planned(rest), (of(&["Empty m2"]), of(&["CoolingDown"])));
}
