//! Functions played on the world: no sockets, no processes, and everything else as it is.
//!
//! A [`Copy`] is one process with all functions in it: its own clients and its own memory, which it loses when it crashes.
//! The [`Messenger`] sends it an event for every change of a claim or its node and for every pod that waits, and does what the
//! answers ask for. Tests
//! and `pilotlight demo` use both.

mod copy;
mod line;
mod messenger;
mod parts;
mod subject;

pub use copy::{Copy, Crashed, Make, source};
pub use messenger::{Delivery, Messenger, Telling};
pub use parts::{JOIN_TOKEN, cluster_uid, environment};
pub use subject::{Subject, event, function_for, tick};
