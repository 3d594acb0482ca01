//! From `main` to a served function: arguments, settings, logs, platform, exit code.

use std::{
    env,
    io::{self, Write as _},
    net::{IpAddr, Ipv4Addr},
    process::ExitCode,
};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    Deliverer, Function, PartsSource, Platform, Settings,
    platform::{azure::Azure, http::Http, lambda},
    server::listen,
    settings::{CATALOGUE, Known},
    telemetry,
};

/// Why a process could not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("cannot listen on port {port}: {source}; is another program using it? Set {variable} to a free one")]
    Listen { port: u16, variable: &'static str, source: io::Error },
    #[error("cannot hear signals: {0}")]
    Signals(#[source] io::Error),
    #[error("the Lambda runtime ended: {0}")]
    Lambda(String),
    #[error("cannot start the async runtime: {0}")]
    Runtime(#[source] io::Error),
}

/// The whole of a function's `main`.
pub fn run(name: &'static str, make: fn(PartsSource) -> Function) -> ExitCode {
    match env::args().nth(1).as_deref() {
        None => serve_from_env(|parts| vec![make(parts)]),
        Some("--help" | "-h") => print(&help(name)),
        Some("--version" | "-V") => print(&format!("{name} {}\n", env!("CARGO_PKG_VERSION"))),
        Some(other) => {
            eprintln!("{name}: unknown argument {other:?}; it takes settings from the environment, see --help");
            ExitCode::from(2)
        }
    }
}

/// Reads the settings and serves until the platform or a signal ends it.
pub fn serve_from_env(make: impl FnOnce(PartsSource) -> Vec<Function>) -> ExitCode {
    let settings = match Settings::from_env() {
        Ok(settings) => settings,
        Err(problems) => {
            eprintln!("{problems}");
            return ExitCode::from(2);
        }
    };
    telemetry::start_logs(&settings.log);
    let functions = make(PartsSource::from_settings(settings.work.clone()));
    // One thread: a function waits for others nearly all of its time, and starts faster without a pool.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ServeError::Runtime);
    match runtime.and_then(|runtime| runtime.block_on(serve(functions, settings))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Picks the platform once and serves it.
pub async fn serve(functions: Vec<Function>, settings: Settings) -> Result<(), ServeError> {
    let deliverer = Deliverer::new(functions, &settings);
    let stop = stop_signal().map_err(ServeError::Signals)?;
    match settings.platform {
        Platform::Lambda => {
            lambda::serve(Http::new(deliverer, settings.signing), stop).await.map_err(ServeError::Lambda)
        }
        Platform::Azure { port } => {
            let variable = "FUNCTIONS_CUSTOMHANDLER_PORT";
            let loopback = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
            let listening =
                listen(loopback, port).await.map_err(|source| ServeError::Listen { port, variable, source })?;
            tracing::info!(port, "serving the Azure Functions host");
            listening.serve(Azure::new(Http::new(deliverer, settings.signing)), stop).await;
            Ok(())
        }
        Platform::Http { port } => {
            let cannot = |source| ServeError::Listen { port, variable: "PORT", source };
            let listening = listen(settings.bind, port).await.map_err(cannot)?;
            telemetry::start_counts();
            tracing::info!(address = %listening.address().map_err(cannot)?, "serving CloudEvents over HTTP");
            listening.serve(Http::new(deliverer, settings.signing), stop).await;
            Ok(())
        }
    }
}

/// Ready on SIGTERM or Ctrl-C.
pub fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping: finishing what is under way");
    })
}

/// The settings of every function process, for `--help`.
pub fn settings_help() -> String {
    format!("Settings, from the environment or the file that PILOTLIGHT_CONFIG names:\n{}", settings_table(&CATALOGUE))
}

/// A line a setting.
pub fn settings_table(settings: &[Known]) -> String {
    let mut text = String::new();
    for known in settings {
        let default = if known.default.is_empty() { String::new() } else { format!(" [default: {}]", known.default) };
        text.push_str(&format!("  {:<32} {}{default}\n", known.variable, known.meaning));
    }
    text
}

fn help(name: &str) -> String {
    format!(
        "{name}: a Pilotlight function. It takes no arguments: start it, and it serves the platform it finds itself on.

  AWS Lambda       when AWS_LAMBDA_RUNTIME_API is set
  Azure Functions  when FUNCTIONS_CUSTOMHANDLER_PORT is set
  HTTP             otherwise, CloudEvents on PORT, as Knative wants them

Try it:
  PILOTLIGHT_ALLOW_UNSIGNED=true {name} &
  curl -i localhost:8080 -H 'content-type: application/cloudevents+json' -H 'prefer: reply' -d @event.json

{}",
        settings_help()
    )
}

fn print(text: &str) -> ExitCode {
    // A closed pipe (`| head`) is no failure of ours.
    drop(io::stdout().write_all(text.as_bytes()));
    ExitCode::SUCCESS
}
