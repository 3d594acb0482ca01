//! A Kubernetes cluster and three clouds in memory, driven by one seed.

pub mod api;
pub mod arm;
mod body;
pub mod chance;
pub mod check;
mod check_money;
pub mod clock;
pub mod clouds;
pub mod controllers;
pub mod deliveries;
pub mod door;
pub mod faults;
pub mod fleet;
pub mod history;
pub mod kubeconfig;
pub mod patch;
pub mod power;
pub mod process;
pub mod resources;
pub mod scaleway;
pub mod serve;
mod world;

pub use body::WorldBody;
pub use world::{World, WorldOptions};
