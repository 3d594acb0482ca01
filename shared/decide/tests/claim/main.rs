//! How a claim comes to life, as a specification: one file a subject, and a toy cloud that plays whole lives.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;
mod failures;
mod fixture;
mod initialization;
mod joined;
mod launch;
mod lives;
#[path = "../ladder/market.rs"]
#[allow(dead_code, reason = "only what is on offer; the ladder has its own verbs")]
mod market;
mod registration;
mod timeouts;
mod toy;
mod unready;
mod whose;
