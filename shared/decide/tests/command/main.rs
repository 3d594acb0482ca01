//! A command from its record to its end, or back: on a toy cluster that carries its deeds out.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../common/mod.rs"]
mod common;
mod lives;
mod reboots;
mod toy;
mod undone;
