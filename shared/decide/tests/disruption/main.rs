//! Which nodes go, what comes in their place, and why the others stay.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod balanced;
mod between;
mod budgets;
mod consolidation;
mod fixed;
mod fixture;
mod holding;
mod idle;
mod leaving;
mod racks;
mod settling;
mod spot;
