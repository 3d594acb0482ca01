//! The one way out: a request goes, an answer comes. Everything else is done on this side of it.

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use std::sync::Arc;

/// Sends one request. It follows no redirect and retries nothing; time-outs are the caller's too.
#[async_trait]
pub trait Transport: Send + Sync {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError>;
}

/// No answer came. The text names no URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct TransportError {
    /// Whether anything may have reached the other side. If in doubt, it has.
    pub sent: bool,
    /// Whether asking again could ever help: a refused address stays refused.
    pub refused: bool,
    pub why: String,
}

/// Among a request's extensions: the authorities to trust instead of the system's, as PEM.
#[derive(Debug, Clone)]
pub struct TrustedAuthorities(pub Arc<str>);

impl TransportError {
    pub fn before(why: impl Into<String>) -> Self {
        TransportError { sent: false, refused: false, why: why.into() }
    }

    pub fn after(why: impl Into<String>) -> Self {
        TransportError { sent: true, refused: false, why: why.into() }
    }

    pub fn refused(why: impl Into<String>) -> Self {
        TransportError { sent: false, refused: true, why: why.into() }
    }
}
