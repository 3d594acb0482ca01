//! Tests of reading a NodeClaim: what is understood, and what is said of the rest.

#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use model::{Effect, Launch, Operator, Quantity, Taint};
use serde_json::json;

fn object() -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
        "metadata": { "name": "gpu-1", "uid": "u-1", "resourceVersion": "7", "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["karpenter.sh/termination", "x.dev/own"],
            "labels": { "karpenter.sh/nodepool": "gpu" }, "annotations": { "a": "b" },
            "ownerReferences": [{ "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "name": "gpu", "uid": "u-0" }] },
        "spec": {
            "nodeClassRef": { "group": "karpenter.azure.com", "kind": "AKSNodeClass", "name": "default" },
            "requirements": [{ "key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["x"], "minValues": 1 }],
            "resources": { "requests": { "cpu": "500m", "nvidia.com/gpu": 1 } },
            "taints": [{ "key": "sku", "value": "gpu", "effect": "NoSchedule" }],
            "startupTaints": [{ "key": "wait", "effect": "NoExecute" }],
            "terminationGracePeriod": "1h30m", "expireAfter": "720h" },
        "status": {
            "providerID": "azure:///x", "nodeName": "", "capacity": { "cpu": 24 }, "lastPodEventTime": "2026-01-01T00:00:00Z",
            "conditions": [
                { "type": "Launched", "status": "True", "reason": "Launched", "message": "", "lastTransitionTime": "2026-01-01T00:01:00Z" },
                { "type": "ConsistentStateFound", "status": 7 },
                { "type": "Ready", "status": "Unknown" }] },
    })
}

fn read(value: Value) -> ClaimRead {
    read_claim(serde_json::from_value(value).unwrap()).unwrap()
}

fn claim(value: Value) -> Claim {
    match read(value) {
        ClaimRead::Claim(read) => read.claim,
        ClaimRead::Malformed(malformed) => panic!("{malformed:?}"),
    }
}

#[test]
fn a_claim_is_read_whole() {
    let claim = claim(object());
    let amount = |text: &str| text.parse::<Quantity>().unwrap();
    assert_eq!((claim.key.name.as_str(), claim.key.claim.as_str(), claim.version.as_str()), ("gpu-1", "u-1", "7"));
    assert!(claim.has_owner && claim.deleted_at.is_none() && claim.finalizers.len() == 2);
    assert_eq!(claim.class.kind, "AKSNodeClass");
    assert_eq!((claim.requirements[0].operator, claim.requirements[0].values.len()), (Operator::In, 1));
    assert_eq!((claim.requests["cpu"], claim.requests["nvidia.com/gpu"]), (amount("500m"), amount("1")));
    assert_eq!(claim.taints, [Taint { key: "sku".into(), value: "gpu".into(), effect: Effect::NoSchedule }]);
    assert_eq!(claim.startup_taints[0].value, "");
    assert_eq!(claim.termination_grace, Some(SignedDuration::from_mins(90)));
    assert_eq!(claim.launch, Launch::NotBegun);
    assert_eq!((claim.status.provider_id.as_deref(), claim.status.node), (Some("azure:///x"), None));
    assert_eq!(claim.status.capacity["cpu"], amount("24"));
    let kinds: Vec<_> = claim.status.conditions.iter().map(|one| (one.kind, one.status)).collect();
    assert_eq!(kinds, [(ConditionKind::Launched, Truth::True), (ConditionKind::Ready, Truth::Unknown)]);
    assert_eq!(claim.status.conditions[1].since, claim.created_at, "a condition without a time is as old as the claim");
}

#[test]
fn a_claim_that_nobody_has_touched_has_an_empty_status() {
    let mut fresh = object();
    fresh.as_object_mut().unwrap().remove("status");
    assert_eq!(claim(fresh).status, ClaimStatus::default());
}

#[test]
fn what_cannot_be_read_says_which_field() {
    let check = |pointer: &str, value: Value, words: &str| {
        let mut broken = object();
        *broken.pointer_mut(pointer).unwrap() = value;
        match read(broken) {
            ClaimRead::Malformed(Malformed { key, why }) => {
                assert_eq!(key.name.as_str(), "gpu-1");
                assert!(why.starts_with(words), "{pointer}: {why}");
            }
            ClaimRead::Claim(_) => panic!("{pointer} was read"),
        }
    };
    check("/spec/resources/requests/cpu", json!("much"), "spec.resources.requests.cpu: \"much\" is not a quantity");
    check("/spec/resources/requests/cpu", json!(true), "spec.resources.requests.cpu: ");
    check("/spec/requirements/0/operator", json!("Near"), "spec.requirements[0].operator: \"Near\"");
    check("/spec/requirements/0/values", json!("x"), "spec.requirements[0].values: ");
    check("/spec/taints/0/effect", json!("Never"), "spec.taints[0].effect: \"Never\"");
    check("/spec/startupTaints/0/effect", json!(""), "spec.startupTaints[0].effect: \"\"");
    check("/spec/terminationGracePeriod", json!("soon"), "spec.terminationGracePeriod: \"soon\" is not a duration");
    check("/spec/nodeClassRef/name", json!("Not A Name"), "spec.nodeClassRef.name: \"Not A Name\"");
    check("/spec/nodeClassRef", Value::Null, "spec.nodeClassRef: ");
    check("/spec", Value::Null, "spec: ");
    check("/status/capacity/cpu", json!("-1"), "status.capacity.cpu: \"-1\"");
    check("/status/providerID", json!(1), "status.providerID: ");
}

#[test]
fn durations_are_those_of_go_and_never_negative() {
    for (text, seconds) in [("0s", 0), ("30s", 30), ("1h", 3600), ("1h1m1s", 3661), ("1m1m", 120), ("1.5h", 5400)] {
        assert_eq!(duration(text), Ok(SignedDuration::from_secs(seconds)), "{text}");
    }
    for text in ["", "s", "1", "1d", "-1h", "h1", "9223372036854775807h", "1h 1m"] {
        assert!(duration(text).is_err(), "{text}");
    }
}
