//! Capacity, quota and throttling as Azure words them, and the scope each is remembered by.

use crate::common::*;
use model::{CapacityType, Offering};
use provider::{Change as _, ProviderError, Scope};
use std::time::Duration;
use world::arm::{Effect, Fault, QuotaAnswer, Shortage, When};

fn of_offering(one: &Offering) -> Scope {
    Scope::Offering(one.id.clone())
}

fn of_size(one: &Offering) -> Scope {
    Scope::InstanceType { provider: "aks".into(), instance_type: one.id.instance_type.clone() }
}

#[tokio::test(start_paused = true)]
async fn each_shortage_has_its_scope_wherever_it_shows_up() {
    type Case = (Shortage, Option<&'static str>, fn(&Offering) -> Scope);
    let cases: [Case; 6] = [
        (Shortage::SkuNotAvailable, None, of_offering),
        (Shortage::ZonalAllocationFailed, Some("1"), of_offering),
        (Shortage::AllocationFailed, Some("1"), of_offering),
        (Shortage::AllocationFailed, None, of_size),
        (Shortage::OverconstrainedAllocationRequest, None, of_offering),
        (Shortage::OverconstrainedZonalAllocationRequest, Some("3"), of_offering),
    ];
    for when in [When::AtOnce, When::InOperation, When::InOperationNested] {
        for (why, zone, expected) in cases {
            let rig = rig();
            rig.world.arm.add_fault(Fault::new(Effect::Refuse { why, when }));
            let mut request = request("gpu1");
            request.offering = offering(A100, zone, CapacityType::OnDemand);
            match rig.make(&request, false).await.unwrap_err() {
                ProviderError::InsufficientCapacity { scope, .. } => assert_eq!(scope, expected(&request.offering)),
                other => panic!("{why:?} {when:?}: {other}"),
            }
            assert!(rig.pools().is_empty(), "{why:?} {when:?} left something");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_quota_has_its_numbers_and_its_width_in_all_three_forms() {
    for answer in [QuotaAnswer::Preflight, QuotaAnswer::Conflict, QuotaAnswer::Operation] {
        for (kind, regional, expected) in [
            (CapacityType::OnDemand, 10_000, Some("StandardNCADSA100v4Family")),
            (CapacityType::OnDemand, 20, None),
            (CapacityType::Spot, 10_000, Some(provider_aks::SPOT_FAMILY)),
        ] {
            let rig = rig_with(|options| {
                options.quota.answer = answer;
                options.quota.regional = regional;
                options.quota.low_priority = 12;
                options.quota.family_default = if expected.is_some() { 12 } else { 1000 };
            });
            let mut request = request("gpu1");
            request.offering = offering(A100, None, kind);
            let error = rig.make(&request, false).await.unwrap_err();
            let ProviderError::QuotaExceeded { scope, limit, used, .. } = error else { panic!("{error}") };
            let provider = "aks".to_owned();
            match expected {
                Some(family) => assert_eq!(scope, Scope::Family { provider, family: family.to_owned() }),
                None => assert_eq!(scope, Scope::Provider { provider }),
            }
            // The system pool has four of the region's.
            assert_eq!((limit, used), if expected.is_some() { (12, 0) } else { (20, 4) }, "{answer:?} {kind:?}");
            assert!(rig.pools().is_empty());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_quota_that_cannot_be_read_is_full_where_azure_says_so_and_else_asked_about_again() {
    let full = |answer| {
        rig_with(|options| {
            options.quota.answer = answer;
            options.quota.family_default = 12;
        })
    };
    let (sure, doubtful) = (full(QuotaAnswer::Preflight), full(QuotaAnswer::Conflict));
    for rig in [&sure, &doubtful] {
        let fault = r#"{"path":"usages","fault":"answer","status":429,"retry_after":44}"#;
        rig.world.faults.add(serde_json::from_str(fault).unwrap());
    }
    let wanted = request("gpu1");
    let error = sure.aks.ensure(&wanted, None).await.unwrap_err();
    let ProviderError::QuotaExceeded { scope, .. } = error else { panic!("{error}") };
    assert_eq!(scope, of_offering(&wanted.offering));
    let error = doubtful.aks.ensure(&wanted, None).await.unwrap_err();
    let ProviderError::Throttled { retry_after, .. } = error else { panic!("{error}") };
    assert_eq!(retry_after, Some(Duration::from_secs(44)));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_busy_is_not_a_full_quota() {
    let rig = rig_with(|options| options.enveloped_errors = true);
    rig.aks.ensure(&request("gpu1"), None).await.unwrap();
    let mut other = request("gpu2");
    other.key = key("gpu2", "uid-2");
    let error = rig.another().ensure(&other, None).await.unwrap_err();
    assert!(matches!(error, ProviderError::Busy { .. }), "{error}");
    rig.make(&other, false).await.unwrap();
    assert_eq!(rig.pools().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_time_azure_asks_for_is_the_time_we_give() {
    let rig = rig();
    let fault = r#"{"to":"aks","method":"PUT","fault":"answer","status":429,"retry_after":17}"#;
    rig.world.faults.add(serde_json::from_str(fault).unwrap());
    let error = rig.aks.ensure(&request("gpu1"), None).await.unwrap_err();
    let ProviderError::Throttled { retry_after, .. } = &error else { panic!("{error}") };
    assert_eq!(*retry_after, Some(Duration::from_secs(17)));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_with_too_many_pools_is_full_as_a_whole() {
    let rig = rig_with(|options| options.limits.pools = 1);
    let error = rig.aks.ensure(&request("gpu1"), None).await.unwrap_err();
    let ProviderError::InsufficientCapacity { scope, .. } = &error else { panic!("{error}") };
    assert_eq!(*scope, Scope::Provider { provider: "aks".into() });
}

#[tokio::test(start_paused = true)]
async fn the_quota_can_be_read() {
    let rig = rig();
    rig.make(&request("gpu1"), false).await.unwrap();
    let usages = rig.aks.quota().await.unwrap();
    let line = |name: &str| usages.iter().find(|usage| usage.name == name).unwrap();
    assert_eq!((line("cores").used, line("cores").limit), (28, 10_000));
    assert_eq!(line("StandardNCADSA100v4Family").used, 24);
}
