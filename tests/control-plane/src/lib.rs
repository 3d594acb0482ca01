//! A real Kubernetes control plane on loopback, without Docker: etcd, kube-apiserver, kube-controller-manager,
//! kube-scheduler, and KWOK for nodes and pods that run nothing.

pub mod account;
pub mod audit;
mod build;
pub mod chronicle;
pub mod command;
pub mod compare;
mod components;
pub mod every_right;
pub mod fleet;
pub mod going;
mod held;
pub mod karpenter;
pub mod late;
pub mod lives;
mod measure;
mod orders;
pub mod pods;
pub mod process;
mod programs;
pub mod rights;
pub mod scale;
pub mod secrets;
mod seen;
pub mod site;
pub mod stagehand;
mod supervisor;
mod team;
pub mod troupe;
mod versions;

pub use components::{Component, KWOK_NODE};
pub use held::{ControlPlane, client_of};
pub use supervisor::Facts;
