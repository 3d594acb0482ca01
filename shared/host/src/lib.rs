//! Serves a function wherever it is started: AWS Lambda, an Azure Functions custom handler, Knative, or in process.
//!
//! ```text
//!  platform/*  ── takes the envelope apart ──►  deliver  ── parse, check, call, count ──►  handler
//!              ◄── puts the answer into the platform's own idiom ──
//! ```
//!
//! A platform file knows its envelope and nothing of our events; `deliver` knows our events and no platform. So
//! one event has one answer, whichever way it came.

mod cloudevents;
mod deliver;
mod function;
pub mod parts;
mod run;
mod server;
pub mod settings;
pub mod signature;
pub mod telemetry;

pub mod platform;

pub use deliver::{Delivered, Deliverer, Reply, Target};
pub use function::Function;
pub use parts::PartsSource;
pub use platform::in_process;
pub use run::{run, serve, serve_from_env, settings_help, settings_table, stop_signal};
pub use server::{Admission, Listening, Site, Unread, listen};
pub use settings::{LogFormat, Platform, Problems, SettingSource, Settings};
