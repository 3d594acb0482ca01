//! Quota, stock and mishaps, each as data.

use super::*;
use crate::clock::BEGINNING;
use jiff::SignedDuration;

const FAMILY: &str = "StandardNCADSA100v4Family";

#[tokio::test(start_paused = true)]
async fn family_quota_is_refused_at_once_with_what_was_asked_and_what_is_left() {
    let azure = azure_with(|options| {
        options.quota.families.insert(FAMILY.into(), 30);
    })
    .await;
    azure.running_pool("one", one_gpu()).await;
    let refused = azure.put_pool("two", one_gpu()).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::BAD_REQUEST, "ErrCode_InsufficientVCPUQuota"));
    let message = refused.body["message"].as_str().unwrap();
    assert!(message.contains(&format!("requested 24, remaining 6 for family {FAMILY} for region eastus")), "{message}");
    assert!(azure.arm.snapshot().pool("two").is_none());
    let spot = json!({"vmSize": A100, "scaleSetPriority": "Spot"});
    assert_eq!(azure.put_pool("two", spot).await.status, StatusCode::CREATED, "spot has its own quota");
}

#[tokio::test(start_paused = true)]
async fn regional_and_low_priority_quota_are_refused_too() {
    let azure = azure_with(|options| (options.quota.regional, options.quota.low_priority) = (10, 0)).await;
    let message = azure.put_pool("a", one_gpu()).await.body["message"].as_str().unwrap().to_owned();
    assert!(message.contains("left regional vcpu quota 10, requested quota 24"), "{message}");
    let spot = json!({"vmSize": A100, "scaleSetPriority": "Spot"});
    let message = azure.put_pool("a", spot).await.body["message"].as_str().unwrap().to_owned();
    assert!(message.contains("remaining 0 for family lowPriorityCores"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn quota_can_come_as_a_conflict_or_as_a_failed_operation_that_leaves_a_failed_pool() {
    let azure = azure_with(|options| {
        options.quota.families.insert(FAMILY.into(), 10);
        options.quota.answer = QuotaAnswer::Conflict;
    })
    .await;
    let refused = azure.put_pool("gpu", one_gpu()).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::CONFLICT, "OperationNotAllowed"));
    assert!(
        refused.body["error"]["message"]
            .as_str()
            .unwrap()
            .contains("Current Limit: 10, Current Usage: 0, Additional Required: 24")
    );

    azure.arm.change(|options| options.quota.answer = QuotaAnswer::Operation);
    let accepted = azure.put_pool("gpu", one_gpu()).await;
    let failed = azure.settle(&accepted).await;
    assert_eq!((&failed["status"], &failed["error"]["code"]), (&json!("Failed"), &json!("QuotaExceeded")));
    assert_eq!(azure.get_pool("gpu").await.body["properties"]["provisioningState"], "Failed");
}

#[tokio::test(start_paused = true)]
async fn a_freed_machine_gives_its_quota_back() {
    let azure = azure_with(|options| {
        options.quota.families.insert(FAMILY.into(), 24);
    })
    .await;
    azure.running_pool("one", one_gpu()).await;
    assert_eq!(azure.put_pool("two", one_gpu()).await.status, StatusCode::BAD_REQUEST);
    azure.settle(&azure.delete_pool("one").await).await;
    assert_eq!(azure.put_pool("two", one_gpu()).await.status, StatusCode::CREATED);
}

#[tokio::test(start_paused = true)]
async fn shortages_come_at_once_in_the_operation_or_nested_in_it() {
    let whys = [
        (Shortage::SkuNotAvailable, "SkuNotAvailable"),
        (Shortage::AllocationFailed, "AllocationFailed"),
        (Shortage::ZonalAllocationFailed, "ZonalAllocationFailed"),
        (Shortage::OverconstrainedAllocationRequest, "OverconstrainedAllocationRequest"),
        (Shortage::OverconstrainedZonalAllocationRequest, "OverconstrainedZonalAllocationRequest"),
    ];
    for (why, code) in whys {
        let azure = azure().await;
        let refuse = |when| Fault::new(Effect::Refuse { why, when }).on_size(A100).times(1);
        azure.arm.add_fault(refuse(When::AtOnce));
        let refused = azure.put_pool("gpu", one_gpu()).await;
        assert!(refused.status.is_client_error());
        assert_eq!(refused.code(), code);
        assert!(azure.arm.snapshot().pools.is_empty());

        azure.arm.add_fault(refuse(When::InOperation));
        let accepted = azure.put_pool("gpu", one_gpu()).await;
        let failed = azure.settle(&accepted).await;
        assert_eq!((&failed["status"], &failed["error"]["code"]), (&json!("Failed"), &json!(code)));
        let pool = azure.arm.snapshot().pool("gpu").unwrap().clone();
        assert_eq!((pool.provisioning, pool.machines.len()), (Provisioning::Failed, 0));

        azure.arm.add_fault(refuse(When::InOperationNested));
        let accepted = azure.put_pool("gpu", one_gpu()).await;
        let failed = azure.settle(&accepted).await;
        assert_eq!(failed["error"]["code"], "ReconcileVMSSAgentPoolFailed");
        assert_eq!(failed["error"]["details"][0]["code"], code);

        // With stock back, the same PUT repairs the failed pool.
        let accepted = azure.put_pool("gpu", one_gpu()).await;
        assert_eq!(azure.settle(&accepted).await["status"], "Succeeded");
        assert_eq!(azure.joined().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn stock_is_kept_by_size_zone_and_capacity_type() {
    let azure = azure_with(|options| options.limits.operations = 10).await;
    let effect = Effect::Stock { machines: 1, why: Shortage::ZonalAllocationFailed, when: When::AtOnce };
    azure.arm.add_fault(Fault::new(effect).on_size(A100).in_place(Place::Zone("1".into())).spot(false));
    let zone = |zone: &str| json!({"vmSize": A100, "availabilityZones": [zone]});
    assert_eq!(azure.put_pool("a", zone("1")).await.status, StatusCode::CREATED);
    assert_eq!(azure.put_pool("b", zone("1")).await.code(), "ZonalAllocationFailed");
    assert_eq!(azure.put_pool("b", zone("2")).await.status, StatusCode::CREATED);
    assert_eq!(azure.put_pool("c", one_gpu()).await.status, StatusCode::CREATED, "regional placement is another stock");
    let spot = json!({"vmSize": A100, "availabilityZones": ["1"], "scaleSetPriority": "Spot"});
    assert_eq!(azure.put_pool("d", spot).await.status, StatusCode::CREATED);
}

#[tokio::test(start_paused = true)]
async fn a_shortage_can_have_a_time_window() {
    let azure = azure().await;
    let at = |seconds| BEGINNING + SignedDuration::from_secs(seconds);
    let effect = Effect::Refuse { why: Shortage::AllocationFailed, when: When::AtOnce };
    azure.arm.add_fault(Fault::new(effect).between(at(100), at(200)));
    azure.clock.sleep(Duration::from_secs(150)).await;
    assert_eq!(azure.put_pool("gpu", one_gpu()).await.code(), "AllocationFailed");
    azure.clock.sleep(Duration::from_secs(60)).await;
    assert_eq!(azure.put_pool("gpu", one_gpu()).await.status, StatusCode::CREATED);
}

#[tokio::test(start_paused = true)]
async fn a_node_may_never_join_though_the_operation_succeeds_and_the_machine_is_billed() {
    let azure = azure().await;
    azure.arm.add_fault(Fault::new(Effect::NodeNeverJoins).times(1));
    azure.running_pool("gpu", one_gpu()).await;
    azure.clock.sleep(Duration::from_secs(1800)).await;
    assert!(azure.heard().is_empty());
    let machine = azure.arm.snapshot().pool("gpu").unwrap().machines[0].clone();
    assert_eq!((machine.joined, machine.gone), (None, None));
    azure.settle(&azure.delete_pool("gpu").await).await;
    assert!(azure.heard().is_empty(), "a node that never was does not leave");
}

#[tokio::test(start_paused = true)]
async fn gpus_may_come_late_or_never() {
    let azure = azure().await;
    azure.arm.add_fault(Fault::new(Effect::GpuAfter(Duration::from_secs(1800))).on_pool("late"));
    azure.arm.add_fault(Fault::new(Effect::GpuNeverAppears).on_pool("never"));
    azure.running_pool("late", one_gpu()).await;
    azure.running_pool("never", one_gpu()).await;
    let after: Vec<_> = azure.joined().iter().map(|machine| machine.accelerator_after).collect();
    assert_eq!(after, [Some(Duration::from_secs(1800)), None]);
}

#[tokio::test(start_paused = true)]
async fn operations_may_be_slow_or_stuck_until_they_are_failed_or_deleted() {
    let azure = azure().await;
    azure.arm.add_fault(Fault::new(Effect::OperationTakes(Duration::from_secs(1200))).times(1));
    let slow = azure.put_pool("slow", one_gpu()).await;
    azure.clock.sleep(Duration::from_secs(1100)).await;
    assert_eq!(azure.get_pool("slow").await.body["properties"]["provisioningState"], "Creating");
    assert_eq!(azure.joined().len(), 1, "its machine has long joined");
    assert_eq!(azure.settle(&slow).await["status"], "Succeeded");

    azure.arm.add_fault(Fault::new(Effect::OperationStuck));
    let stuck = azure.put_pool("stuck", one_gpu()).await;
    azure.clock.sleep(Duration::from_secs(86_400)).await;
    let mut azure = azure;
    azure.sign_in().await;
    assert_eq!(azure.get(stuck.header("azure-asyncoperation")).await.body["status"], "InProgress");
    assert!(azure.arm.fail_operation("stuck", "InternalOperationError", "gave up"));
    assert_eq!(azure.settle(&stuck).await["error"]["code"], "InternalOperationError");
    assert_eq!(azure.settle(&azure.delete_pool("stuck").await).await["status"], "Succeeded");
}

#[tokio::test(start_paused = true)]
async fn an_operation_may_fail_with_any_code() {
    let azure = azure().await;
    let effect =
        Effect::OperationFails { code: "VMExtensionProvisioningError".into(), message: "exit status 50".into() };
    azure.arm.add_fault(Fault::new(effect));
    let accepted = azure.put_pool("gpu", one_gpu()).await;
    assert_eq!(azure.settle(&accepted).await["error"]["code"], "VMExtensionProvisioningError");
}

#[tokio::test(start_paused = true)]
async fn a_deletion_may_be_slow_stuck_or_fail_and_the_machine_runs_on() {
    let azure = azure().await;
    azure.running_pool("gpu", one_gpu()).await;
    let effect = Effect::DeletionFails { code: "InternalOperationError".into(), message: "no".into() };
    azure.arm.add_fault(Fault::new(effect).times(1));
    let failed = azure.settle(&azure.delete_pool("gpu").await).await;
    assert_eq!((&failed["status"], &failed["error"]["code"]), (&json!("Failed"), &json!("InternalOperationError")));
    assert_eq!(azure.get_pool("gpu").await.body["properties"]["provisioningState"], "Failed");

    azure.arm.add_fault(Fault::new(Effect::DeletionStuck).times(1));
    azure.delete_pool("gpu").await;
    azure.clock.sleep(Duration::from_secs(1000)).await;
    assert_eq!(azure.get_pool("gpu").await.body["properties"]["provisioningState"], "Deleting");
    assert!(azure.left().is_empty());
    assert!(azure.arm.fail_operation("gpu", "InternalOperationError", "gave up"));

    azure.arm.add_fault(Fault::new(Effect::DeletionTakes(Duration::from_secs(900))).times(1));
    let slow = azure.delete_pool("gpu").await;
    azure.clock.sleep(Duration::from_secs(890)).await;
    assert!(azure.left().is_empty());
    assert_eq!(azure.settle(&slow).await["status"], "Succeeded");
    assert_eq!(azure.left().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_put_may_be_answered_with_any_error() {
    let azure = azure().await;
    let effect = Effect::Answer { status: 409, code: "AnotherOperationInProgress".into(), message: "wait".into() };
    azure.arm.add_fault(Fault::new(effect).times(1));
    let refused = azure.put_pool("gpu", one_gpu()).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::CONFLICT, "AnotherOperationInProgress"));
    assert_eq!(azure.put_pool("gpu", one_gpu()).await.status, StatusCode::CREATED);
}
