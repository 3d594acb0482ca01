//! The verbs that tests are written in: read the samples, ask a function, give it a cluster, serve it on loopback, speak HTTP to it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod clusters;
pub mod custom_resources;
mod ports;
pub mod power_peers;
mod samples;
mod served;

pub use clusters::{empty_cluster, no_cluster};
pub use ports::free_address;
pub use samples::{Expect, Sample, check_samples, sample, samples};
pub use served::{Received, Served, deliverer, settings};
