//! Caps: what is counted, what is refused, and that no order of events lets spending pass one.

#![allow(clippy::unwrap_used)]

mod common;

use decide::money::{Capped, Money, PoolCap, caps, settled};
use jiff::{Timestamp, civil::date};
use model::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).unwrap()
}

fn uid(number: usize) -> Uid {
    Uid::new(format!("claim-{number}")).unwrap()
}

fn price(whole: u64) -> Price {
    Price { millionths_per_hour: whole * 1_000_000, currency: "EUR".into(), as_of: date(2026, 11, 1) }
}

fn entry(whole: u64, pool: &str, second: i64) -> Entry {
    Entry::new(&price(whole), Some(pool.to_owned()), at(second))
}

fn capped(cap: &str, spent: u64) -> Capped {
    Capped { on: "this cluster".into(), cap: Cap::read(cap), spent: spent * 1_000_000 }
}

#[test]
fn up_to_the_cap_is_allowed_and_a_millionth_more_is_not() {
    assert_eq!(capped("10", 7).refuses(Some(&price(3))), None);
    let over = Price { millionths_per_hour: 3_000_001, ..price(3) };
    assert_eq!(
        capped("10 EUR", 7).refuses(Some(&over)).unwrap(),
        "this cluster may spend 10 EUR/h; it spends 7/h, and this one costs 3.000001 EUR/h more"
    );
}

#[test]
fn what_cannot_be_counted_is_refused() {
    let check = |cap: &str, price: Option<Price>, words: &str| {
        let why = capped(cap, 0).refuses(price.as_ref()).unwrap();
        assert!(why.contains(words), "{why}");
    };
    check("10 EUR", None, "nobody knows what this one costs");
    check("10 USD", Some(price(1)), "paid in EUR, which cannot be counted in USD");
    check("ten", Some(price(1)), "may spend nothing until its cap can be read");
}

#[test]
fn a_pool_is_counted_by_itself_and_the_cluster_by_all_of_them() {
    let ledger = Ledger([(uid(1), entry(2, "a", 0)), (uid(2), entry(5, "b", 0))].into());
    let annotations = BTreeMap::from([(names::MAX_PRICE_PER_HOUR.to_owned(), "4".to_owned())]);
    let pool = PoolCap::read("a", &annotations);
    let cluster = Cap::read("100").unwrap();
    let spent = |except: Option<&Uid>| -> Vec<u64> {
        let found = caps(Some(&cluster), pool.clone(), &ledger, &[], except);
        found.iter().map(|capped| capped.spent / 1_000_000).collect()
    };
    assert_eq!(spent(None), [2, 7]);
    assert_eq!(spent(Some(&uid(1))), [0, 5], "nobody is counted against itself");
    assert_eq!(PoolCap::read("a", &BTreeMap::new()), None);
}

#[test]
fn the_ledger_keeps_what_somebody_may_have_and_crosses_out_the_rest() {
    let ledger = Ledger((1..=4).map(|number| (uid(number), entry(1, "a", -600))).collect());
    let known: BTreeSet<Uid> = [uid(1)].into();
    // The second is still in a cloud, the third nowhere; the fourth was allowed a moment ago and its claim is gone.
    let owned: BTreeMap<Uid, Option<Entry>> = [(uid(2), None), (uid(9), Some(entry(3, "b", 0)))].into();
    let after = settled(&ledger, &known, &[], &owned, at(0));
    assert_eq!(after.0.keys().cloned().collect::<Vec<_>>(), [uid(1), uid(2), uid(9)]);
}

/// A claim whose only offering was refused so many seconds after the beginning.
fn refused(number: usize, second: i64) -> Claim {
    let mut claim = common::claim(&format!("claim-{number}"));
    let id = OfferingId {
        provider: "scaleway".into(),
        instance_type: "H100-1-80G".into(),
        zone: None,
        capacity_type: CapacityType::OnDemand,
    };
    let offering = Offering {
        id: id.clone(),
        gpu: None,
        capacity: Resources::new(),
        arch: Arch::Amd64,
        price: Some(price(3)),
        labels: BTreeMap::new(),
        stock: Stock::Available,
    };
    let tried = vec![Attempt { offering: id, reason: "InsufficientCapacity".into(), at: at(second) }];
    claim.launch = Launch::Recorded(Box::new(LaunchRecord {
        epoch: 1,
        offering,
        begun_at: at(second),
        accepted_at: None,
        deadline: at(900),
        progress: None,
        tried,
        told_joined: false,
    }));
    claim
}

#[test]
fn the_money_of_what_was_refused_is_free_when_nobody_can_be_asking_for_it_any_more() {
    let known: BTreeSet<Uid> = [uid(1)].into();
    let left = |allowed: i64, owned: &BTreeMap<Uid, Option<Entry>>, now: i64| {
        let ledger = Ledger([(uid(1), entry(3, "a", allowed))].into());
        settled(&ledger, &known, &[refused(1, 0)], owned, at(now)).0.len()
    };
    let nothing = BTreeMap::new();
    assert_eq!(left(0, &nothing, 60), 1, "somebody else may have asked for the same at the same time");
    assert_eq!(left(0, &nothing, 61), 0);
    assert_eq!(left(0, &[(uid(1), None)].into(), 61), 1, "and a cloud says that it was given to them");
    assert_eq!(left(30, &nothing, 61), 1, "the next machine was allowed since");
}

/// Claims that want machines of these prices, one step each in any order: read and count, or write what was counted. As the
/// API server has it, a write against an old version fails.
fn never_passes(cap: u64, prices: &[u64], order: &[(usize, bool)]) -> Result<(), TestCaseError> {
    let cap = Cap::read(&cap.to_string()).unwrap();
    let (mut ledger, mut version) = (Ledger::default(), 0_u64);
    let mut reading: BTreeMap<usize, (Ledger, u64)> = BTreeMap::new();
    let mut running: BTreeMap<usize, u64> = BTreeMap::new();
    for (claim, writes) in order.iter().copied() {
        let claim = claim % prices.len();
        if running.contains_key(&claim) {
            continue;
        }
        if !writes {
            let except = uid(claim);
            let money = Money {
                caps: caps(Some(&cap), None, &ledger, &[], Some(&except)),
                ledger: ledger.clone(),
                version: None,
            };
            if money.caps.iter().all(|capped| capped.refuses(Some(&price(prices[claim]))).is_none()) {
                let mut after = ledger.clone();
                after.0.insert(except, entry(prices[claim], "a", 0));
                reading.insert(claim, (after, version));
            }
        } else if let Some((after, read)) = reading.remove(&claim)
            && read == version
        {
            (ledger, version) = (after, version + 1);
            running.insert(claim, prices[claim]);
        }
        let spent: u64 = running.values().sum::<u64>() * 1_000_000;
        prop_assert!(spent <= cap.millionths_per_hour, "{spent} of {cap}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn whoever_counts_at_the_same_time_the_cap_holds(
        cap in 0_u64..20,
        prices in proptest::collection::vec(1_u64..9, 1..8),
        order in proptest::collection::vec((0_usize..8, any::<bool>()), 0..80),
    ) {
        never_passes(cap, &prices, &order)?;
    }
}
