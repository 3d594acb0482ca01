//! What a process with nothing but its environment does. Run by the tests of main.rs, each in a process of its own.

use core::time::Duration;
use model::{Ensured, Gone, InstanceKey, InstanceRequest, ObjectName, Uid};
use provider::{Change as _, Look as _, ProviderError};
use provider_aks::{Aks, Settings, bundled};

fn connected() -> Aks {
    Aks::connect(Settings::read(|name| std::env::var(name).ok()).unwrap())
}

fn request() -> InstanceRequest {
    let offerings = bundled("eastus", &[]);
    InstanceRequest {
        key: InstanceKey { claim: Uid::new("uid-1").unwrap(), name: ObjectName::new("gpu1").unwrap() },
        offering: offerings.into_iter().find(|one| one.id.instance_type == "Standard_NC4as_T4_v3").unwrap(),
        epoch: 1,
        labels: [].into(),
        annotations: [].into(),
        taints: vec![],
        startup_taints: vec![],
        requests: [("storage".to_owned(), "120Gi".parse().unwrap())].into(),
        class: [].into(),
    }
}

/// Our part of the world's time.
async fn wait(seconds: u32) {
    let speed: u32 = std::env::var("SPEED").unwrap().parse().unwrap();
    tokio::time::sleep(Duration::from_secs(seconds.into()) / speed).await;
}

#[tokio::test]
#[ignore = "run by main.rs, with an environment"]
async fn has_a_pool_made_listed_and_removed() {
    let (aks, request, mut progress) = (connected(), request(), None);
    assert_eq!(aks.owned().await.unwrap(), vec![]);
    while let Ensured::InProgress { progress: now, look_again_seconds } =
        aks.ensure(&request, progress.as_ref()).await.unwrap()
    {
        progress = Some(now);
        wait(look_again_seconds).await;
    }
    let owned = aks.owned().await.unwrap();
    assert_eq!(owned.iter().map(|one| one.what.as_str()).collect::<Vec<_>>(), ["agent pool gpu1"]);
    let mut progress = None;
    while let Gone::InProgress { progress: now, look_again_seconds } =
        aks.ensure_gone(&request.key, progress.as_ref()).await.unwrap()
    {
        progress = Some(now);
        wait(look_again_seconds).await;
    }
    assert_eq!(aks.owned().await.unwrap(), vec![]);
}

#[tokio::test]
#[ignore = "run by main.rs, with an environment"]
async fn is_unauthorized() {
    let error = connected().ensure(&request(), None).await.unwrap_err();
    assert!(matches!(error, ProviderError::Unauthorized { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("AADSTS") && text.contains("AZURE_CLIENT_ID") && !text.contains('\n'), "{text}");
}

#[tokio::test]
#[ignore = "run by main.rs, with an environment"]
async fn is_unavailable_for_the_certificate() {
    let error = connected().ensure(&request(), None).await.unwrap_err();
    assert!(matches!(error, ProviderError::Unavailable { .. }), "{error}");
    assert!(error.to_string().contains("certificate"), "{error}");
}
