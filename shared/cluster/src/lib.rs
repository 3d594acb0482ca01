//! Kubernetes: the custom resources we define or serve, and what is read and changed of everything else.

pub mod crd;
