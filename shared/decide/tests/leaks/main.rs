//! What was left behind: what is found, and what must never be.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;
mod fixture;
mod found;
mod orphans;
mod properties;
