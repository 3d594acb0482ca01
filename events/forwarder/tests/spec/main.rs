//! What the forwarder promises, on the world and its clock: nothing is lost, nobody is called in vain, one replica sends.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod gathering;
mod http_sink;
mod lambda_sink;
mod loss;
mod queue;
mod replicas;
mod rows;
mod scene;
mod settings;
mod snapshot;
mod wakes;
