//! Every client the finished product talks to the world with, built and used once, so that the linker keeps all of them.
//! Nothing here runs at start: `main.rs` calls it only when asked.

use std::env;
use std::error::Error;
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use azure_core::credentials::TokenCredential;
use azure_identity::WorkloadIdentityCredential;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, ListParams};

type Failure = Box<dyn Error>;

const EMPTY_BODY: &str = "{}";

/// Some clients try again for minutes.
const PATIENCE: Duration = Duration::from_secs(5);

/// Builds and uses each client. The endpoints come from where the product will take them: `KUBECONFIG`, the `AZURE_…` and the
/// `AWS_…` variables; plain requests go to the URL in `BENCH_BUILD_CLIENTS`.
pub async fn build_all() -> Result<(), Failure> {
    install_tls_provider()?;
    let endpoint = env::var("BENCH_BUILD_CLIENTS")?;
    let web = reqwest::Client::builder().build()?;
    report("kubernetes", read_cluster()).await;
    report("azure", fetch_azure_token()).await;
    report("aws", send_signed(&web, &endpoint)).await;
    Ok(())
}

/// A process has one TLS provider; without this line the first client built would panic.
fn install_tls_provider() -> Result<(), Failure> {
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| "a TLS provider was installed before ours".into())
}

async fn read_cluster() -> Result<String, Failure> {
    let config = kube::Config::infer().await?;
    let client = kube::Client::try_from(config)?;
    let few = ListParams::default().limit(10);
    let nodes = Api::<Node>::all(client.clone()).list(&few).await?;
    let pods = Api::<Pod>::all(client).list(&few).await?;
    Ok(format!("{} nodes, {} pods", nodes.items.len(), pods.items.len()))
}

async fn fetch_azure_token() -> Result<String, Failure> {
    let credential = WorkloadIdentityCredential::new(None)?;
    let token = credential.get_token(&["https://management.azure.com/.default"], None).await?;
    Ok(format!("a token until {}", token.expires_on))
}

async fn send_signed(web: &reqwest::Client, endpoint: &str) -> Result<String, Failure> {
    let identity = Credentials::from_keys(
        env::var("AWS_ACCESS_KEY_ID")?,
        env::var("AWS_SECRET_ACCESS_KEY")?,
        env::var("AWS_SESSION_TOKEN").ok(),
    )
    .into();
    let signing = v4::SigningParams::builder()
        .identity(&identity)
        .region("eu-west-1")
        .name("lambda")
        .time(SystemTime::now())
        .settings(SigningSettings::default())
        .build()?
        .into();
    let headers = [("content-type", "application/json")];
    let signable =
        SignableRequest::new("POST", endpoint, headers.into_iter(), SignableBody::Bytes(EMPTY_BODY.as_bytes()))?;
    let (instructions, _signature) = sign(signable, &signing)?.into_parts();

    let mut request = web.post(endpoint).header("content-type", "application/json").body(EMPTY_BODY);
    for (name, value) in instructions.headers() {
        request = request.header(name, value);
    }
    let answer: serde_json::Value = request.send().await?.error_for_status()?.json().await?;
    Ok(answer.to_string())
}

/// A client that cannot reach its other side has still been built, which is all that is asked here.
async fn report(client: &str, using: impl Future<Output = Result<String, Failure>>) {
    match tokio::time::timeout(PATIENCE, using).await {
        Ok(Ok(answer)) => eprintln!("{client}: {answer}"),
        Ok(Err(failure)) => eprintln!("{client}: its request failed: {failure}"),
        Err(_) => eprintln!("{client}: no answer in {PATIENCE:?}"),
    }
}
