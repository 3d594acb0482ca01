//! Every verb on a simulated cluster: what is sent, what stays, and what is said when it does not work.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod claims;
mod connecting;
mod left_over;
mod lost_answers;
mod nodes;
mod notes_and_stock;
mod other_reads;
mod pods;
mod rights;
mod stage;
mod status;
mod turn;
