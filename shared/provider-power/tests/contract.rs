//! The provider contract over the world's rack, for each way of switching, bare and dressed.
//!
//! Beside the suite's own faults, `faults.rs` puts every fault that the world knows at every request of a life.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use async_trait::async_trait;
use common::{Kind, MAAS_KEY, PASSWORD, Since, holders, provider};
use core::time::Duration;
use model::{Arch, CapacityType, InstanceKey, Offering, OfferingId, Stock};
use provider::contract::{
    Failures, Fault, Foreign, Mishap, Outcome, Request, Subject, Through, Unobtainable, key, run,
};
use provider::{Provider, Scope, Settings, dressed};
use provider_power::{HoldTable, MachineConfig};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};
use world::{
    World, WorldOptions,
    faults::{self, Matching},
    history::Place,
    power::{BackEnd, MachineOptions, MachineRecord, Options, Verb},
};

/// As many as any case asks for: each costs time in every one of some thousand racks.
const MACHINES: [&str; 3] = ["rack-1", "rack-2", "rack-3"];
/// Takes every power-on, and stays off.
const DEAD: &str = "dead";
/// On the list, left on by somebody, and held by no claim.
const LEFT_ON: &str = "left-on";

/// In which of the world's faults a mishap of the suite appears.
#[derive(Debug, Clone, Copy)]
enum Dialect {
    /// Connections break, nobody answers, 502, 429.
    Plain,
    /// The caller dies, 408, 500, 503 with a time to wait.
    Other,
}

impl Dialect {
    fn fault(self, mishap: Mishap) -> faults::Mishap {
        let answer = |status, done, retry_after| faults::Mishap::Answer { status, done, retry_after };
        match (self, mishap) {
            (Dialect::Plain, Mishap::Reset { done }) => faults::Mishap::Reset { done },
            (Dialect::Plain, Mishap::TimeOut { done }) => faults::Mishap::TimeOut { done },
            (Dialect::Plain, Mishap::BadGateway { done }) => answer(502, done, None),
            (Dialect::Plain, Mishap::Throttled { retry_after }) => answer(429, false, Some(retry_after.as_secs())),
            (Dialect::Other, Mishap::Reset { done }) => faults::Mishap::Crash { done },
            (Dialect::Other, Mishap::TimeOut { done }) => answer(408, done, None),
            (Dialect::Other, Mishap::BadGateway { done }) => answer(500, done, None),
            (Dialect::Other, Mishap::Throttled { retry_after }) => answer(503, false, Some(retry_after.as_secs())),
        }
    }
}

/// How much was done, for the report.
#[derive(Default)]
struct Counts {
    racks: AtomicUsize,
    faults: AtomicUsize,
}

struct Rack {
    world: World,
    holders: HoldTable,
    kind: Kind,
    dialect: Dialect,
    counts: Arc<Counts>,
    keys: AtomicU64,
    given: AtomicUsize,
}

impl Rack {
    fn start(kind: Kind, dialect: Dialect, counts: &Arc<Counts>) -> Rack {
        counts.racks.fetch_add(1, Ordering::SeqCst);
        let machine = |name: &str| MachineOptions::new(name, kind.world(), 4);
        let mut machines: Vec<MachineOptions> = MACHINES.iter().map(|name| machine(name)).collect();
        let mut dead = machine(DEAD);
        dead.faults.ignores_power_on = true;
        let mut left_on = MachineOptions { starts_on: true, ..machine(LEFT_ON) };
        left_on.faults.never_joins = true;
        machines.extend([dead, left_on]);
        let power = Options {
            machines,
            account: Some(("admin".to_owned(), PASSWORD.to_owned())),
            maas_key: Some(MAAS_KEY.to_owned()),
            ..Options::default()
        };
        let world = World::start(WorldOptions { power, ..WorldOptions::default() });
        let holders = holders(&world, &Since::default());
        let counts = counts.clone();
        Rack { world, holders, kind, dialect, counts, keys: AtomicU64::new(0), given: AtomicUsize::new(0) }
    }

    /// The machines that a claim's command switched on, and that are on or will be.
    fn on_for(&self, key: &InstanceKey) -> Vec<MachineRecord> {
        let calls = self.world.power.calls();
        let is_of = |record: &MachineRecord| {
            let last = calls.iter().rfind(|call| call.machine == record.name && call.verb == Verb::On);
            let command = last.and_then(|call| call.idempotency_key.as_deref());
            command.is_some_and(|command| command.starts_with(key.claim.as_str()))
        };
        let machines = self.world.power.snapshot().into_iter();
        machines.filter(|record| (record.on || record.settling) && is_of(record)).collect()
    }
}

#[async_trait]
impl Subject for Rack {
    async fn provider(&self) -> Arc<dyn Provider> {
        let names = MACHINES.iter().chain([&DEAD, &LEFT_ON]);
        let machine = |name: &&str| MachineConfig::new(name, 4, self.kind.config(&self.world, name));
        Arc::new(provider(&self.world, &self.holders, names.map(machine).collect()))
    }

    fn fresh_key(&self) -> InstanceKey {
        key(self.keys.fetch_add(1, Ordering::SeqCst) + 1)
    }

    fn obtainable(&self) -> Offering {
        let number = self.given.fetch_add(1, Ordering::SeqCst);
        offering(MACHINES.get(number).expect("a case asks for more machines than there are"))
    }

    fn without_stock(&self) -> Option<Unobtainable> {
        let offering = offering(DEAD);
        Some(Unobtainable { scope: Scope::Offering(offering.id.clone()), offering })
    }

    fn over_quota(&self) -> Option<Unobtainable> {
        None
    }

    async fn advance(&self, by: Duration) {
        self.world.clock.sleep(by).await;
    }

    async fn live(&self, key: &InstanceKey) -> usize {
        self.on_for(key).len()
    }

    async fn boots(&self, key: &InstanceKey) -> Option<u32> {
        self.on_for(key).first().map(|machine| machine.boots)
    }

    async fn billed(&self, key: &InstanceKey) -> Vec<String> {
        let state = |record: &MachineRecord| if record.on { "on" } else { "coming on" };
        self.on_for(key).iter().map(|record| format!("machine {} ({})", record.name, state(record))).collect()
    }

    async fn requests(&self) -> Vec<Request> {
        let exchanges = self.world.history.exchanges().into_iter().filter(|exchange| exchange.to == Place::Power);
        let request = |exchange: world::history::Exchange| Request {
            what: format!("{} {}", exchange.method, exchange.path),
            changes: exchange.method != "GET",
        };
        exchanges.map(request).collect()
    }

    async fn inject(&self, fault: Fault) {
        self.counts.faults.fetch_add(1, Ordering::SeqCst);
        let on = Matching { to: Some("power".to_owned()), nth: Some(fault.nth), ..Matching::default() };
        self.world.faults.add(faults::Fault { on, then: self.dialect.fault(fault.mishap) });
    }

    async fn plant_foreign(&self, _: &InstanceKey) -> Foreign {
        Foreign::CannotBe("a machine on the list is ours to switch; one that another claim has is out of stock")
    }

    async fn foreign(&self, _: &InstanceKey) -> String {
        format!("{:?}", self.world.power.snapshot().into_iter().find(|record| record.name == LEFT_ON))
    }
}

fn offering(machine: &str) -> Offering {
    let id = OfferingId {
        provider: "power".to_owned(),
        instance_type: machine.to_owned(),
        zone: None,
        capacity_type: CapacityType::OnDemand,
    };
    let (capacity, labels) = (model::Resources::new(), BTreeMap::new());
    Offering { id, gpu: None, capacity, arch: Arch::Amd64, price: None, labels, stock: Stock::Unknown }
}

/// The suite as it is, in the other words for its faults, and around a dressed provider.
async fn keeps_the_contract(kind: Kind) -> Result<(), Failures> {
    let counts = Arc::new(Counts::default());
    let plain = run(async || Rack::start(kind, Dialect::Plain, &counts)).await?;
    let other = run(async || Rack::start(kind, Dialect::Other, &counts)).await?;
    let in_clothes = run(async || Through {
        subject: Rack::start(kind, Dialect::Plain, &counts),
        around: |inner| dressed(inner, Settings::default()),
    })
    .await?;
    assert_eq!((&plain, &plain), (&other, &in_clothes));
    let skipped = plain.0.iter().filter(|(_, outcome)| *outcome != Outcome::Passed).count();
    assert_eq!(skipped, 2, "somebody else's and quota, nothing else:\n{plain}");
    let (racks, faults) = (counts.racks.load(Ordering::SeqCst), counts.faults.load(Ordering::SeqCst));
    println!("{kind:?}, three times (plain, other faults, dressed): {racks} racks, {faults} faults\n{plain}");
    let least = if kind.world() == BackEnd::Webhook { 300 } else { 1000 };
    assert!(faults > least, "{faults} faults: did the requests go missing?");
    Ok(())
}

#[tokio::test(start_paused = true)]
#[ignore = "long: make lives"]
async fn the_seed_keeps_the_contract() -> Result<(), Failures> {
    keeps_the_contract(Kind::Seed).await
}

#[tokio::test(start_paused = true)]
#[ignore = "long: make lives"]
async fn a_maas_webhook_keeps_the_contract() -> Result<(), Failures> {
    keeps_the_contract(Kind::MaasPower).await
}

#[tokio::test(start_paused = true)]
#[ignore = "long: make lives"]
async fn redfish_keeps_the_contract() -> Result<(), Failures> {
    keeps_the_contract(Kind::Redfish).await
}
