//! The rules: what is to be done with what was seen. Pure and total: no IO, no clock, no log, and no way to fail.
//!
//! | module | decides |
//! |---|---|
//! | `requirement` | whether labels keep what a claim requires |
//! | `ladder` | which offerings serve a claim, in which order, and why the others do not |
//! | `claim` | the next step in the life of a claim |
//! | `termination` | the next step in taking it down |
//!
//! `conditions` and `go_duration` serve them all.

pub mod conditions;
pub mod go_duration;
pub mod termination;
