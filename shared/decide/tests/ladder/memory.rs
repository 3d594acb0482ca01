//! What a refusal teaches, and for how long.

use crate::market::{A100, aks, azure, claim, now, rack, scaleway};
use decide::ladder::memory_of;
use jiff::Timestamp;
use model::{CapacityType, Failure, Offering, Retry, Scope, StockMemory};

fn failure(reason: &'static str, scope: Option<Scope>, limit: Option<u64>) -> Failure {
    Failure { reason, message: "refused".into(), retry: Retry::NextOffering, scope, limit }
}

fn minutes(failure: &Failure, offering: &Offering) -> Option<i64> {
    let lines = memory_of(failure, offering, now());
    let line = lines.first()?;
    assert_eq!((lines.len(), Some(&line.scope), line.reason.as_str()), (1, failure.scope.as_ref(), failure.reason));
    Some(line.until.duration_since(now()).as_mins())
}

fn no_stock(offering: &Offering, scope: Scope) -> Option<i64> {
    minutes(&failure("InsufficientCapacity", Some(scope), None), offering)
}

fn no_quota(offering: &Offering, scope: Scope, limit: u64) -> Option<i64> {
    minutes(&failure("QuotaExceeded", Some(scope), Some(limit)), offering)
}

fn of_type(offering: &Offering) -> Scope {
    let id = offering.id.clone();
    Scope::InstanceType { provider: id.provider, instance_type: id.instance_type }
}

fn sizes() -> [Offering; 3] {
    let zone = Some("westeurope-1");
    [(zone, CapacityType::OnDemand), (zone, CapacityType::Spot), (None, CapacityType::OnDemand)]
        .map(|(zone, kind)| aks(A100, zone, kind, 1, 1))
}

#[test]
fn a_shortage_of_one_offering_is_remembered_as_its_cloud_deserves() {
    for (offering, expected) in [(&azure()[0], 60), (&scaleway()[0], 10), (&rack()[0], 5)] {
        assert_eq!(no_stock(offering, Scope::Offering(offering.id.clone())), Some(expected), "{}", offering.id);
    }
    let mut unknown = azure().remove(0);
    unknown.id.provider = "new".into();
    assert_eq!(no_stock(&unknown, Scope::Offering(unknown.id.clone())), Some(3));
}

#[test]
fn a_size_that_is_not_sold_is_remembered_for_a_day_and_as_spot_for_an_hour() {
    let [zonal, spot, regional] = sizes();
    assert_eq!(no_stock(&zonal, of_type(&zonal)), Some(23 * 60));
    assert_eq!(no_stock(&spot, of_type(&spot)), Some(60));
    assert_eq!(no_stock(&regional, of_type(&regional)), Some(60), "it may only have been out of stock in the region");
}

#[test]
fn a_used_up_quota_is_looked_at_again_soon_and_one_of_zero_later() {
    let [zonal, spot, _] = sizes();
    let family = || Scope::Family { provider: "aks".into(), family: "A100".into() };
    assert_eq!(no_quota(&zonal, family(), 48), Some(10));
    assert_eq!(no_quota(&zonal, family(), 0), Some(60));
    assert_eq!(no_quota(&spot, family(), 48), Some(60), "all spot machines share one quota");
    assert_eq!(no_quota(&scaleway()[0], of_type(&scaleway()[0]), 2), Some(10), "a quota of a type is a quota");
}

#[test]
fn a_whole_provider_is_out_only_for_a_moment() {
    let [zonal, ..] = sizes();
    assert_eq!(no_quota(&zonal, Scope::Provider { provider: "aks".into() }, 0), Some(3));
    assert_eq!(no_stock(&zonal, Scope::Provider { provider: "aks".into() }), Some(3));
}

#[test]
fn a_failure_that_is_not_about_capacity_teaches_nothing() {
    assert_eq!(memory_of(&failure("Throttled", None, None), &azure()[0], now()), []);
}

#[test]
fn at_the_end_of_time_nothing_overflows() {
    let [zonal, ..] = sizes();
    let lines = memory_of(&failure("QuotaExceeded", Some(of_type(&zonal)), None), &zonal, Timestamp::MAX);
    assert_eq!(lines[0].until, Timestamp::MAX);
}

#[test]
fn what_was_learnt_takes_the_offering_off_the_ladder() {
    let ask = claim(&[]);
    let first = ask.of(&scaleway()).rungs.remove(0);
    let refused = failure("InsufficientCapacity", Some(Scope::Offering(first.id.clone())), None);
    let memory = StockMemory { lines: memory_of(&refused, &first, now()) };
    assert!(memory.against(&first, now()).is_some());
    let second =
        ask.remembering(memory.lines[0].scope.clone(), "12:10", "InsufficientCapacity").of(&scaleway()).rungs.remove(0);
    assert_ne!(first.id, second.id);
}
