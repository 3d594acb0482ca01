//! The provider against the world's Azure: its whole life, its bad days, and the exact requests it sends.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../azure/mod.rs"]
mod azure;
mod bad_input;
mod capacity;
mod catalogue;
mod common;
mod defects;
mod errors;
mod faults;
mod golden;
mod life;
mod network;
mod settings;
