//! A hundred claims at once, two copies of each function, and events that come twice, late, or in another order.

#![allow(clippy::unwrap_used)]

use faults::{Kind, Theatre};
use jiff::SignedDuration;
use std::time::Duration;
use world::{
    WorldOptions,
    deliveries::DeliveryFaults,
    power::{BackEnd, MachineOptions},
};

const CLAIMS: usize = 100;

/// Room for a hundred machines: quotas and limits are other tests' business.
fn roomy(options: &mut WorldOptions) {
    options.arm.limits.pools = CLAIMS + 10;
    // A cluster changes one pool at a time: a hundred at its usual pace would be a day.
    let quick = (Duration::from_secs(2), Duration::from_secs(8));
    (options.arm.timings.boot, options.arm.timings.settle) = (quick, quick);
    (options.arm.timings.stop, options.arm.timings.delete) = (quick, quick);
    (options.arm.quota.family_default, options.arm.quota.regional) = (1_000_000, 1_000_000);
    let machine = |number| MachineOptions::new(&format!("rack-{number}"), BackEnd::Webhook, 1);
    options.power.machines = (1..=CLAIMS).map(machine).collect();
}

async fn come_and_go(kind: Kind) {
    let mut theatre = Theatre::with(roomy).await;
    let mut messenger = theatre.messenger();
    messenger.copies = 2;
    messenger.faults =
        DeliveryFaults { duplicated: 30, dropped: 10, reordered: 40, delayed: 50, longest_delay_ms: 3_000 };
    theatre.play(messenger);
    let names: Vec<String> = (1..=CLAIMS).map(|number| format!("gpu{number}")).collect();
    for name in &names {
        theatre.create(kind.claim(name)).await;
    }
    theatre.until_each("all are ready", &names, Theatre::is_ready).await;
    let made = made(&theatre, kind);
    assert_eq!(made, CLAIMS, "{}: each claim has made one machine", kind.name());
    for name in &names {
        theatre.delete(name).await;
    }
    theatre.until_each("all are gone", &names, Theatre::is_gone).await;
    // Late events of claims that are gone find nothing to do.
    theatre.pass(Duration::from_secs(600)).await;
    let quiet_from = theatre.world.clock.now();
    theatre.pass(Duration::from_secs(3600)).await;
    theatre.world.check(SignedDuration::ZERO).unwrap();
    theatre.world.check_quiet_since(quiet_from).unwrap();
    assert_eq!(self::made(&theatre, kind), CLAIMS, "{}: and no more since", kind.name());
    assert!(theatre.world.power.snapshot().iter().all(|machine| !machine.on));
    assert!(theatre.world.instances().iter().all(|instance| instance.until.is_some()));
}

/// How many machines were ever made, or switched on.
fn made(theatre: &Theatre, kind: Kind) -> usize {
    match kind {
        Kind::Aks | Kind::Scaleway => theatre.world.instances().len(),
        Kind::Power => {
            let boots = theatre.world.power.snapshot().iter().map(|machine| machine.boots).sum::<u32>();
            usize::try_from(boots).unwrap()
        }
    }
}

#[tokio::test(start_paused = true)]
#[ignore = "a minute long: make lives"]
async fn a_hundred_agent_pools_are_made_once_each_and_none_is_left() {
    come_and_go(Kind::Aks).await;
}

#[tokio::test(start_paused = true)]
#[ignore = "a minute long: make lives"]
async fn a_hundred_scaleway_servers_are_made_once_each_and_none_is_left() {
    come_and_go(Kind::Scaleway).await;
}

#[tokio::test(start_paused = true)]
#[ignore = "a minute long: make lives"]
async fn a_hundred_machines_are_switched_on_once_each_and_none_stays_on() {
    come_and_go(Kind::Power).await;
}
