//! The world as a process: arguments in, a kubeconfig and an environment file out, then requests until SIGTERM.

use clap::Parser;
use jiff::Timestamp;
use std::{error::Error, fs::File, io::BufWriter, path::PathBuf, process::ExitCode, sync::Arc};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    clouds::{self, Clouds},
    kubeconfig,
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
    let clouds = Clouds::bind(kubernetes.address()?).await?;
    // Whoever talks to it over sockets has the time of day.
    let beginning = Timestamp::now();
    let options = WorldOptions { seed: arguments.seed, beginning, speed: arguments.speed, ..WorldOptions::default() };
    let options = clouds.told_to(options);
    let lines = clouds.environment(&options, &arguments.env_file);
    let server = format!("https://{}", kubernetes.address()?);
    let world = World::start(options);
    if let Some(path) = &arguments.record {
        let file = File::create(path).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        world.history.record_to(BufWriter::new(file));
    }
    tokio::spawn(kubernetes.serve(world.kubernetes(), Some(certificates.clone())));
    clouds.serve(&world, &certificates);
    // The files come last: whoever waits for them finds everything listening.
    clouds::write(&arguments.env_file, &lines, &certificates)?;
    clouds::write_file(&arguments.kubeconfig, &kubeconfig::write(&server, &certificates.authority, "admin"))?;
    println!("world: seed {}, {} x our time, API server {server}", arguments.seed, arguments.speed);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    let (count, hash) = world.history.fingerprint();
    println!("world: {count} requests, hash {hash}");
    Ok(())
}
