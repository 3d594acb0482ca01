//! `pilotlight demo` as people run it, with a clock that does not wait.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use std::process::{Command, Output};

fn demo(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pilotlight")).arg("demo").args(arguments).output().unwrap()
}

fn played(arguments: &[&str]) -> Value {
    let output = demo(&[&["--speed", "max", "-o", "json"], arguments].concat());
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn phases<'a>(story: &'a Value, claim: &str) -> Vec<&'a str> {
    let lines = story["lines"].as_array().unwrap().iter().filter(|line| line["claim"] == claim);
    lines.map(|line| line["phase"].as_str().unwrap()).collect()
}

#[test]
fn a_claim_of_each_provider_is_ready_works_and_is_gone() {
    let story = played(&[]);
    assert_eq!((&story["wrong"], &story["running"]), (&json!([]), &json!([])));
    let claims = story["claims"].as_array().unwrap();
    let mut providers: Vec<&str> = claims.iter().map(|claim| claim["provider"].as_str().unwrap()).collect();
    providers.sort_unstable();
    providers.dedup();
    assert_eq!(providers, ["aks", "power", "scaleway"]);
    for claim in claims {
        for number in ["secondsToReady", "secondsToGone", "cloudRequests"] {
            assert!(claim[number].as_u64().is_some_and(|number| number > 0), "{number}: {claim}");
        }
        let machine = if claim["provider"] == "power" { "Off" } else { "Removed" };
        let expected =
            ["Asked", "Launching", "Launched", "Registered", "Ready", "Deleted", "Terminating", machine, "Gone"];
        let mut told = phases(&story, claim["name"].as_str().unwrap()).into_iter();
        for phase in expected {
            assert!(told.any(|other| other == phase), "{phase} is not told in its order: {:#}", story["lines"]);
        }
    }
    let of_kaito = phases(&story, "ws5d1e7a03c");
    for phase in ["Joined", "GPUs", "Running", "Evicted", "Draining"] {
        assert!(of_kaito.contains(&phase), "{phase}: {of_kaito:?}");
    }
}

#[test]
fn pods_that_wait_are_told_what_comes_and_run() {
    let story = played(&[]);
    let made: Vec<&str> =
        story["claims"].as_array().unwrap().iter().filter_map(|claim| claim["name"].as_str()).collect();
    let made: Vec<&&str> = made.iter().filter(|name| name.starts_with("train-")).collect();
    assert!((1..=2).contains(&made.len()), "{made:?}");
    let nominated = |pod: &&str| phases(&story, pod).contains(&"Nominated");
    // One may find room on a machine that is coming anyway.
    assert!(["train-0", "train-1"].iter().any(nominated), "{:#}", story["lines"]);
    for pod in ["train-0", "train-1"] {
        assert_eq!(phases(&story, pod).first(), Some(&"Waiting"), "{pod}");
        let runs = format!("pod default/{pod} runs on it");
        let lines = story["lines"].as_array().unwrap();
        assert!(lines.iter().any(|line| line["what"] == runs.as_str() && line["phase"] == "Running"), "{pod}");
    }
}

#[test]
fn the_same_play_is_told_in_the_same_words() {
    assert_eq!(played(&[]), played(&[]));
}

#[test]
fn a_claim_that_nobody_can_serve_is_a_failure_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("claim.yaml");
    let own = include_str!("../demo/scaleway.yaml").replace("L4-1-24G", "NO-SUCH-TYPE");
    std::fs::write(&file, own).unwrap();
    let output = demo(&["--speed", "max", "--claims", file.to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("render-l4 was not Ready; the last answer was: "), "{text}");
}

#[test]
fn what_cannot_play_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("map.yaml");
    std::fs::write(&file, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n").unwrap();
    let output = demo(&["--claims", file.to_str().unwrap()]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains("map.yaml holds v1 ConfigMap"), "{text}");
}
