//! The rules: what is to be done with what was seen. Pure and total: no IO, no clock, no log, and no way to fail.
//!
//! | module | decides |
//! |---|---|
//! | `requirement` | whether labels keep what a claim requires |
//! | `ladder` | which offerings serve a claim, in which order, and why the others do not |
//! | `claim` | the next step in the life of a claim |
//! | `termination` | the next step in taking it down |
//! | `leaks` | what was left behind, both ways |
//! | `money` | whether one more machine fits under the caps |
//! | `place` | which pods go where |
//! | `provision` | which claims are made for pods that wait, and what each pod is told |
//! | `disruption` | which nodes go, what comes in their place, and why the others stay |
//! | `command` | the next step of what was decided about nodes, and how it is undone |
//! | `quiet` | since when nothing happens on a node, as its claim notes it |
//! | `repair` | which nodes are not well, and whether they are started anew or replaced |
//!
//! `conditions` serves them all.

pub mod claim;
pub mod command;
pub mod conditions;
pub mod disruption;
pub mod ladder;
pub mod leaks;
pub mod marks;
pub mod money;
pub mod place;
pub mod provision;
pub mod quiet;
pub mod repair;
pub mod requirement;
pub mod termination;
