//! No stock and no quota: one typed, scoped failure each, and nothing left of the attempt when it is reported.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Stage, request, with_class};
use jiff::SignedDuration;
use model::InstanceRequest;
use provider::{ProviderError, Retry, Scope};
use world::{
    faults::{Fault, Matching, Mishap},
    scaleway::options::{Availability, Misfortune, MisfortuneKind, Quotas, ShortageManner, Stock, Window},
};

fn shortage(commercial_type: &str, zone: &str, manner: ShortageManner) -> Stock {
    Stock {
        commercial_type: commercial_type.to_owned(),
        zone: zone.to_owned(),
        window: Window::ALWAYS,
        availability: Availability::Shortage,
        manner,
    }
}

const MANNERS: [ShortageManner; 4] = [
    ShortageManner::RefusesPoweron,
    ShortageManner::RefusesCreate,
    ShortageManner::FallsBackToStopped,
    ShortageManner::StaysAllocating,
];

fn flexible(commercial_type: &str, zone: &str) -> InstanceRequest {
    with_class(request(commercial_type, zone), &[("public-ip", "flexible"), ("scratch", "true")])
}

#[tokio::test(start_paused = true)]
async fn a_stock_out_is_scoped_to_its_offering_and_leaves_nothing_however_it_shows() {
    for manner in MANNERS {
        for status in [503, 412] {
            let stage = Stage::with(|options| {
                options.stock.push(shortage("L40S-1-48G", "fr-par-2", manner));
                options.stock.push(shortage("L40S-1-48G", "pl-waw-2", manner));
                options.out_of_stock_status = status;
            });
            for zone in ["fr-par-2", "pl-waw-2"] {
                let error = stage.drive(&flexible("L40S-1-48G", zone)).await.unwrap_err();
                let ProviderError::InsufficientCapacity { scope: Scope::Offering(id), .. } = &error else {
                    panic!("{manner:?}: {error}");
                };
                assert_eq!(id.to_string(), format!("scaleway/L40S-1-48G/{zone}/on-demand"));
                assert_eq!(error.retry(), Retry::NextOffering);
                assert!(stage.present().is_empty(), "{manner:?} {status}: {:?}", stage.present());
                // Two lives within one instant cannot be told apart by the world.
                stage.seconds(1).await;
            }
            let instance = stage.drive(&flexible("L4-1-24G", "fr-par-1")).await.unwrap();
            assert_eq!(instance.zone.as_deref(), Some("fr-par-1"), "the next rung of the ladder");
            stage.drive_gone(&request("L4-1-24G", "fr-par-1").key).await.unwrap();
            assert!(stage.present().is_empty(), "{manner:?} {status}");
            stage.world.check(SignedDuration::ZERO).unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stock_out_leaves_nothing_under_every_fault_at_every_request() {
    for manner in MANNERS {
        let methods = fail(manner, None).await;
        // A server that stays in allocating is polled for five minutes; the polls are all alike.
        let (begin, end) = (methods.len().min(14), methods.len().saturating_sub(22).max(14));
        for nth in (0..begin).chain(end..methods.len()) {
            let is_read = methods[nth] == "GET";
            let both: &[bool] = if is_read { &[false] } else { &[true, false] };
            for &done in both {
                let all = [
                    Mishap::Crash { done },
                    Mishap::Answer { status: 500, done, retry_after: None },
                    Mishap::TimeOut { done },
                    Mishap::Answer { status: 429, done, retry_after: None },
                ];
                // A read that fails is a read that fails; that it was lost with all progress is another thing.
                for then in all.into_iter().take(if is_read { 2 } else { 4 }) {
                    let nth = Some(nth as u64 + 1);
                    let on = Matching { to: Some("scaleway".to_owned()), nth, ..Matching::default() };
                    fail(manner, Some(Fault { on, then })).await;
                }
            }
        }
    }
}

/// An attempt without stock and with a fault, and the methods of its requests.
async fn fail(manner: ShortageManner, fault: Option<Fault>) -> Vec<String> {
    let stage = Stage::with(|options| options.stock.push(shortage("L4-1-24G", "fr-par-2", manner)));
    let told = format!("{manner:?} {fault:?}");
    if let Some(fault) = fault {
        stage.world.faults.add(fault);
    }
    let error = stage.drive(&flexible("L4-1-24G", "fr-par-2")).await.unwrap_err();
    assert_eq!(error.reason(), "InsufficientCapacity", "{told}");
    assert!(stage.present().is_empty(), "{told}: {:?}", stage.present());
    stage.world.check(SignedDuration::ZERO).unwrap_or_else(|violation| panic!("{told}: {violation}"));
    stage.world.history.exchanges().into_iter().map(|exchange| exchange.method).collect()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_stuck_in_starting_is_given_up_and_can_be_removed() {
    let stuck = || Stage::with(|options| options.misfortunes.push(Misfortune::always(MisfortuneKind::StuckStarting)));
    let stage = stuck();
    let wanted = request("L4-1-24G", "fr-par-2");
    assert_eq!(stage.drive(&wanted).await.unwrap_err().reason(), "InsufficientCapacity");
    assert!(stage.present().is_empty());

    use provider::Change as _;
    let stage = stuck();
    stage.provider.ensure(&wanted, None).await.unwrap();
    stage.drive_gone(&wanted.key).await.unwrap();
    assert!(stage.present().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_quota_of_a_type_and_one_of_disks_are_scoped_and_leave_nothing() {
    let stage = Stage::with(|options| options.quotas = Quotas::of_a_first_time_user());
    let first = request("L4-1-24G", "fr-par-2");
    stage.drive(&first).await.unwrap();
    let mut second = flexible("L4-1-24G", "fr-par-1");
    second.key = common::key("second");
    let error = stage.drive(&second).await.unwrap_err();
    let ProviderError::QuotaExceeded { scope: Scope::InstanceType { instance_type, .. }, limit: 1, used: 1, .. } =
        &error
    else {
        panic!("{error}");
    };
    assert_eq!((instance_type.as_str(), error.retry()), ("L4-1-24G", Retry::NextOffering));
    let mut large = with_class(request("RENDER-S", "fr-par-1"), &[("root-volume-size", "900G")]);
    large.key = common::key("third");
    let error = stage.drive(&large).await.unwrap_err();
    assert!(
        matches!(&error, ProviderError::QuotaExceeded { scope: Scope::Provider { .. }, limit: 500_000_000_000, .. }),
        "{error}"
    );
    assert_eq!((stage.present().servers.len(), stage.present().ips.len()), (1, 0));
    stage.drive_gone(&first.key).await.unwrap();
    assert!(stage.present().is_empty());
}
