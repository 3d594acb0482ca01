//! The API server: a store of objects, the rules of their life, and the verbs of Kubernetes over HTTP.

pub(crate) mod admission;
mod decoding;
mod delete;
mod documents;
mod edit;
mod go_json;
mod label_parser;
mod list;
pub mod objects;
mod options;
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
