//! The defects of gpu-provisioner, spec §7.1: each has a test that shows it is not here.

use crate::common::*;
use jiff::SignedDuration;
use model::{CapacityType, Ensured, InstanceState};
use provider::{Change as _, Look as _, ProviderError, Retry};
use provider_aks::{Settings, pool_of_provider_id};
use serde_json::{Value, json};
use world::arm::{ArmOptions, Effect, Fault, QuotaAnswer, Shortage, When};

#[tokio::test(start_paused = true)]
async fn b01_a_creation_goes_on_after_a_restart() {
    let rig = rig();
    let request = request("gpu1");
    rig.aks.ensure(&request, None).await.unwrap();
    rig.sleep(5).await;
    let resumed = rig.another().ensure(&request, None).await.unwrap();
    assert!(matches!(resumed, Ensured::InProgress { .. }), "{resumed:?}");
    rig.make(&request, true).await.unwrap();
    assert_eq!((rig.pools().len(), rig.mutations().len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn b02_a_pool_is_listed_by_its_owner_whatever_labels_its_claim_has() {
    let rig = rig();
    let mut request = request("gpu1");
    request.labels.clear();
    rig.make(&request, false).await.unwrap();
    assert_eq!(rig.aks.owned().await.unwrap()[0].key, request.key);
}

#[tokio::test(start_paused = true)]
async fn b03_a_failure_that_lasts_ends_and_leaves_nothing() {
    for when in [When::AtOnce, When::InOperation, When::InOperationNested] {
        let rig = rig();
        let effect = Effect::Refuse { why: Shortage::SkuNotAvailable, when };
        rig.world.arm.add_fault(Fault::new(effect));
        let error = rig.make(&request("gpu1"), false).await.unwrap_err();
        assert_eq!(error.retry(), Retry::NextOffering, "{when:?}: {error}");
        assert!(rig.pools().is_empty(), "{when:?}");
    }
    for answer in [QuotaAnswer::Preflight, QuotaAnswer::Conflict, QuotaAnswer::Operation] {
        let rig = rig_with(|options| {
            options.quota.answer = answer;
            options.quota.family_default = 10;
        });
        let error = rig.make(&request("gpu1"), false).await.unwrap_err();
        assert!(matches!(error, ProviderError::QuotaExceeded { limit: 10, used: 0, .. }), "{answer:?}: {error}");
        assert!(rig.pools().is_empty(), "{answer:?}");
    }
    let rig = rig();
    let effect = Effect::Answer { status: 400, code: "InvalidParameter".into(), message: "no".into() };
    rig.world.arm.add_fault(Fault::new(effect));
    assert_eq!(rig.make(&request("gpu1"), false).await.unwrap_err().retry(), Retry::Never);
}

#[tokio::test(start_paused = true)]
async fn b04_the_size_that_is_asked_for_is_the_size_that_is_made() {
    for size in ["Standard_NC6s_v3", "Standard_NC4as_T4_v3", A100] {
        let rig = rig();
        let mut request = request("gpu1");
        request.offering = offering(size, None, CapacityType::OnDemand);
        assert_eq!(rig.make(&request, false).await.unwrap().instance_type, size);
    }
}

#[tokio::test(start_paused = true)]
async fn b05_after_a_failed_offering_the_next_is_made_in_the_same_claim() {
    let rig = rig();
    let effect = Effect::Refuse { why: Shortage::AllocationFailed, when: When::InOperation };
    rig.world.arm.add_fault(Fault::new(effect).on_size(A100));
    let mut request = request("gpu1");
    let error = rig.make(&request, false).await.unwrap_err();
    assert_eq!(error.retry(), Retry::NextOffering);
    (request.offering, request.epoch) = (offering("Standard_NC48ads_A100_v4", None, CapacityType::OnDemand), 2);
    // What an earlier attempt left in the record is not this one's.
    let stale = r#"{"step":"clearing","epoch":1,"operation":null,"cause":{"status":0,"codes":["AllocationFailed"],"message":""}}"#;
    let stale = model::Progress(stale.to_owned());
    assert!(matches!(rig.aks.ensure(&request, Some(&stale)).await, Ok(Ensured::InProgress { .. })));
    let made = rig.make(&request, false).await.unwrap();
    assert_eq!((made.instance_type.as_str(), rig.pools().len()), ("Standard_NC48ads_A100_v4", 1));
    rig.world.check(SignedDuration::from_hours(24)).unwrap();
}

#[tokio::test(start_paused = true)]
async fn b06_a_foreign_pool_is_neither_changed_nor_deleted() {
    let rig = rig();
    let foreign = request("nodepool1");
    let before = rig.world.arm.snapshot();
    let error = rig.make(&foreign, false).await.unwrap_err();
    assert!(matches!(error, ProviderError::Conflict { .. }), "{error}");
    let error = rig.unmake(&foreign.key, false).await.unwrap_err();
    assert!(matches!(error, ProviderError::Conflict { .. }), "{error}");
    assert_eq!(rig.aks.observe(&foreign.key).await.unwrap(), None);
    assert_eq!(rig.aks.owned().await.unwrap(), vec![]);
    assert_eq!((rig.world.arm.snapshot(), rig.mutations().len()), (before, 0));
}

#[tokio::test(start_paused = true)]
async fn b07_what_is_not_found_is_told_by_its_code() {
    let rig = rig();
    let absent = rig.aks.ensure_gone(&key("gpu1", UID), None).await.unwrap();
    assert_eq!(absent, model::Gone::Confirmed);
    type Wrong = (&'static str, fn(&mut Settings));
    let wrong: [Wrong; 3] = [
        ("ARM_SUBSCRIPTION_ID", |settings| settings.subscription = "nobody".into()),
        ("ARM_RESOURCE_GROUP", |settings| settings.resource_group = "nowhere".into()),
        ("AZURE_CLUSTER_NAME", |settings| settings.cluster = "nothing".into()),
    ];
    for (variable, change) in wrong {
        let aks = rig.with_settings(change);
        let gone = aks.ensure_gone(&key("gpu1", UID), None).await.unwrap_err();
        let made = aks.ensure(&request("gpu1"), None).await.unwrap_err();
        for error in [gone, made] {
            assert!(matches!(error, ProviderError::InvalidRequest { .. }), "{error}");
            assert!(error.to_string().contains(variable), "{error}");
        }
    }
    // The front door's own words for a missing pool: the cluster is there, so the pool is not.
    let answer = |_: &str, url: &str| match url.contains("/agentPools/") {
        true => (404, json!({"error": {"code": "ResourceNotFound", "message": "any words at all"}})),
        false => (200, json!({"name": "world"})),
    };
    let (aks, _) = scripted(settings(&ArmOptions::default()), answer);
    assert_eq!(aks.ensure_gone(&key("gpu1", UID), None).await.unwrap(), model::Gone::Confirmed);
    // A DELETE that finds nothing is no failure; the next look confirms it.
    let pool = json!({"name": "gpu1", "properties": {"nodeLabels": {"pilotlight.dev/claim-uid": UID}}});
    let (aks, _) = scripted(settings(&ArmOptions::default()), move |method, _| match method {
        "GET" => (200, pool.clone()),
        _ => (404, json!({"code": "NotFound", "message": "any words at all"})),
    });
    assert!(matches!(aks.ensure_gone(&key("gpu1", UID), None).await, Ok(model::Gone::InProgress { .. })));
}

#[tokio::test(start_paused = true)]
async fn b08_a_pool_without_a_state_and_an_odd_provider_id_are_no_panic() {
    let pool = json!({"name": "gpu1", "properties": {"nodeLabels": {"pilotlight.dev/claim-uid": UID}}});
    let (aks, _) = scripted(settings(&ArmOptions::default()), move |method, _| match method {
        "GET" => (200, pool.clone()),
        _ => (202, Value::Null),
    });
    let seen = aks.observe(&key("gpu1", UID)).await.unwrap().unwrap();
    assert_eq!(seen.state, InstanceState::Starting);
    assert!(matches!(aks.ensure_gone(&key("gpu1", UID), None).await, Ok(model::Gone::InProgress { .. })));
    let id = |scale_set: &str| {
        format!(
            "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/{scale_set}/virtualMachines/0"
        )
    };
    assert_eq!(pool_of_provider_id(&id("aks-gpu1-12345678-vmss")), Some("gpu1"));
    for bad in [id("nodash"), id("aks-"), id(""), "azure:///x".to_owned(), String::new()] {
        assert_eq!(pool_of_provider_id(&bad), None, "{bad}");
    }
}

#[tokio::test(start_paused = true)]
async fn b09_two_replicas_that_act_at_once_make_one_pool() {
    let rig = rig();
    let request = request("gpu1");
    let (one, other) = tokio::join!(rig.make(&request, false), rig.make(&request, false));
    assert_eq!(one.unwrap(), other.unwrap());
    assert_eq!(rig.mutations().len(), 1);
    let (one, other) = tokio::join!(rig.unmake(&request.key, false), rig.unmake(&request.key, false));
    one.and(other).unwrap();
    assert!(rig.pools().is_empty());
    rig.world.check(SignedDuration::ZERO).unwrap();
}

#[tokio::test(start_paused = true)]
async fn b10_no_call_waits_for_an_operation_and_a_stuck_one_can_be_deleted() {
    let rig = rig();
    rig.world.arm.add_fault(Fault::new(Effect::OperationStuck));
    let (request, start) = (request("gpu1"), rig.world.clock.now());
    let mut progress = None;
    for _ in 0..5 {
        let ensured = rig.aks.ensure(&request, progress.as_ref()).await.unwrap();
        let Ensured::InProgress { progress: now, .. } = ensured else { panic!("{ensured:?}") };
        progress = Some(now);
    }
    assert_eq!(rig.world.clock.now(), start, "five calls took no time at all");
    rig.unmake(&request.key, false).await.unwrap();
    assert!(rig.pools().is_empty());
}

#[tokio::test(start_paused = true)]
async fn b11_spot_is_honoured_and_the_image_is_told() {
    let rig = rig();
    let mut request = request("gpu1");
    request.offering = offering(A100, None, CapacityType::Spot);
    let made = rig.make(&request, false).await.unwrap();
    assert!(rig.pools()[0].spot);
    assert_eq!(made.capacity_type, CapacityType::Spot);
    assert!(made.image.is_some_and(|image| image.starts_with("AKSUbuntu")));
}

#[tokio::test(start_paused = true)]
async fn b12_a_pool_is_known_by_itself_and_not_by_the_labels_of_its_nodes() {
    let rig = rig();
    rig.world.arm.add_fault(Fault::new(Effect::NodeNeverJoins));
    assert_eq!(rig.make(&request("gpu1"), false).await.unwrap().state, InstanceState::Running);
}

#[tokio::test(start_paused = true)]
async fn b13_a_pool_that_gpu_provisioner_made_for_the_claim_is_adopted_and_not_doubled() {
    let theirs = json!({"id": "/x", "name": "gpu1", "properties": {
        "provisioningState": "Succeeded", "count": 1, "vmSize": A100,
        "nodeLabels": {"karpenter.sh/nodepool": "kaito", "kaito.sh/machine-type": "gpu",
            "kaito.sh/creation-timestamp": "2026-01-01T00-00-00Z"}}});
    let (aks, script) = scripted(settings(&ArmOptions::default()), move |method, _| match method {
        "PUT" => (412, json!({"code": "PreconditionFailed", "message": ""})),
        "GET" => (200, theirs.clone()),
        _ => (202, Value::Null),
    });
    assert!(matches!(aks.ensure(&request("gpu1"), None).await, Ok(Ensured::Running(_))));
    let mut younger = request("gpu1");
    younger.class.insert("creationTimestamp".into(), "2026-02-02T00:00:00Z".into());
    assert!(matches!(aks.ensure(&younger, None).await, Err(ProviderError::Conflict { .. })));
    younger.class.clear();
    assert!(matches!(aks.ensure(&younger, None).await, Err(ProviderError::Conflict { .. })), "its time is not known");
    assert!(matches!(aks.ensure_gone(&key("gpu1", UID), None).await, Ok(model::Gone::InProgress { .. })));
    assert_eq!((script.sent("DELETE").len(), script.sent("PUT").len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn b14_sovereign_clouds_are_reached_at_their_own_hosts() {
    let clouds = [
        ("AzureUSGovernment", "https://management.usgovcloudapi.net"),
        ("azurechinacloud", "https://management.chinacloudapi.cn"),
        ("AzureCloud", "https://management.azure.com"),
    ];
    for (name, host) in clouds {
        let lookup = |variable: &str| match variable {
            "AZURE_CLOUD" => Some(name.to_owned()),
            "ARM_SUBSCRIPTION_ID" | "ARM_RESOURCE_GROUP" | "AZURE_CLUSTER_NAME" | "LOCATION" => Some("x".to_owned()),
            _ => None,
        };
        let (aks, script) = scripted(Settings::read(lookup).unwrap(), empty_cluster);
        aks.ensure(&request("gpu1"), None).await.unwrap();
        let url = script.asked.lock().unwrap()[0]["url"].as_str().unwrap().to_owned();
        assert!(url.starts_with(host), "{name}: {url}");
    }
}

#[tokio::test(start_paused = true)]
async fn b15_a_small_disk_is_rounded_up_and_never_sent_as_nothing() {
    let cases = [("500Mi", 30), ("1", 30), ("29Gi", 30), ("30Gi", 30), ("100G", 93), ("120Gi", 120), ("2Ti", 2048)];
    for (storage, gib) in cases {
        let (aks, script) = scripted(settings(&ArmOptions::default()), empty_cluster);
        let mut request = request("gpu1");
        request.requests.insert("storage".into(), storage.parse().unwrap());
        aks.ensure(&request, None).await.unwrap();
        assert_eq!(script.sent("PUT")[0]["body"]["properties"]["osDiskSizeGB"], gib, "{storage}");
    }
}
