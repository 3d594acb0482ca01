//! The verbs that tests are written in: read the samples, ask a function, serve it on loopback, speak HTTP to it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod samples;
mod served;

pub use samples::{Expect, Sample, check_samples, samples};
pub use served::{Received, Served, deliverer, settings};
