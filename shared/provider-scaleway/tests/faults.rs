//! Every fault at every request of a life: it still comes to exactly one server, and then to nothing.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Stage, lines, request, with_class};
use jiff::SignedDuration;
use model::InstanceRequest;
use world::faults::{Fault, Matching, Mishap};

/// Longer than the client waits, so it is done behind the client's back.
const LATE: Mishap = Mishap::Slow { milliseconds: 45_000 };

/// Each fault of the world that a cloud's client can meet. Whether a read was done makes no difference to anybody.
fn mishaps(method: &str) -> Vec<Mishap> {
    let both: &[bool] = if method == "GET" { &[false] } else { &[true, false] };
    let faults = |&done: &bool| {
        let answer = |status| Mishap::Answer { status, done, retry_after: None };
        [
            Mishap::Crash { done },
            Mishap::TimeOut { done },
            Mishap::Reset { done },
            answer(409),
            answer(412),
            answer(429),
            answer(500),
            answer(502),
            answer(503),
            answer(504),
        ]
    };
    let mut all: Vec<Mishap> = both.iter().flat_map(faults).collect();
    all.push(Mishap::Answer { status: 429, done: false, retry_after: Some(7) });
    all.push(Mishap::Slow { milliseconds: 20_000 });
    all.push(LATE);
    all
}

fn at_request(nth: u64, times: u64, then: Mishap) -> Fault {
    let on = Matching { to: Some("scaleway".to_owned()), nth: Some(nth), times: Some(times), ..Matching::default() };
    Fault { on, then }
}

/// Lives a whole life with one fault, and tells the methods of its requests.
async fn live(request: &InstanceRequest, fault: Option<Fault>) -> Vec<String> {
    let stage = Stage::plain();
    let told = format!("{fault:?}");
    let is_late = fault.as_ref().is_some_and(|fault| fault.then == LATE);
    if let Some(fault) = fault {
        stage.world.faults.add(fault);
    }
    let instance = stage.drive(request).await.unwrap_or_else(|error| panic!("{told}: {error}"));
    let present = stage.present();
    let history = || lines(&stage.world.history.exchanges()).join("\n");
    assert_eq!((present.servers.len(), present.servers[0].billed), (1, true), "{told}\n{}", history());
    assert!(instance.provider_id.ends_with(&present.servers[0].id), "{told}");
    assert!(present.volumes.iter().all(|volume| volume.server.is_some()), "{told}\n{}", history());
    stage.drive_gone(&request.key).await.unwrap_or_else(|error| panic!("{told}: {error}"));
    assert!(stage.present().is_empty(), "{told}: {:?}\n{}", stage.present(), history());
    if is_late {
        // There is no way to take back a create that is under way, so two may exist. Only one may ever be started.
        let started = stage.world.scaleway.snapshot().servers.iter().filter(|server| server.power_ons > 0).count();
        assert_eq!(started, 1, "{told}\n{}", history());
    } else {
        stage.world.check(SignedDuration::ZERO).unwrap_or_else(|violation| panic!("{told}: {violation}"));
    }
    stage.assert_no_secret_was_said();
    stage.world.history.exchanges().into_iter().map(|exchange| exchange.method).collect()
}

async fn every_fault_at_every_request(request: InstanceRequest) {
    let methods = live(&request, None).await;
    assert!((20..80).contains(&methods.len()), "{}", methods.len());
    let mut lives = 0;
    for (nth, method) in (1..).zip(&methods) {
        for mishap in mishaps(method) {
            live(&request, Some(at_request(nth, 1, mishap))).await;
            lives += 1;
        }
    }
    println!("{lives} lives, each with one fault at one of {} requests", methods.len());
}

#[tokio::test(start_paused = true)]
async fn a_plain_server_survives_every_fault_at_every_request() {
    every_fault_at_every_request(request("L4-1-24G", "fr-par-2")).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_with_scratch_address_and_network_survives_every_fault_at_every_request() {
    let network = "6f1c0d3e-5555-4222-8333-944444444444";
    let class = [("scratch", "true"), ("public-ip", "flexible"), ("private-network", network)];
    every_fault_at_every_request(with_class(request("L40S-1-48G", "fr-par-2"), &class)).await;
}

#[tokio::test(start_paused = true)]
async fn faults_that_are_for_the_readers_of_a_cluster_change_nothing() {
    let request = request("L4-1-24G", "fr-par-2");
    for mishap in
        [Mishap::Stale { revisions: 3 }, Mishap::DropWatch { milliseconds: 1 }, Mishap::DelayWatch { milliseconds: 1 }]
    {
        let every_request = Some(at_request(1, u64::MAX, mishap));
        live(&request, every_request).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_cloud_that_is_away_for_a_while_at_any_moment_changes_nothing() {
    let request = request("L4-1-24G", "fr-par-2");
    for nth in (1..=30).step_by(2) {
        for mishap in [Mishap::Reset { done: false }, Mishap::Answer { status: 503, done: true, retry_after: None }] {
            live(&request, Some(at_request(nth, 5, mishap))).await;
        }
    }
}
