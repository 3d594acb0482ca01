//! Tests of the launch record's text.

#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use model::Quantity;
use proptest::{collection, option, prelude::*, sample};

fn at() -> impl Strategy<Value = Timestamp> {
    (0_i64..4_000_000_000, 0_i32..1_000_000_000).prop_map(|(seconds, nanos)| Timestamp::new(seconds, nanos).unwrap())
}

fn id() -> impl Strategy<Value = OfferingId> {
    let capacity_types = sample::select(vec![CapacityType::OnDemand, CapacityType::Spot, CapacityType::Reserved]);
    (".{0,9}", ".{0,30}", option::of(".{0,20}"), capacity_types).prop_map(
        |(provider, instance_type, zone, capacity_type)| OfferingId { provider, instance_type, zone, capacity_type },
    )
}

fn offering() -> impl Strategy<Value = Offering> {
    let gpu = (".{0,12}", any::<u32>(), any::<u64>(), any::<bool>())
        .prop_map(|(model, count, memory_mib, mig_capable)| Gpu { model, count, memory_mib, mig_capable });
    let capacity = collection::btree_map(
        "[a-z./-]{1,20}",
        (0_i128..1_000_000_000_000_000).prop_map(Quantity::from_thousandths),
        0..5,
    );
    let price = (any::<u64>(), "[A-Z]{3}", 2000_i16..2100, 1_i8..=12, 1_i8..=28).prop_map(
        |(millionths_per_hour, currency, year, month, day)| Price {
            millionths_per_hour,
            currency,
            as_of: Date::new(year, month, day).unwrap(),
        },
    );
    let arch = sample::select(vec![Arch::Amd64, Arch::Arm64]);
    let stock = sample::select(vec![Stock::Available, Stock::Scarce, Stock::Shortage, Stock::Unknown]);
    let labels = collection::btree_map(".{1,20}", ".{0,20}", 0..4);
    (id(), option::of(gpu), capacity, arch, option::of(price), labels, stock).prop_map(
        |(id, gpu, capacity, arch, price, labels, stock)| {
            let capacity = capacity.into();
            Offering { id, gpu, capacity, arch, price, labels, stock }
        },
    )
}

fn record() -> impl Strategy<Value = LaunchRecord> {
    let attempt = (id(), ".{0,30}", at()).prop_map(|(offering, reason, at)| Attempt { offering, reason, at });
    let progress = option::of(".{0,80}".prop_map(Progress));
    (any::<u32>(), offering(), at(), option::of(at()), at(), progress, collection::vec(attempt, 0..4), any::<bool>())
        .prop_map(|(epoch, offering, begun_at, accepted_at, deadline, progress, tried, told_joined)| LaunchRecord {
            epoch,
            offering,
            begun_at,
            accepted_at,
            deadline,
            progress,
            tried,
            told_joined,
        })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(record in record()) {
        let text = write(&record).unwrap();
        prop_assert_eq!(read(Some(&text)), Launch::Recorded(Box::new(record)));
    }

    #[test]
    fn whatever_stands_there_is_read_without_a_panic(text in ".{0,200}") {
        let unreadable = matches!(read(Some(&text)), Launch::Unreadable { .. });
        prop_assert!(unreadable);
    }
}

const SMALL: &str = r#"{"v":1,"epoch":2,"begunAt":"2026-01-01T00:00:00Z","deadline":"2026-01-01T00:20:00Z","progress":"op-1","offering":{"provider":"aks","instanceType":"Standard_NC24ads_A100_v4","zone":"westeurope-1","capacityType":"spot","arch":"amd64","capacity":{"nvidia.com/gpu":"1"},"stock":"unknown"},"tried":[{"provider":"aks","instanceType":"Standard_NC24ads_A100_v4","capacityType":"on-demand","reason":"QuotaExceeded","at":"2026-01-01T00:00:00Z"}]}"#;

fn small() -> LaunchRecord {
    match read(Some(SMALL)) {
        Launch::Recorded(record) => *record,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_text_is_small_and_its_order_is_fixed() {
    assert_eq!(write(&small()).unwrap(), SMALL);
}

#[test]
fn a_field_of_a_later_build_is_passed_over() {
    let later = SMALL.replacen("\"epoch\":2", "\"epoch\":2,\"mood\":{\"good\":true}", 1);
    assert_eq!(read(Some(&later)), Launch::Recorded(Box::new(small())));
}

#[test]
fn anything_else_is_unreadable_and_says_why() {
    let check = |text: &str, words: &str| match read(Some(text)) {
        Launch::Unreadable { why } => assert!(why.contains(words), "{text}: {why}"),
        other => panic!("{text}: {other:?}"),
    };
    check("", "EOF");
    check("{}", "missing field `v`");
    check(&SMALL.replace("\"v\":1", "\"v\":2"), "version 2");
    check(&SMALL.replace("\"spot\"", "\"borrowed\""), "capacityType: \"borrowed\"");
    check(&SMALL.replace("\"amd64\"", "\"riscv\""), "offering.arch: \"riscv\"");
    check(
        &SMALL.replace("{\"nvidia.com/gpu\":\"1\"}", "{\"nvidia.com/gpu\":\"-1\"}"),
        "offering.capacity.nvidia.com/gpu",
    );
    check(&SMALL.replace("2026-01-01T00:20:00Z", "soon"), "deadline");
    assert_eq!(read(None), Launch::NotBegun);
}
