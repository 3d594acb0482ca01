//! The real transport and the real credentials, over loopback.

use crate::common::*;
use bytes::Bytes;
use http::Request;
use model::{Ensured, Gone};
use provider::{Change as _, ProviderError};
use provider_aks::{Aks, AzureTokens, Settings, TokenError, Tokens as _, Transport as _, Web};
use std::{sync::Arc, time::Duration};
use world::{World, WorldOptions, arm::ArmOptions, serve::Listening};

/// A world on loopback, 200 times as fast as ours, and the settings for it.
async fn served() -> (World, Settings) {
    let world = World::start(WorldOptions { speed: 200.0, ..WorldOptions::default() });
    let listening = Listening::bind(0).await.unwrap();
    let address = listening.address().unwrap();
    tokio::spawn(listening.serve(world.aks(), None));
    let mut settings = settings(&ArmOptions::default());
    settings.endpoint = format!("http://{address}");
    (world, settings)
}

#[tokio::test]
async fn a_life_over_real_http() {
    let (world, settings) = served().await;
    let web = Arc::new(Web::default());
    let aks = Aks::new(settings.clone(), web.clone(), Arc::new(WorldTokens::at(&settings.endpoint, web)));
    let (request, mut progress) = (request("gpu1"), None);
    loop {
        match aks.ensure(&request, progress.as_ref()).await.unwrap() {
            Ensured::Running(_) => break,
            Ensured::InProgress { progress: now, look_again_seconds } => {
                progress = Some(now);
                world.clock.sleep(Duration::from_secs(u64::from(look_again_seconds))).await;
            }
        }
    }
    let mut progress = None;
    while let Gone::InProgress { progress: now, look_again_seconds } =
        aks.ensure_gone(&request.key, progress.as_ref()).await.unwrap()
    {
        progress = Some(now);
        world.clock.sleep(Duration::from_secs(u64::from(look_again_seconds))).await;
    }
    assert_eq!(world.arm.snapshot().alive().filter(|pool| !pool.system).count(), 0);
}

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
    let error = AzureTokens::new(settings.clone()).token("https://management.azure.com/.default").await.unwrap_err();
    assert!(matches!(error, TokenError::Denied(_)), "{error}");
    let error = Aks::connect(settings).ensure(&request("gpu1"), None).await.unwrap_err();
    assert!(matches!(error, ProviderError::Unauthorized { .. }), "{error}");
}
