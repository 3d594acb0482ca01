//! Carries out a plan, and reports what came of it.
//!
//! Everything here is idempotent and nothing is retried: an action that did not come out is a result, which `decide` reads
//! and which the next invocation starts from.

mod carry_out;
mod command;
mod providers;
mod provision;
mod report;

pub use carry_out::{Carried, carry_out};
pub use command::{Acted, CommandSeen, carry_out_command};
pub use providers::Providers;
pub use provision::{make_claims, tell_pods};
pub use report::{Reported, report};
