//! From `main` to a running forwarder: arguments, settings, connection, exit code.

use host::{
    Listening, Platform, SettingSource,
    parts::{Clock, way},
    settings, settings_table, stop_signal, telemetry,
};
use jiff::Timestamp;
use std::{
    env,
    io::{self, Write as _},
    process::ExitCode,
    sync::Arc,
};
use tokio::sync::watch;

use crate::{
    forward::Forwarder,
    settings::{Settings, SinkSettings},
    sink::{Address, FUNCTIONS, HttpSink, LambdaSink, Sinks, Web},
};

/// Why a forwarder does not run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot start the async runtime: {0}")]
    Runtime(#[source] io::Error),
    #[error("cannot hear signals: {0}")]
    Signals(#[source] io::Error),
    #[error("cannot listen on port {port}: {source}; is another program using it? Set PORT to a free one")]
    Listen { port: u16, source: io::Error },
    #[error("{0}")]
    Connect(#[from] cluster::ConnectError),
}

/// The whole of `main`.
pub fn run_from_env() -> ExitCode {
    match env::args().nth(1).as_deref() {
        None => {}
        Some("--help" | "-h") => return print(&help()),
        Some("--version" | "-V") => return print(concat!("forwarder ", env!("CARGO_PKG_VERSION"), "\n")),
        Some(other) => {
            eprintln!("forwarder: unknown argument {other:?}; it takes settings from the environment, see --help");
            return ExitCode::from(2);
        }
    }
    let (host, settings, sinks) = match Settings::read_with_sinks(SettingSource::from_env()) {
        Ok(read) => read,
        Err(problems) => {
            eprintln!("{problems}");
            return ExitCode::from(2);
        }
    };
    telemetry::start_logs(&host.log);
    // One thread: twenty thousand events a second fit into it, and so does everything in the least memory.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(StartError::Runtime);
    match runtime.and_then(|runtime| runtime.block_on(run(host, settings, sinks))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("forwarder: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(host: host::Settings, settings: Settings, told: SinkSettings) -> Result<(), StartError> {
    let stop = stop_signal().map_err(StartError::Signals)?;
    let port = match host.platform {
        Platform::Http { port } | Platform::Azure { port } => port,
        Platform::Lambda => 0,
    };
    let cannot = |source| StartError::Listen { port, source };
    let listening: Listening = host::listen(host.bind, port).await.map_err(cannot)?;
    telemetry::start_counts();
    let client = way(&host.work).connect_to_watch().await?;
    let sinks = sinks(told, Arc::new(Timestamp::now));
    for function in FUNCTIONS.iter().filter(|function| sinks.of(function).is_none()) {
        tracing::warn!(function, "nothing says where this function is: it is told of nothing");
    }
    let forwarder = Forwarder::new(settings, sinks, client);
    let (stopping, mut stopped) = watch::channel(());
    let health = forwarder.health();
    tracing::info!(address = %listening.address().map_err(cannot)?, "forwarding; /livez, /readyz and /metrics are served");
    let serving = tokio::spawn(listening.serve(health, async move { _ = stopped.changed().await }));
    forwarder.run(stop).await;
    drop(stopping);
    // Health was asked to the end; what is left of a connection does not keep us.
    drop(tokio::time::timeout(core::time::Duration::from_secs(1), serving).await);
    Ok(())
}

/// The sinks that the settings name.
pub fn sinks(told: SinkSettings, clock: Clock) -> Sinks {
    let SinkSettings { addresses, http, lambda } = told;
    let (web, mut sinks) = (Arc::new(Web::default()), Sinks::default());
    for (function, address) in addresses {
        match address {
            Address::Http(url) => {
                sinks.add(function, Arc::new(HttpSink::new(url, http.clone(), web.clone(), clock.clone())));
            }
            Address::Lambda { function: arn, region } => {
                let sink = LambdaSink::new(&arn, region, lambda.clone(), web.clone(), clock.clone());
                sinks.add(function, Arc::new(sink));
            }
        }
    }
    sinks
}

fn help() -> String {
    format!(
        "forwarder: watches a cluster and tells Pilotlight's functions what happens in it. It takes no arguments.

  a pod waits for a GPU           on-pending-pod
  a NodeClaim or its Node changes on-nodeclaim
  a KAITO Workspace changes       on-workspace
  something is to be deleted      on-delete
  the timer ticks                 on-idle-timer

Try it, beside `pilotlight serve` on port 8080:
  export KUBECONFIG=$HOME/.kube/config PILOTLIGHT_ALLOW_UNSIGNED=true
  PORT=8081 PILOTLIGHT_SINK=http://127.0.0.1:8080 forwarder &
  curl -s localhost:8081/readyz; curl -s localhost:8081/metrics

Where the functions are, how events are gathered, sent and repeated:
{}
Settings of every process (the forwarder uses those of HTTP, signing, logs and the cluster), from the environment or the
file that PILOTLIGHT_CONFIG names:
{}",
        settings_table(&settings::FORWARDER),
        settings_table(&settings::CATALOGUE)
    )
}

fn print(text: &str) -> ExitCode {
    // A closed pipe (`| head`) is no failure of ours.
    drop(io::stdout().write_all(text.as_bytes()));
    ExitCode::SUCCESS
}
