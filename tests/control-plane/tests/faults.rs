//! Whatever is killed, at whatever step: it starts again, and the claim comes to the same end.
//!
//! One life after the other on a control plane of its own, because what is killed here is everybody's.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use control_plane::{
    Component,
    lives::{self, Life},
    site::Site,
    stagehand::{claim_path, on_site},
};

const SUPERVISOR: &str = env!("CARGO_BIN_EXE_control-plane");

/// What is hit.
#[derive(Debug, Clone, Copy)]
enum Victim {
    Function(&'static str),
    /// Its watches end with it, and so does every request under way.
    Part(Component),
}

/// How far the claim has come when it is hit, in the order of its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The launch record is written; the machine may be ordered or not.
    Ordered,
    Launched,
    Registered,
    /// Usable, with work on it, and deleted a moment ago.
    Deleted,
    /// Drained, the machine on its way out.
    Drained,
}

const VICTIMS: [Victim; 6] = [
    Victim::Function("on-nodeclaim"),
    Victim::Function("on-delete"),
    Victim::Part(Component::ApiServer),
    Victim::Part(Component::Etcd),
    Victim::Part(Component::ControllerManager),
    Victim::Part(Component::Scheduler),
];

const STEPS: [Step; 5] = [Step::Ordered, Step::Launched, Step::Registered, Step::Deleted, Step::Drained];

#[test]
#[ignore = "needs a control plane: make cluster"]
fn whatever_is_killed_at_whatever_step_the_claim_comes_to_the_same_end() {
    on_site(SUPERVISOR, |site| async move {
        for (number, victim) in VICTIMS.into_iter().enumerate() {
            // All steps of one victim side by side would hit each other; each life takes one hit a step instead.
            let life = match number % 3 {
                0 => Life::of_kaito(&format!("wshit{number}")),
                1 => Life::scaleway(&format!("hit{number}")),
                _ => Life::webhook(&format!("hit{number}")),
            };
            live_through(site, &life, victim).await;
        }
    });
}

async fn live_through(site: &Site, life: &Life, victim: Victim) {
    println!("{victim:?} is killed at every step of {}", life.name);
    let hits = async {
        for step in &STEPS[..3] {
            until(site, life, *step).await;
            hit(site, victim).await;
        }
    };
    let (node, ()) = tokio::join!(lives::until_usable(site, life), hits);
    let pod = lives::work_on(site, &life.name, &node).await;
    site.delete(&claim_path(&life.name)).await;
    hit(site, victim).await;
    site.until_gone(&pod).await;
    until(site, life, Step::Drained).await;
    hit(site, victim).await;
    lives::until_nothing_is_left(site, life, &node).await;
}

async fn until(site: &Site, life: &Life, step: Step) {
    let look = || async {
        let Some(claim) = site.claim(&life.name).await else {
            // Gone already is as far as it can come; not made yet is not far enough.
            return (step == Step::Drained).then_some(());
        };
        let reached = match step {
            Step::Ordered => claim["metadata"]["annotations"]["pilotlight.dev/launch"].is_string(),
            Step::Launched => control_plane::stagehand::is(&claim, "Launched"),
            Step::Registered => control_plane::stagehand::is(&claim, "Registered"),
            Step::Deleted => claim["metadata"]["deletionTimestamp"].is_string(),
            Step::Drained => control_plane::stagehand::is(&claim, "Drained"),
        };
        reached.then_some(())
    };
    site.until(&format!("{} is {step:?}", life.name), look).await;
}

async fn hit(site: &Site, victim: Victim) {
    match victim {
        Victim::Function(name) => {
            site.kill_function(name);
            site.start_function(name).await.unwrap();
        }
        Victim::Part(component) => site.control_plane.restart(component).await.unwrap(),
    }
}
