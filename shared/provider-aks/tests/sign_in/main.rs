//! Signing in as it is in the field: azure_identity and our transport over TLS, by the environment alone.
//!
//! Which authorities are trusted is decided by `SSL_CERT_FILE` when a process first needs it, so each sign-in is a process of
//! its own: this one serves the world, and starts itself again for the part that is tested.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod caller;

use std::{
    path::Path,
    process::{Command, Output},
    sync::Arc,
};
use world::{
    World, WorldOptions,
    serve::{Certificates, Listening},
};

/// Seconds of the world in one of ours.
const SPEED: u32 = 500;

struct Served {
    world: World,
    folder: tempfile::TempDir,
    environment: Vec<(&'static str, String)>,
}

/// A world over TLS, and what has to be set to reach it. Who signs in how is up to the test.
async fn served() -> Served {
    let certificates = Arc::new(Certificates::new().unwrap());
    let listening = Listening::bind(0).await.unwrap();
    let address = format!("https://{}", listening.address().unwrap());
    let mut options = WorldOptions { speed: f64::from(SPEED), ..WorldOptions::default() };
    options.arm.base_url = Some(address.clone());
    // azure_identity believes our clock: a token must look alive to it however fast the world runs.
    options.arm.tokens.told_life = Some(core::time::Duration::from_secs(3599));
    let folder = tempfile::tempdir().unwrap();
    let authority = folder.path().join("ca.pem");
    std::fs::write(&authority, &certificates.authority).unwrap();
    let arm = &options.arm;
    let environment = vec![
        ("SSL_CERT_FILE", authority.display().to_string()),
        ("ARM_SUBSCRIPTION_ID", arm.subscription.clone()),
        ("ARM_RESOURCE_GROUP", arm.resource_group.clone()),
        ("AZURE_CLUSTER_NAME", arm.cluster.clone()),
        ("LOCATION", arm.location.clone()),
        ("AZURE_TENANT_ID", arm.tenant.clone()),
        ("AZURE_CLIENT_ID", arm.identities[0].client_id.clone()),
        ("AZURE_AUTHORITY_HOST", format!("{address}/")),
        ("AZURE_RESOURCE_MANAGER_ENDPOINT", address),
    ];
    let world = World::start(options);
    tokio::spawn(listening.serve(world.aks(), Some(certificates)));
    Served { world, folder, environment }
}

impl Served {
    fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.environment.retain(|(own, _)| *own != name);
        self.environment.push((name, value.into()));
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Runs a test of `caller.rs` in a process that has this environment and no other.
    async fn run(&self, test: &'static str) -> String {
        let environment = self.environment.clone();
        let output = tokio::task::spawn_blocking(move || start(test, &environment)).await.unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && text.contains("1 passed"), "{test}: {text}");
        text
    }

    fn requests_to(&self, path: &str) -> usize {
        self.world.history.exchanges().iter().filter(|one| one.path.contains(path)).count()
    }
}

fn start(test: &str, environment: &[(&'static str, String)]) -> Output {
    let own = std::env::current_exe().unwrap();
    let arguments = [&format!("caller::{test}"), "--exact", "--ignored", "--nocapture"];
    let mut command = Command::new(Path::new(&own));
    command.args(arguments).env_clear().envs(environment.iter().cloned()).env("SPEED", SPEED.to_string());
    command.output().unwrap()
}

/// What a cluster projects into a pod.
fn service_account_token(subject: &str) -> String {
    use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
    let part = |value: serde_json::Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = serde_json::json!({"iss": "https://world", "sub": subject, "aud": ["api://AzureADTokenExchange"],
        "exp": 4_102_444_800_u64});
    format!("{}.{}.{}", part(serde_json::json!({"alg": "none"})), part(claims), part(serde_json::json!({})))
}

#[tokio::test]
async fn a_client_secret_signs_in_and_a_pool_has_its_whole_life() {
    let mut served = served().await;
    served.set("AZURE_CLIENT_SECRET", "world-secret");
    served.run("has_a_pool_made_listed_and_removed").await;
    assert_eq!(served.requests_to("/oauth2/v2.0/token"), 1, "a token is kept");
    assert_eq!(served.world.arm.snapshot().alive().filter(|pool| !pool.system).count(), 0);
}

#[tokio::test]
async fn a_workload_identity_signs_in_with_the_token_of_its_service_account() {
    let mut served = served().await;
    let token = service_account_token("system:serviceaccount:pilotlight:pilotlight");
    let file = served.write("token", &token);
    served.set("AZURE_FEDERATED_TOKEN_FILE", file);
    served.run("has_a_pool_made_listed_and_removed").await;
    assert_eq!(served.requests_to("/oauth2/v2.0/token"), 1);
}

#[tokio::test]
async fn a_service_account_that_is_not_trusted_is_unauthorized() {
    let mut served = served().await;
    served.world.arm.change(|options| {
        let subject = Some("system:serviceaccount:pilotlight:pilotlight".to_owned());
        options.identities[0].federated = vec![world::arm::Federated { issuer: None, subject }];
    });
    let file = served.write("token", &service_account_token("system:serviceaccount:default:somebody"));
    served.set("AZURE_FEDERATED_TOKEN_FILE", file);
    served.run("is_unauthorized").await;
    assert_eq!(served.requests_to("/agentPools"), 0);
}

#[tokio::test]
async fn a_wrong_secret_is_unauthorized() {
    let mut served = served().await;
    served.set("AZURE_CLIENT_SECRET", "wrong");
    served.set("PILOTLIGHT_AZURE_CREDENTIAL", "client-secret");
    served.run("is_unauthorized").await;
    assert_eq!(served.requests_to("/agentPools"), 0);
}

#[tokio::test]
async fn an_authority_that_is_not_trusted_is_not_talked_to_and_it_may_be_mended() {
    let mut served = served().await;
    let other = Certificates::new().unwrap();
    let file = served.write("other.pem", &other.authority);
    served.set("SSL_CERT_FILE", file);
    served.set("AZURE_CLIENT_SECRET", "world-secret");
    served.set("PILOTLIGHT_AZURE_CREDENTIAL", "client-secret");
    served.run("is_unavailable_for_the_certificate").await;
    assert_eq!(served.world.history.exchanges().len(), 0, "no secret went to it");
}
