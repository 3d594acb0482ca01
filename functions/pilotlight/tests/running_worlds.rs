//! Random clusters that run: what `pilotlight plan --consolidate` decides keeps every rule, and carried out, soon nothing is left to
//! decide. The checker, which knows nothing of the decision, judges; `settle-worlds` plays any number of seeds the same way.

#![allow(clippy::unwrap_used, clippy::panic)]

use checker::{
    disruption::Ways,
    random::World,
    settle::{begin, settle},
};
use jiff::Timestamp;
use std::{path::Path, process::Command};

fn ask(cluster: &Path, catalogue: &Path, now: Timestamp) -> Result<checker::Answer, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pilotlight"));
    ["SCHEDULER_CONFIG", "PREFERENCE_POLICY", "MIN_VALUES_POLICY"].iter().for_each(|name| _ = command.env_remove(name));
    command.args(["plan", "--consolidate", "-o", "json", "--now", &now.to_string(), "-f"]).arg(cluster);
    let output = command.arg("--catalog").arg(catalogue).output().unwrap();
    serde_json::from_slice(&output.stdout).map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// What is wrong with how a world is played, in words.
fn play(seed: u64) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    let world = World::running(seed);
    let mut state = begin(&world).unwrap();
    let settled = settle(&mut state, &world.catalog, place.path(), Ways::Ours, 16, &ask)
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let mut wrong: Vec<String> =
        settled.violations.iter().map(|(round, one)| format!("seed {seed}, round {round}: {one}")).collect();
    wrong.extend(settled.in_vain.iter().map(|words| format!("seed {seed}: came in vain: {words}")));
    if !settled.rests {
        wrong.push(format!("seed {seed}: it does not come to rest"));
    }
    wrong
}

/// Each of these worlds is played as all are; it is here by name because it was not, once.
fn check(seeds: &[u64]) {
    let wrong: Vec<String> = seeds.iter().copied().flat_map(play).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn pods_that_change_zones_with_each_other_go_by_one_command() {
    check(&[285]);
}

#[test]
fn what_falls_apart_in_the_end_is_chosen_anew_without_it() {
    check(&[30, 36, 83]);
}

#[test]
fn a_pod_that_costs_nothing_to_disturb_is_not_moved_for_ever() {
    check(&[116]);
}

#[test]
fn decisions_about_random_clusters_keep_every_rule_and_come_to_rest() {
    let wrong: Vec<String> = (0..60).flat_map(play).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
