//! Scaleway GPU instances behind the provider port.
//!
//! A server is made stopped, given its user data, its root volume is tagged, and only then is it powered on: what exists
//! can always be found again by its tag, so nothing is made twice and nothing is left behind. The crate keeps no state.
//! What a node class may say is documented in `class.rs`, what a process is told in `settings.rs`.

mod api;
pub mod catalogue;
mod class;
mod cloud_init;
mod ensure;
mod errors;
mod look;
pub mod names;
mod note;
mod plan;
mod reboot;
mod remove;
mod scaleway;
mod settings;
mod start;
mod tags;
mod transport;
mod wire;

pub use scaleway::{Now, Scaleway};
pub use settings::{Problem, Problems, SecretKey, Settings};
pub use transport::{Https, Transport, TransportError};

/// The first part of every offering's name.
pub const PROVIDER: &str = "scaleway";
