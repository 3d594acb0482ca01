//! Watches the cluster and tells the functions: watch, filter (pure), gather, send.
//!
//! ```text
//!  watch ──► keep ──► cache ──► filter ──► debounce ──► queue ──► event, snapshot ──► sink ──► answer ─┐
//!  kube-rs   the few  one row   pure       pods that    a lane    CloudEvents        HTTP, Lambda,     │
//!            fields   an object            wait         an object                    in process        │
//!                                                         ▲───── later, failed: again ─────────────────┘
//! ```
//!
//! Nothing that matters lives in here: a forwarder that starts again lists the cluster and tells everything again.

pub mod cache;
mod counts;
pub mod debounce;
pub mod desk;
pub mod event;
pub mod filter;
mod forward;
mod health;
pub mod keep;
pub mod lease;
pub mod queue;
pub mod rows;
pub mod settings;
pub mod sink;
pub mod snapshot;
mod start;
pub mod watch;
mod wire;

use kube::Client;
use std::io;

pub use forward::Forwarder;
pub use health::Health;
pub use settings::Settings;
pub use sink::Sinks;
pub use start::{StartError, run_from_env, sinks};

/// Forwards until SIGTERM or Ctrl-C, then finishes what is under way. The client is one of `Way::connect_to_watch`.
pub async fn run(settings: Settings, sinks: Sinks, client: Client) -> io::Result<()> {
    let stop = host::stop_signal()?;
    Forwarder::new(settings, sinks, client).run(stop).await;
    Ok(())
}
