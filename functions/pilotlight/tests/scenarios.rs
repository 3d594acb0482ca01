//! What `pilotlight plan` answers, case by case: the files in `scenarios/` follow the paragraphs of what placing pods means.
//!
//! A case is what is given, in few words (`given.rs` makes Kubernetes objects of it), and what is expected of the answer
//! (`expected.rs`). Every answer is judged by the checker too, which knows nothing of the solver.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "scenarios/expected.rs"]
mod expected;
#[path = "scenarios/given.rs"]
mod given;

use checker::{
    Catalog, Cluster, Objects, Rule, check as judge,
    disruption::{self, Ways},
};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

const NOW: &str = "2026-03-01T01:00:00Z";
/// What Karpenter reads from its environment, and so do we.
const VARIABLES: [&str; 4] = ["SCHEDULER_CONFIG", "PREFERENCE_POLICY", "MIN_VALUES_POLICY", "LOCATION"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// All cases of a file.
fn cases(file: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder().join("scenarios").join(file)).unwrap();
    // A node called `n` is no `false`.
    let options = serde_saphyr::options! { strict_booleans: true };
    let all: Value =
        serde_saphyr::from_str_with_options(&text, options).unwrap_or_else(|error| panic!("{file}: {error}"));
    all.as_array().unwrap().clone()
}

/// One process a case; what is wrong with the answer, in words.
fn play(case: &Value) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    let (cluster, types) = (place.path().join("cluster.yaml"), place.path().join("types.json"));
    let usual = folder().join("plan/catalog.json");
    let known: Value = serde_json::from_str(&fs::read_to_string(&usual).unwrap()).unwrap();
    let objects = given::objects(&case["given"], &known);
    let text: Vec<String> = objects.iter().map(|object| format!("{object}\n")).collect();
    fs::write(&cluster, text.join("---\n")).unwrap();
    let own = case.get("catalog");
    if let Some(own) = own {
        fs::write(&types, json!({ "types": own }).to_string()).unwrap();
    }
    let output = plan(case, &cluster, if own.is_some() { &types } else { &usual });
    if let Some(words) = case.get("error") {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let named = words.as_array().unwrap().iter().all(|word| said.contains(word.as_str().unwrap()));
        return if output.status.code() == Some(1) && named { vec![] } else { vec![format!("it said {said}")] };
    }
    let Ok(answer) = serde_json::from_slice::<Value>(&output.stdout) else {
        return vec![String::from_utf8_lossy(&output.stderr).into_owned()];
    };
    let mut wrong = expected::wrong(case, &answer, output.status.code(), &objects);
    // The checker reads catalogues of Karpenter's KWOK provider alone, and knows no default constraints.
    if own.is_none() {
        wrong.extend(judged(case, &text.join("---\n"), &fs::read_to_string(&usual).unwrap(), &answer));
        let output = plan_with(case, &cluster, &usual, &["--consolidate"]);
        wrong.extend(judged_nodes(&text.join("---\n"), &fs::read_to_string(&usual).unwrap(), &output.stdout));
    }
    wrong
}

fn plan(case: &Value, cluster: &Path, catalogue: &Path) -> Output {
    plan_with(case, cluster, catalogue, &[])
}

/// The same cluster, asked which nodes go: that keeps every rule too.
fn judged_nodes(cluster: &str, catalogue: &str, answer: &[u8]) -> Vec<String> {
    let catalog = Catalog::parse(catalogue).unwrap();
    let mut objects = Objects::default();
    objects.add_yaml("given", cluster).unwrap();
    let answer = serde_json::from_slice(answer).unwrap();
    let found = disruption::check(&objects, &catalog, &answer, NOW.parse().unwrap(), Ways::Ours);
    found.iter().map(|one| format!("which nodes go: {one}")).collect()
}

fn plan_with(case: &Value, cluster: &Path, catalogue: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pilotlight"));
    VARIABLES.iter().for_each(|name| _ = command.env_remove(name));
    command.args(["plan", "-o", "json", "--now", NOW, "-f"]).arg(cluster).arg("--catalog").arg(catalogue);
    command.args(case["args"].as_array().into_iter().flatten().map(|word| word.as_str().unwrap()));
    command.args(more);
    for (name, value) in case["env"].as_object().into_iter().flatten() {
        command.env(name, value.as_str().unwrap());
    }
    command.output().unwrap()
}

/// What the checker says; minValues may give way where the case says so.
fn judged(case: &Value, cluster: &str, catalogue: &str, answer: &Value) -> Vec<String> {
    let catalog = Catalog::parse(catalogue).unwrap();
    let mut objects = Objects::default();
    if let Err(error) = objects.add_yaml("given", cluster) {
        return vec![format!("the checker cannot read it: {error}")];
    }
    let answer = serde_json::from_value(answer.clone()).unwrap();
    let found = judge(&Cluster::new(objects, &catalog), &catalog, &answer);
    let relaxed = case["args"].to_string().contains("BestEffort") || case["env"].to_string().contains("BestEffort");
    let passed_over = |rule: Rule| relaxed && rule == Rule::MinValues;
    found.iter().filter(|one| !passed_over(one.rule)).map(ToString::to_string).collect()
}

/// Every case of a file is answered as it says, and there are at least so many.
fn check(file: &str, least: usize) {
    let cases = cases(file);
    let played = cases.iter().map(|case| (case["it"].as_str().unwrap(), play(case)));
    let wrong: Vec<_> = played.filter(|(_, wrong)| !wrong.is_empty()).collect();
    assert!(wrong.is_empty(), "{file}: {wrong:#?}");
    assert!(cases.len() >= least, "{file} has only {} cases", cases.len());
}

#[test]
fn pods_are_placed_left_to_others_or_refused() {
    check("02-which-pods.yaml", 20);
}

#[test]
fn pods_go_to_what_is_there_then_to_what_comes_then_to_something_new() {
    check("04-placing.yaml", 20);
}

#[test]
fn wishes_are_kept_where_they_can_be_and_cost_no_pod_its_place() {
    check("05-relaxing.yaml", 15);
}

#[test]
fn nodes_take_what_they_have_room_for_and_let_in() {
    check("06-nodes.yaml", 15);
}

#[test]
fn new_nodes_are_what_pools_and_types_allow() {
    check("07-new-nodes.yaml", 40);
}

#[test]
fn rules_between_pods_hold() {
    check("12-topology.yaml", 40);
}

#[test]
fn volumes_bind_their_pods() {
    check("13-volumes.yaml", 15);
}

#[test]
fn ports_and_amounts_add_up() {
    check("14-ports-and-amounts.yaml", 15);
}

#[test]
fn workloads_have_the_pods_that_their_controllers_would_make() {
    check("15-workloads.yaml", 8);
}
