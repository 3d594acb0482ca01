//! The real transport, and credentials that cannot work. Signing in over the real one is tests/sign_in.

use crate::{azure, common::*};
use bytes::Bytes;
use http::Request;
use provider::{Change as _, Look as _, ProviderError};
use provider_aks::{Aks, AzureTokens, Settings, TokenError, Tokens as _, Transport as _, Web};
use std::sync::Arc;
use world::arm::ArmOptions;

#[tokio::test]
async fn what_was_never_sent_is_told_from_what_was_not_answered() {
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let send = |address| async move {
        Web::default().send(Request::put(format!("http://{address}/x")).body(Bytes::new()).unwrap()).await.unwrap_err()
    };
    assert!(!send(address).await.sent, "nobody listens");
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    tokio::spawn(async move { drop(silent.accept().await) });
    assert!(send(address).await.sent, "somebody took it and hung up");
}

#[tokio::test]
async fn a_credential_that_cannot_work_says_which_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("no-such-token");
    let lookup = |name: &str| match name {
        "AZURE_FEDERATED_TOKEN_FILE" => Some(file.display().to_string()),
        "LOCATION" => Some("eastus".to_owned()),
        name if name.starts_with("A") && !name.contains("HOST") && !name.contains("END") && name != "AZURE_CLOUD" => {
            Some("11111111-1111-4111-8111-111111111111".to_owned())
        }
        _ => None,
    };
    let settings = Settings::read(lookup).unwrap();
    let error = AzureTokens::new(settings.clone(), Arc::new(Web::default()))
        .token("https://management.azure.com/.default")
        .await
        .unwrap_err();
    assert!(matches!(error, TokenError::Denied(_)), "{error}");
    let error = Aks::connect(settings).ensure(&request("gpu1"), None).await.unwrap_err();
    assert!(matches!(error, ProviderError::Unauthorized { .. }), "{error}");
}

/// The metadata service of a VM, which the world answers for too.
#[tokio::test(start_paused = true)]
async fn a_managed_identity_signs_in() {
    let options = ArmOptions::default();
    let lookup = |name: &str| {
        let value = match name {
            "ARM_SUBSCRIPTION_ID" => &options.subscription,
            "ARM_RESOURCE_GROUP" => &options.resource_group,
            "AZURE_CLUSTER_NAME" => &options.cluster,
            "LOCATION" => &options.location,
            "AZURE_CLIENT_ID" => &options.identities[0].client_id,
            "PILOTLIGHT_AZURE_CREDENTIAL" => return Some("managed-identity".to_owned()),
            _ => return None,
        };
        Some(value.clone())
    };
    let rig = rig_with(|options| options.identities[0].managed = true);
    let aks = azure::provider(&rig.world, &Settings::read(lookup).unwrap());
    assert_eq!(aks.owned().await.unwrap(), vec![]);
    assert!(rig.requests()[0].path.starts_with("/metadata/identity"), "{:?}", rig.requests()[0]);
    rig.world.arm.change(|options| options.identities[0].managed = false);
    rig.world.arm.revoke_tokens(&options.identities[0].client_id);
    let error = aks.owned().await.unwrap_err();
    assert!(matches!(error, ProviderError::Unauthorized { .. }), "{error}");
}
