//! One file a platform: its envelope in, its idiom out.

pub mod azure;
mod azure_envelope;
pub mod http;
pub mod in_process;
mod json_headers;
pub mod lambda;
mod lambda_envelope;
