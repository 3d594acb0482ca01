//! The world as a process: arguments in, a kubeconfig and an environment file out, then requests until SIGTERM.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use clap::Parser;
use jiff::Timestamp;
use std::{
    error::Error,
    fs::{self, File},
    io::BufWriter,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    kubeconfig,
    power::options::BackEnd,
    serve::{Certificates, Listening},
    world::{World, WorldOptions},
};

/// A Kubernetes cluster and three clouds (AKS, Scaleway, power) in memory, served on loopback.
///
/// Writes a kubeconfig for an administrator and a file with KEY=VALUE lines, with which functions and any other client
/// reach the clouds. Runs until SIGTERM or Ctrl-C, then prints how many requests there were and a hash of them all: the
/// same seed and the same requests give the same hash.
#[derive(Debug, Parser)]
#[command(name = "world", version, after_help = AFTER_HELP)]
struct Arguments {
    /// Where to write the kubeconfig
    #[arg(long, value_name = "FILE")]
    kubeconfig: PathBuf,
    /// Where to write the KEY=VALUE lines; the authority's certificate goes beside it
    #[arg(long, value_name = "FILE")]
    env_file: PathBuf,
    /// Write one JSON line a request
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Everything that is left to chance comes from this number
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Seconds of the world in a second of ours
    #[arg(long, default_value_t = 1.0, value_parser = speed)]
    speed: f64,
    /// Port of the API server; any that is free unless told
    #[arg(long, default_value_t = 0)]
    port: u16,
}

const AFTER_HELP: &str = "Example:
  world --kubeconfig /tmp/world.kubeconfig --env-file /tmp/world.env --speed 20 &
  kubectl --kubeconfig /tmp/world.kubeconfig get nodes";

fn speed(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
    let usable = number.is_finite() && (0.001..=100_000.0).contains(&number);
    if usable { Ok(number) } else { Err("a speed is a number from 0.001 to 100000".to_owned()) }
}

pub fn run() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let ended = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(serve(&arguments)));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("world: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let certificates = Arc::new(Certificates::new()?);
    let kubernetes = Listening::bind(arguments.port)
        .await
        .map_err(|error| format!("cannot listen on port {}: {error}; choose another with --port", arguments.port))?;
    let (aks, scaleway, power) = (Listening::bind(0).await?, Listening::bind(0).await?, Listening::bind(0).await?);
    let at = Addresses {
        kubernetes: kubernetes.address()?,
        aks: aks.address()?,
        scaleway: scaleway.address()?,
        power: power.address()?,
    };
    // Whoever talks to it over sockets has the time of day.
    let beginning = Timestamp::now();
    let options = WorldOptions { seed: arguments.seed, beginning, speed: arguments.speed, ..WorldOptions::default() };
    let options = at.told_to(options);
    let lines = at.environment(&options, &arguments.env_file);
    let world = World::start(options);
    if let Some(path) = &arguments.record {
        let file = File::create(path).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        world.history.record_to(BufWriter::new(file));
    }
    tokio::spawn(kubernetes.serve(world.kubernetes(), Some(certificates.clone())));
    tokio::spawn(aks.serve(world.aks(), Some(certificates.clone())));
    tokio::spawn(scaleway.serve(world.scaleway(), Some(certificates.clone())));
    tokio::spawn(power.serve(world.power(), None));
    // The files come last: whoever waits for them finds everything listening.
    write(&authority_file(&arguments.env_file), &certificates.authority)?;
    write(&federated_file(&arguments.env_file), &service_account_token())?;
    write(&arguments.env_file, &lines)?;
    let server = format!("https://{}", at.kubernetes);
    write(&arguments.kubeconfig, &kubeconfig::write(&server, &certificates.authority, "admin"))?;
    println!("world: seed {}, {} x our time, API server {server}", arguments.seed, arguments.speed);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    let (count, hash) = world.history.fingerprint();
    println!("world: {count} requests, hash {hash}");
    Ok(())
}

/// Where each place listens.
struct Addresses {
    kubernetes: SocketAddr,
    aks: SocketAddr,
    scaleway: SocketAddr,
    power: SocketAddr,
}

impl Addresses {
    /// Clouds that hand out links have to know their own address.
    fn told_to(&self, mut options: WorldOptions) -> WorldOptions {
        options.arm.base_url = Some(format!("https://{}", self.aks));
        // Clients believe their own clock: a token must look alive to them however fast the world runs.
        options.arm.tokens.told_life = Some(options.arm.tokens.life.max(std::time::Duration::from_secs(3599)));
        options
    }

    /// The variables of the systems we replace, so that functions need nothing else.
    fn environment(&self, options: &WorldOptions, env_file: &Path) -> String {
        let (arm, scaleway) = (&options.arm, &options.scaleway);
        let mut lines: Vec<(String, String)> = Vec::new();
        let mut add = |name: &str, value: String| lines.push((name.to_owned(), value));
        add("SSL_CERT_FILE", authority_file(env_file).display().to_string());
        add("ARM_SUBSCRIPTION_ID", arm.subscription.clone());
        add("ARM_RESOURCE_GROUP", arm.resource_group.clone());
        add("AZURE_CLUSTER_NAME", arm.cluster.clone());
        add("LOCATION", arm.location.clone());
        add("AZURE_TENANT_ID", arm.tenant.clone());
        if let Some(identity) = arm.identities.first() {
            add("AZURE_CLIENT_ID", identity.client_id.clone());
        }
        add("AZURE_FEDERATED_TOKEN_FILE", federated_file(env_file).display().to_string());
        add("AZURE_AUTHORITY_HOST", format!("https://{}/", self.aks));
        add("AZURE_RESOURCE_MANAGER_ENDPOINT", format!("https://{}", self.aks));
        add("SCW_API_URL", format!("https://{}", self.scaleway));
        if let Some(key) = scaleway.keys.first() {
            add("SCW_ACCESS_KEY", "SCWWORLD000000000000".to_owned());
            add("SCW_SECRET_KEY", key.secret.clone());
        }
        add("SCW_DEFAULT_PROJECT_ID", scaleway.project.clone());
        add("SCW_DEFAULT_ORGANIZATION_ID", scaleway.organization.clone());
        add("SCW_DEFAULT_REGION", "fr-par".to_owned());
        add("SCW_DEFAULT_ZONE", "fr-par-2".to_owned());
        // How a machine of this Scaleway joins this cluster, for claims whose class says nothing about it.
        add("PILOTLIGHT_SCALEWAY_JOIN", "kubeadm".to_owned());
        add("PILOTLIGHT_SCALEWAY_JOIN_ENDPOINT", self.kubernetes.to_string());
        add("PILOTLIGHT_SCALEWAY_JOIN_TOKEN", "world1.0123456789abcdef".to_owned());
        add("PILOTLIGHT_SCALEWAY_JOIN_CA_CERT_HASH", format!("sha256:{}", "0f".repeat(32)));
        add("PILOTLIGHT_SCALEWAY_JOIN_KUBERNETES_VERSION", "1.36".to_owned());
        let webhooks = options.power.machines.iter().filter(|machine| machine.back_end == BackEnd::Webhook);
        for (index, machine) in webhooks.enumerate() {
            let prefix = format!("GPU_NODE_{}", index + 1);
            let gpus = machine.accelerator.as_ref().map_or(0, |(_, count)| *count);
            let endpoint = |verb: &str| format!("http://{}/webhook/{}/{verb}", self.power, machine.name);
            add(&format!("{prefix}_NAME"), machine.node.clone().unwrap_or_else(|| machine.name.clone()));
            add(&format!("{prefix}_GPU_COUNT"), gpus.to_string());
            add(&format!("{prefix}_SCALE_UP_ENDPOINT"), endpoint("up"));
            add(&format!("{prefix}_SCALE_DOWN_ENDPOINT"), endpoint("down"));
        }
        add("WORLD_REDFISH_ENDPOINT", format!("http://{}", self.power));
        lines.into_iter().map(|(name, value)| format!("{name}={value}\n")).collect()
    }
}

/// What a cluster would project into a pod: the world's tenant reads its claims and believes them.
fn service_account_token() -> String {
    let part = |value: serde_json::Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = serde_json::json!({ "iss": "https://world", "sub": "system:serviceaccount:pilotlight:pilotlight",
        "aud": ["api://AzureADTokenExchange"], "exp": 4_102_444_800_u64 });
    format!("{}.{}.{}", part(serde_json::json!({ "alg": "none" })), part(claims), part(serde_json::json!({})))
}

fn authority_file(env_file: &Path) -> PathBuf {
    beside(env_file, "ca.pem")
}

fn federated_file(env_file: &Path) -> PathBuf {
    beside(env_file, "token")
}

/// Absolute: whoever reads the lines may stand in another folder.
fn beside(env_file: &Path, extension: &str) -> PathBuf {
    let path = env_file.with_extension(extension);
    std::path::absolute(&path).unwrap_or(path)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
