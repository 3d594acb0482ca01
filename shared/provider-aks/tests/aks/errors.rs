//! Error codes in both dialects of Azure: what each becomes.

use crate::common::*;
use provider::{Change as _, ProviderError};
use serde_json::{Value, json};
use world::arm::ArmOptions;

/// Status, code, reason. The message never matters.
const CODES: &[(u16, &str, &str)] = &[
    (409, "SkuNotAvailable", "InsufficientCapacity"),
    (400, "skunotavailable", "InsufficientCapacity"),
    (400, "AllocationFailed", "InsufficientCapacity"),
    (400, "ZonalAllocationFailed", "InsufficientCapacity"),
    (400, "OverconstrainedAllocationRequest", "InsufficientCapacity"),
    (400, "OverconstrainedZonalAllocationRequest", "InsufficientCapacity"),
    (400, "AvailabilityZoneNotSupported", "InsufficientCapacity"),
    (400, "VMSizeNotSupported", "InsufficientCapacity"),
    (400, "MaxAgentPoolCountReached", "InsufficientCapacity"),
    (400, "ErrCode_InsufficientVCPUQuota", "QuotaExceeded"),
    (400, "QuotaExceeded", "QuotaExceeded"),
    (409, "OperationNotAllowed", "Busy"),
    (409, "AnotherOperationInProgress", "Busy"),
    (409, "Conflict", "Busy"),
    (412, "PreconditionFailed", "Unavailable"),
    (409, "OriginalEtagNotExpect", "Unavailable"),
    (429, "TooManyRequests", "Throttled"),
    (429, "SubscriptionRequestsThrottled", "Throttled"),
    (429, "Throttled", "Throttled"),
    (429, "NobodyKnows", "Throttled"),
    (401, "ExpiredAuthenticationToken", "Unauthorized"),
    (401, "InvalidAuthenticationTokenTenant", "Unauthorized"),
    (403, "AuthorizationFailed", "Unauthorized"),
    (403, "LinkedAuthorizationFailed", "Unauthorized"),
    (403, "RequestDisallowedByPolicy", "Unauthorized"),
    (409, "ScopeLocked", "Unauthorized"),
    (403, "NobodyKnows", "Unauthorized"),
    (404, "SubscriptionNotFound", "InvalidRequest"),
    (404, "ResourceGroupNotFound", "InvalidRequest"),
    (404, "ParentResourceNotFound", "InvalidRequest"),
    (400, "InvalidParameter", "InvalidRequest"),
    (400, "PropertyChangeNotAllowed", "InvalidRequest"),
    (400, "InsufficientSubnetSize", "InvalidRequest"),
    (400, "NoRegisteredProviderFound", "InvalidRequest"),
    (400, "NobodyKnows", "InvalidRequest"),
    (408, "Timeout", "Uncertain"),
    (500, "InternalServerError", "Uncertain"),
    (502, "", "Uncertain"),
    (503, "ServiceUnavailable", "Uncertain"),
    (504, "GatewayTimeout", "Uncertain"),
];

async fn error_of(status: u16, body: Value) -> ProviderError {
    let (aks, _) = scripted(settings(&ArmOptions::default()), move |method, _| match method {
        "PUT" => (status, body.clone()),
        _ => (404, json!({"code": "NotFound", "message": ""})),
    });
    aks.ensure(&request("gpu1"), None).await.unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn every_code_means_the_same_in_both_dialects() {
    for (status, code, reason) in CODES {
        let flat = json!({"code": code, "details": null, "message": "words", "subcode": ""});
        for body in [flat, json!({"error": {"code": code, "message": "other words"}})] {
            let error = error_of(*status, body.clone()).await;
            assert_eq!(error.reason(), *reason, "{status} {body}: {error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_code_further_in_is_found() {
    let bodies = [
        json!({"code": "BadRequest", "subcode": "SkuNotAvailable", "message": ""}),
        json!({"code": "BadRequest", "details": [{"code": "SkuNotAvailable"}], "message": ""}),
        json!({"error": {"code": "ReconcileVMSSAgentPoolFailed", "innererror": {"code": "SkuNotAvailable"}}}),
        json!({"error": {"code": "ReconcileVMSSAgentPoolFailed", "message": "failed: Code=\"SkuNotAvailable\" Message=\"x\""}}),
    ];
    for body in bodies {
        let error = error_of(400, body.clone()).await;
        assert_eq!(error.reason(), "InsufficientCapacity", "{body}: {error}");
    }
    let quota = json!({"error": {"code": "OperationNotAllowed", "details": [{"code": "QuotaExceeded"}]}});
    assert_eq!(error_of(409, quota).await.reason(), "QuotaExceeded");
}

#[tokio::test(start_paused = true)]
async fn nonsense_is_an_error_and_never_a_panic() {
    for body in [Value::Null, json!([]), json!("text"), json!({"error": 5}), json!({"code": {"a": 1}, "details": 3})] {
        assert_eq!(error_of(400, body).await.reason(), "InvalidRequest");
    }
    let deep = (0..500).fold(json!({"code": "x"}), |inner, _| json!({"details": [inner]}));
    assert_eq!(error_of(400, deep).await.reason(), "InvalidRequest");
    for body in [Value::Null, json!([]), json!({"value": 3}), json!({"name": 4})] {
        let (aks, _) = scripted(settings(&ArmOptions::default()), move |_, _| (200, body.clone()));
        assert_eq!(aks.ensure_gone(&key("gpu1", UID), None).await.unwrap_err().reason(), "Unavailable");
        use provider::Look as _;
        assert_eq!(aks.owned().await.unwrap_err().reason(), "Unavailable");
    }
}
