//! What was left behind: what is found, and what must never be.

#![allow(clippy::unwrap_used, clippy::panic)]

mod fixture;
mod found;
mod orphans;
mod properties;
