//! A real Kubernetes control plane on loopback, and what is compared with it.

pub mod compare;
