//! Whatever is killed, at whatever step: it starts again, and the pod comes to the same end, with one claim and one machine.
//!
//! On control planes of their own, because what is killed here is everybody's. Lives whose victims can be killed side by side
//! are lived side by side: each is then also hit by what the others are hit by.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use control_plane::{
    Component,
    pods::{PodLife, Step},
    site::Site,
    stagehand::on_site,
    troupe::Cast,
};
use faults::KINDS;
use futures_util::future::join_all;
use std::time::Instant;

const SUPERVISOR: &str = env!("CARGO_BIN_EXE_control-plane");

/// What is hit.
#[derive(Debug, Clone, Copy)]
enum Victim {
    Program(&'static str),
    /// Its watches end with it, and so does every request under way.
    Part(Component),
}

const PARTS: [Victim; 4] = [
    Victim::Part(Component::ApiServer),
    Victim::Part(Component::Etcd),
    Victim::Part(Component::ControllerManager),
    Victim::Part(Component::Scheduler),
];

#[test]
#[ignore = "needs a control plane: make cluster"]
fn whichever_process_is_killed_at_whatever_step_the_pod_comes_to_the_same_end() {
    on_site(SUPERVISOR, Cast::Apart, |site| async move {
        let victims: Vec<Victim> = site.troupe.cast.members().iter().map(|name| Victim::Program(name)).collect();
        side_by_side(site, "hit", &victims).await;
        side_by_side(site, "part", &PARTS).await;
    });
}

#[test]
#[ignore = "needs a control plane: make cluster"]
fn pilotlight_run_is_killed_at_whatever_step_and_the_pod_comes_to_the_same_end() {
    on_site(SUPERVISOR, Cast::Together, |site| async move {
        let victim = Victim::Program(site.troupe.cast.members()[0]);
        side_by_side(site, "hit", &[victim; KINDS.len()]).await;
    });
}

/// One life for each victim, of one provider after the other.
async fn side_by_side(site: &Site, prefix: &str, victims: &[Victim]) {
    let begin = Instant::now();
    let lives = victims.iter().enumerate().map(|(number, victim)| {
        let kind = KINDS[number % KINDS.len()];
        let machine = number + 1 + if prefix == "part" { victims.len() } else { 0 };
        let life = PodLife::new(site, kind, &format!("{prefix}{number}"), machine);
        live_through(site, life, *victim)
    });
    join_all(lives).await;
    println!("{victims:?} were killed at every step: {:.0?}", begin.elapsed());
}

async fn live_through(site: &Site, life: PodLife, victim: Victim) {
    life.begin(site).await;
    let (until_it_runs, until_it_is_gone) = Step::ALL.split_at(6);
    for step in until_it_runs {
        life.until(site, *step).await;
        hit(site, victim).await;
    }
    let (claim, node) = life.until_running(site).await;
    let hits = async {
        for step in until_it_is_gone {
            life.until(site, *step).await;
            hit(site, victim).await;
        }
    };
    tokio::join!(life.end(site, &claim, &node), hits);
}

async fn hit(site: &Site, victim: Victim) {
    match victim {
        Victim::Program(name) => site.troupe.kill_and_start(name).await.unwrap(),
        Victim::Part(component) => site.control_plane.restart(component).await.unwrap(),
    }
}
