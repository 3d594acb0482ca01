//! `pilotlight run`: the forwarder and all functions in one process, for one cluster.

use forwarder::{Forwarder, Sinks};
use host::{PartsSource, Platform, SettingSource, Settings, parts::way, telemetry};
use std::{env, io, process::ExitCode, time::Duration};
use tokio::sync::watch;

pub const AFTER_HELP: &str = "Example:
  export KUBECONFIG=$HOME/.kube/config
  pilotlight crds | kubectl apply --server-side -f -
  pilotlight run

Settings are those of the functions (pilotlight serve --help) and of the forwarder. Nothing is listened on unless PORT is
set; then /livez, /readyz and /metrics are served there.";

/// Why it does not run.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error("cannot start the async runtime: {0}")]
    Runtime(#[source] io::Error),
    #[error("cannot hear signals: {0}")]
    Signals(#[source] io::Error),
    #[error("cannot listen on port {port}: {source}; is another program using it? Set PORT to a free one")]
    Listen { port: u16, source: io::Error },
    #[error("{0}")]
    Connect(#[from] cluster::ConnectError),
}

pub fn run() -> ExitCode {
    let (host, settings) = match forwarder::Settings::read(source()) {
        Ok(read) => read,
        Err(problems) => {
            eprintln!("{problems}");
            return ExitCode::from(2);
        }
    };
    telemetry::start_logs(&host.log);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RunError::Runtime);
    match runtime.and_then(|runtime| runtime.block_on(forward(host, settings))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pilotlight run: {error}");
            ExitCode::FAILURE
        }
    }
}

/// No event leaves this process, so there is nobody to prove anything to.
fn source() -> SettingSource {
    let variables: Vec<(String, String)> = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .chain([("PILOTLIGHT_ALLOW_UNSIGNED".to_owned(), "true".to_owned())])
        .collect();
    SettingSource::from_pairs(variables.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}

async fn forward(host: Settings, settings: forwarder::Settings) -> Result<(), RunError> {
    let stop = host::stop_signal().map_err(RunError::Signals)?;
    let client = way(&host.work).connect_to_watch().await?;
    let functions = crate::functions(PartsSource::from_settings(host.work.clone()));
    let forwarder = Forwarder::new(settings, Sinks::in_process(functions, &host), client);
    let (stopping, mut stopped) = watch::channel(());
    let serving = match asked_port(&host) {
        Some(port) => {
            let cannot = |source| RunError::Listen { port, source };
            let listening = host::listen(host.bind, port).await.map_err(cannot)?;
            telemetry::start_counts();
            tracing::info!(address = %listening.address().map_err(cannot)?, "/livez, /readyz and /metrics are served");
            let until = async move { _ = stopped.changed().await };
            Some(tokio::spawn(listening.serve(forwarder.health(), until)))
        }
        None => None,
    };
    tracing::info!("watching the cluster; all functions are in this process");
    forwarder.run(stop).await;
    drop(stopping);
    if let Some(serving) = serving {
        // Health was asked to the end; what is left of a connection does not keep us.
        drop(tokio::time::timeout(Duration::from_secs(1), serving).await);
    }
    Ok(())
}

fn asked_port(host: &Settings) -> Option<u16> {
    match host.platform {
        Platform::Http { port } | Platform::Azure { port } if env::var_os("PORT").is_some() => Some(port),
        Platform::Http { .. } | Platform::Azure { .. } | Platform::Lambda => None,
    }
}
