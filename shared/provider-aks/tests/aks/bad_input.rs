//! What is wrong is said once, with a type and what to do, and nothing is changed.

use crate::common::*;
use model::{CapacityType, InstanceRequest};
use provider::{Change as _, Look as _, ProviderError, Retry};
use serde_json::json;

/// A change to a good request, and a word the error must have.
type Case = (&'static str, fn(&mut InstanceRequest), &'static str);

fn class(request: &mut InstanceRequest, key: &str, value: &str) {
    request.class.insert(key.to_owned(), value.to_owned());
}

fn spot_price(request: &mut InstanceRequest, price: &str) {
    class(request, "spot", "true");
    class(request, "spotMaxPrice", price);
}

fn storage(request: &mut InstanceRequest, amount: &str) {
    request.requests.insert("storage".to_owned(), amount.parse().unwrap());
}

const LOCAL: &[Case] = &[
    ("a size that is none", |one| one.offering.id.instance_type = "gpu.large".into(), "Standard_NC24ads_A100_v4"),
    ("a size with a path in it", |one| one.offering.id.instance_type = "Standard_../../x".into(), "not a VM size"),
    ("another provider's offering", |one| one.offering.id.provider = "scaleway".into(), "scaleway"),
    ("no GPUs", |one| one.offering.gpu.as_mut().unwrap().count = 0, "no GPU"),
    ("no storage", |one| one.requests.clear(), "should be more than 0"),
    ("zero storage", |one| storage(one, "0"), "should be more than 0"),
    ("too much storage", |one| storage(one, "3Ti"), "2048"),
    ("endless storage", |one| storage(one, "8Ei"), "2048"),
    ("a UID no label can carry", |one| one.key = key("gpu1", "uid:with:colons"), "UID"),
    ("a label value", |one| drop(one.labels.insert("a".into(), "not a value".into())), "label"),
    ("a label of AKS", |one| drop(one.labels.insert("kubernetes.azure.com/mode".into(), "x".into())), "label"),
    ("a zone", |one| one.offering.id.zone = Some("somewhere".into()), "westeurope-1"),
    ("zones", |one| class(one, "zones", "1,west"), "1,2,3"),
    ("a reservation", |one| one.offering.id.capacity_type = CapacityType::Reserved, "capacityReservationGroupID"),
    ("a subnet", |one| class(one, "vnetSubnetID", "my-subnet"), "/subscriptions/"),
    ("too many pods", |one| class(one, "maxPods", "9999"), "10 to 250"),
    ("a MIG profile", |one| class(one, "gpuInstanceProfile", "MIG9g"), "MIG1g"),
    ("a driver mode", |one| class(one, "gpu.mode", "maybe"), "None"),
    ("an image", |one| class(one, "imageFamily", "Windows"), "AzureLinux"),
    ("an image of a later API", |one| class(one, "imageFamily", "Ubuntu2404"), "Ubuntu2204"),
    ("a disk type", |one| class(one, "osDiskType", "Floppy"), "Ephemeral"),
    ("a disk size", |one| class(one, "osDiskSizeGB", "5"), "30 to 2048"),
    ("a public address", |one| class(one, "enableNodePublicIP", "perhaps"), "true or false"),
    ("a tag", |one| class(one, "tags.a/b", "x"), "tag"),
    ("a spot price", |one| spot_price(one, "cheap"), "USD"),
    ("a spot price that is none", |one| spot_price(one, "NaN"), "on-demand price"),
    ("a spot price of nothing", |one| spot_price(one, "0"), "on-demand price"),
    ("a time", |one| class(one, "creationTimestamp", "yesterday"), "RFC 3339"),
];

#[tokio::test(start_paused = true)]
async fn what_can_be_found_wrong_without_azure_is_found_before_any_request() {
    let rig = rig();
    for (what, change, word) in LOCAL {
        let mut request = request("gpu1");
        change(&mut request);
        let error = rig.aks.ensure(&request, None).await.unwrap_err();
        assert!(matches!(error, ProviderError::InvalidRequest { .. }), "{what}: {error}");
        assert!(error.to_string().contains(word), "{what}: {error}");
        assert_eq!(error.retry(), Retry::Never);
    }
    assert_eq!(rig.requests(), vec![]);
}

#[tokio::test(start_paused = true)]
async fn a_size_azure_does_not_have_is_a_capacity_failure_of_that_size() {
    let rig = rig();
    let mut request = request("gpu1");
    request.offering.id.instance_type = "Standard_NZ1_imaginary".into();
    let error = rig.aks.ensure(&request, None).await.unwrap_err();
    assert_eq!(error.retry(), Retry::NextOffering, "{error}");
    assert!(error.to_string().contains("aks/Standard_NZ1_imaginary in any zone"), "{error}");
    assert_eq!((rig.mutations(), rig.pools()), (vec![], vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_wrong_secret_is_unauthorized_and_names_the_identity() {
    let rig = rig();
    let aks = with_secret(&rig.world, "wrong");
    for error in [
        aks.ensure(&request("gpu1"), None).await.unwrap_err(),
        aks.ensure_gone(&key("gpu1", UID), None).await.unwrap_err(),
        aks.observe(&key("gpu1", UID)).await.unwrap_err(),
        aks.owned().await.unwrap_err(),
    ] {
        assert!(matches!(error, ProviderError::Unauthorized { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("AZURE_CLIENT_ID") && text.contains("AADSTS7000215"), "{text}");
    }
    assert_eq!(rig.mutations(), vec![]);
}

#[tokio::test(start_paused = true)]
async fn a_bad_day_of_entra_id_is_not_a_wrong_identity() {
    for (status, reason) in [(429, "Throttled"), (500, "Unavailable"), (503, "Unavailable"), (409, "Unavailable")] {
        let rig = rig();
        let fault = json!({"path": "oauth2", "fault": "answer", "status": status, "retry_after": 33});
        rig.world.faults.add(serde_json::from_value(fault).unwrap());
        let error = rig.aks.ensure(&request("gpu1"), None).await.unwrap_err();
        assert_eq!(error.reason(), reason, "{status}: {error}");
        if reason == "Throttled" {
            assert_eq!(error.retry(), Retry::SameAfter(std::time::Duration::from_secs(33)));
        }
        assert_eq!(rig.requests().len(), 1, "{status}: who has no token asks for nothing else");
    }
}

#[tokio::test(start_paused = true)]
async fn an_old_token_is_replaced_once_and_a_dead_identity_is_unauthorized() {
    let rig = rig();
    rig.aks.owned().await.unwrap();
    rig.sleep(4000).await;
    rig.make(&request("gpu1"), false).await.unwrap();
    assert_eq!(rig.aks.owned().await.unwrap().len(), 1, "an expired token is not the caller's business");
    let clock_gone_wrong = rig_with(|options| options.tokens.life = std::time::Duration::ZERO);
    let error = clock_gone_wrong.aks.ensure(&request("gpu1"), None).await.unwrap_err();
    assert!(matches!(error, ProviderError::Unauthorized { .. }), "{error}");
    assert!(error.to_string().contains("clock"), "{error}");
    assert_eq!(clock_gone_wrong.mutations(), vec![]);
}

#[tokio::test(start_paused = true)]
async fn a_right_that_is_missing_is_named_for_each_call() {
    let kind = "Microsoft.ContainerService/managedClusters/agentPools";
    for right in ["read", "write", "delete"] {
        let rig = rig();
        if right == "delete" {
            rig.make(&request("gpu1"), false).await.unwrap();
        }
        let before = rig.mutations().len();
        rig.world.arm.change(|options| options.denied_actions.extend([format!("{kind}/{right}")]));
        let error = match right {
            "read" => rig.aks.observe(&key("gpu1", UID)).await.unwrap_err(),
            "write" => rig.aks.ensure(&request("gpu1"), None).await.unwrap_err(),
            _ => rig.aks.ensure_gone(&key("gpu1", UID), None).await.unwrap_err(),
        };
        assert!(matches!(error, ProviderError::Unauthorized { .. }), "{error}");
        assert!(error.to_string().contains(&format!("{kind}/{right}")), "{error}");
        assert!(error.to_string().contains("Contributor"), "{error}");
        assert_eq!(rig.mutations().len(), before);
    }
}
