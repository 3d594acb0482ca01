//! The verbs of these tests: a world with our custom resources, claims as people write them, and waiting for what happens.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod claims;
mod commands;
mod disruptions;
mod left_behind;
mod pods;
mod post;
pub mod sweep;
mod theatre;

pub use claims::{KINDS, Kind};
pub use commands::COMMAND;
pub use disruptions::{deployment, with_annotation};
pub use left_behind::{NOBODY, tags};
pub use pods::gpu_pod;
pub use post::Placings;
pub use theatre::{FUNCTIONS, Theatre, WITH_TIMER, condition};
