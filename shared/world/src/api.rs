//! The API server: a store of objects, the rules of their life, and the verbs of Kubernetes over HTTP.

pub(crate) mod admission;
mod delete;
mod documents;
mod edit;
mod list;
pub mod objects;
mod patching;
mod read;
mod request;
pub mod selector;
pub mod server;
pub mod status;
pub mod store;
mod subresource;
mod versions;
mod watch;
mod write;
