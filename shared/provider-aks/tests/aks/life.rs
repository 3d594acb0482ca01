//! From nothing to a running pool and back, by every way a caller can take.

use crate::common::*;
use jiff::SignedDuration;
use model::{CapacityType, Ensured, InstanceState, Progress};
use provider::{Change as _, Look as _, Provider as _, ProviderError};
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn a_claim_becomes_one_pool_and_leaves_nothing() {
    let rig = rig();
    let request = request("gpu1");
    assert_eq!(rig.aks.name(), "aks");
    assert_eq!(rig.aks.observe(&request.key).await.unwrap(), None);
    let made = rig.make(&request, false).await.unwrap();
    assert_eq!((made.instance_type.as_str(), made.state), (A100, InstanceState::Running));
    assert_eq!(made.created_at, Some("2026-01-01T00:00:00Z".parse().unwrap()));
    assert_eq!(rig.aks.observe(&request.key).await.unwrap(), Some(made.clone()));
    assert!(made.provider_id.ends_with("/agentPools/gpu1"), "{}", made.provider_id);
    assert_eq!(made.node_provider_id(), None, "only the Node knows its scale set");
    let owned = rig.aks.owned().await.unwrap();
    assert_eq!((owned.len(), &owned[0].key, owned[0].what.as_str()), (1, &request.key, "agent pool gpu1"));
    assert_eq!(rig.make(&request, false).await.unwrap(), made, "twice is once");
    assert_eq!(rig.mutations().len(), 1);

    rig.unmake(&request.key, false).await.unwrap();
    rig.unmake(&request.key, false).await.unwrap();
    assert_eq!((rig.pools(), rig.mutations().len()), (vec![], 2));
    assert_eq!(rig.aks.observe(&request.key).await.unwrap(), None);
    assert_eq!(rig.aks.owned().await.unwrap(), vec![]);
    rig.world.check(SignedDuration::ZERO).unwrap();
}

#[tokio::test(start_paused = true)]
async fn any_claim_name_works_and_is_found_again() {
    let long = format!("{}.{}", "a".repeat(60), "b".repeat(60));
    for name in ["gpu1", "default-x7k2p", "9", "averyverylongname", &long] {
        let rig = rig();
        let request = request(name);
        rig.make(&request, false).await.unwrap();
        let pool = provider_aks::pool_name(&request.key);
        assert!(pool.len() <= 12, "{pool}");
        assert_eq!(pool == name, name == "gpu1", "{name} became {pool}");
        assert_eq!(rig.aks.owned().await.unwrap()[0].key, request.key);
        rig.unmake(&request.key, false).await.unwrap();
        assert!(rig.pools().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_can_be_deleted_while_its_pool_is_being_made() {
    let rig = rig();
    let request = request("gpu1");
    let Ensured::InProgress { progress, .. } = rig.aks.ensure(&request, None).await.unwrap() else { panic!() };
    // The progress of the creation is not one of a deletion; it does no harm.
    let gone = rig.aks.ensure_gone(&request.key, Some(&progress)).await.unwrap();
    assert!(matches!(gone, model::Gone::InProgress { .. }), "{gone:?}");
    rig.unmake(&request.key, false).await.unwrap();
    assert!(rig.pools().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_progress_nobody_can_read_is_none() {
    let rig = rig();
    for text in ["", "{}", "not json", r#"{"step":"creating","operation":"https://evil.example/x"}"#] {
        let progress = Progress(text.to_owned());
        let ensured = rig.aks.ensure(&request("gpu1"), Some(&progress)).await.unwrap();
        assert!(matches!(ensured, Ensured::InProgress { .. }), "{text}: {ensured:?}");
    }
    assert!(rig.requests().iter().all(|one| !one.path.contains("/x")), "a token went to another host");
    assert_eq!(rig.mutations().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_spot_machine_that_azure_took_back_is_a_capacity_failure_and_nothing_is_left() {
    let rig = rig();
    let mut request = request("gpu1");
    request.offering = offering(A100, Some("2"), CapacityType::Spot);
    let made = rig.make(&request, false).await.unwrap();
    assert_eq!((made.zone.as_deref(), made.capacity_type), (Some("eastus-2"), CapacityType::Spot));
    assert!(rig.world.arm.evict(&rig.pools()[0].machines[0].node));
    let error = rig.make(&request, false).await.unwrap_err();
    assert!(matches!(error, ProviderError::InsufficientCapacity { .. }), "{error}");
    assert!(rig.pools().is_empty());
}

#[tokio::test(start_paused = true)]
async fn every_page_of_a_long_list_is_read() {
    let rig = rig_with(|options| {
        options.limits.page = 1;
        options.limits.operations = 10;
    });
    for number in 0..4 {
        let mut request = request(&format!("gpu{number}"));
        request.key = key(&format!("gpu{number}"), &format!("uid-{number}"));
        rig.make(&request, false).await.unwrap();
    }
    assert_eq!(rig.aks.owned().await.unwrap().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn the_name_of_a_claim_that_is_going_is_waited_for_and_that_of_one_that_stays_is_a_conflict() {
    let rig = rig();
    let old = request("gpu1");
    rig.make(&old, false).await.unwrap();
    let mut new = old.clone();
    new.key = key("gpu1", "another-uid");
    let error = rig.aks.ensure(&new, None).await.unwrap_err();
    assert!(matches!(error, ProviderError::Conflict { .. }), "{error}");
    let error = rig.aks.ensure_gone(&new.key, None).await.unwrap_err();
    assert!(matches!(error, ProviderError::Conflict { .. }), "{error}");
    assert_eq!(rig.aks.observe(&new.key).await.unwrap(), None);
    rig.aks.ensure_gone(&old.key, None).await.unwrap();
    rig.make(&new, false).await.unwrap();
    let pools = rig.pools();
    assert_eq!((pools.len(), &pools[0].labels["pilotlight.dev/claim-uid"]), (1, &"another-uid".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_failed_deletion_is_tried_again() {
    let rig = rig();
    let request = request("gpu1");
    rig.make(&request, false).await.unwrap();
    let effect = world::arm::Effect::DeletionFails { code: "InternalServerError".into(), message: "oops".into() };
    rig.world.arm.add_fault(world::arm::Fault::new(effect).times(1));
    rig.unmake(&request.key, false).await.unwrap();
    assert!(rig.pools().is_empty());
    assert_eq!(rig.mutations().len(), 3, "one creation and two deletions");
}

#[tokio::test(start_paused = true)]
async fn other_claims_of_this_process_only_look_at_a_cluster_that_said_it_is_busy() {
    let rig = rig();
    rig.aks.ensure(&request("gpu1"), None).await.unwrap();
    let before = rig.requests().len();
    for number in 0..20 {
        let mut other = request("other");
        other.key = key(&format!("other{number}"), &format!("uid-{number}"));
        let error = rig.aks.ensure(&other, None).await.unwrap_err();
        assert!(matches!(error, ProviderError::Busy { .. }), "{error}");
    }
    let after = rig.requests().split_off(before);
    let changes = after.iter().filter(|one| one.method != "GET").count();
    assert_eq!(changes, 1, "the first was told, the others believe it");
    assert!(after.len() <= 20 + 3, "a look each; then one PUT, the pool, the quota: {}", after.len());
}

#[tokio::test(start_paused = true)]
async fn the_mapping_of_a_derived_name_is_written_on_the_pool() {
    let rig = rig();
    rig.make(&request("default-x7k2p"), false).await.unwrap();
    let pool = rig.pools().remove(0);
    let labels = json!(pool.labels);
    assert_eq!(labels["pilotlight.dev/claim-name"], "default-x7k2p");
    assert_eq!(labels["pilotlight.dev/claim-uid"], UID);
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_azure_itself_broke_is_cleared_and_tried_again() {
    let rig = rig();
    let effect = world::arm::Effect::OperationFails { code: "InternalOperationError".into(), message: "oops".into() };
    rig.world.arm.add_fault(world::arm::Fault::new(effect).times(2));
    rig.make(&request("gpu1"), false).await.unwrap();
    assert_eq!((rig.pools().len(), rig.mutations().len()), (1, 5), "three creations, two deletions");
    rig.world.check(SignedDuration::from_hours(24)).unwrap();
}

#[tokio::test(start_paused = true)]
async fn many_claims_share_one_cluster_that_does_one_thing_at_a_time() {
    let rig = rig();
    let requests: Vec<_> = (0..12)
        .map(|number| {
            let mut request = request("gpu");
            request.key = key(&format!("gpu{number}"), &format!("uid-{number}"));
            request.offering = offering("Standard_NC4as_T4_v3", None, CapacityType::OnDemand);
            request
        })
        .collect();
    let made = futures(requests.iter().map(|request| rig.make(request, false))).await;
    assert!(made.iter().all(Result::is_ok), "{made:?}");
    assert_eq!((rig.pools().len(), rig.mutations().len()), (12, 12));
    rig.world.check(SignedDuration::from_hours(24)).unwrap();
    let gone = futures(requests.iter().map(|request| rig.unmake(&request.key, false))).await;
    assert!(gone.iter().all(Result::is_ok), "{gone:?}");
    assert_eq!(rig.pools(), vec![]);
    rig.world.check(SignedDuration::ZERO).unwrap();
}

/// All of them at once, in one task.
async fn futures<F: Future>(all: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut waiting: Vec<_> = all.map(|one| (Box::pin(one), None)).collect();
    std::future::poll_fn(|context| {
        for (future, output) in waiting.iter_mut().filter(|(_, output)| output.is_none()) {
            if let std::task::Poll::Ready(ready) = future.as_mut().poll(context) {
                *output = Some(ready);
            }
        }
        if waiting.iter().all(|(_, output)| output.is_some()) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    waiting.into_iter().filter_map(|(_, output)| output).collect()
}
