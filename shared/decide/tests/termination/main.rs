//! How a claim is taken down, as a specification: one file a subject, and a toy cluster that plays whole lives.
#![allow(clippy::unwrap_used, clippy::panic)]

mod claim;
#[path = "../common/mod.rs"]
mod common;
mod deadline;
mod drain;
mod fixture;
mod lives;
mod nodes;
mod power;
mod removing;
mod toy;
mod volumes;
