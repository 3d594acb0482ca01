//! The ladder as a specification: what fits, in which order, what is remembered, and what a person is told.

#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod fits;
mod market;
mod memory;
mod order;
mod properties;
mod why;
