//! Which claims are made for pods that wait, and what each pod is told.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;
mod fixture;
mod golden;
mod made;
mod nominations;
mod words;
