//! The one way from a provider to a cloud of the world: it counts, and it can be asked what it carried.

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use world::door::{Door, Respond};

/// What every provider calls a transport, without its error type.
#[async_trait]
pub trait Carry: Send + Sync {
    async fn carry(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String>;
}

#[async_trait]
impl<R: Respond> Carry for Door<R> {
    async fn carry(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        let (head, body) = self.call(request).await.map_err(|error| error.to_string())?.into_parts();
        let body = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
        Ok(Response::from_parts(head, body))
    }
}

/// Over sockets, with the client that the provider has in the field.
#[async_trait]
impl Carry for provider_scaleway::Https {
    async fn carry(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        provider_scaleway::Transport::send(self, request).await.map_err(|error| error.to_string())
    }
}

/// Clones are the same wire.
#[derive(Clone)]
pub struct Wire {
    inner: Arc<dyn Carry>,
    seen: Arc<Mutex<Seen>>,
}

/// What went over a wire so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub requests: u64,
    /// Answered with 429.
    pub throttled: u64,
}

#[derive(Default)]
struct Seen {
    counts: Counts,
    /// Requests, while somebody wants to send them again.
    kept: Option<Vec<Request<Bytes>>>,
}

impl Wire {
    pub fn to(inner: impl Carry + 'static) -> Self {
        Wire { inner: Arc::new(inner), seen: Arc::default() }
    }

    pub fn counts(&self) -> Counts {
        self.seen().counts
    }

    /// Keeps copies of the requests from now on.
    pub fn keep(&self) {
        self.seen().kept = Some(Vec::new());
    }

    /// The requests since `keep`; no more are kept.
    pub fn kept(&self) -> Vec<Request<Bytes>> {
        self.seen().kept.take().unwrap_or_default()
    }

    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        if let Some(kept) = &mut self.seen().kept {
            kept.push(request.clone());
        }
        let answer = self.inner.carry(request).await;
        let throttled = answer.as_ref().is_ok_and(|answer| answer.status() == StatusCode::TOO_MANY_REQUESTS);
        let mut seen = self.seen();
        seen.counts.requests += 1;
        seen.counts.throttled += u64::from(throttled);
        answer
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl provider_aks::Transport for Wire {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, provider_aks::TransportError> {
        Wire::send(self, request).await.map_err(|why| provider_aks::TransportError { sent: true, why })
    }
}

#[async_trait]
impl provider_scaleway::Transport for Wire {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, provider_scaleway::TransportError> {
        Wire::send(self, request).await.map_err(|why| provider_scaleway::TransportError { sent: true, why })
    }
}

#[async_trait]
impl provider_power::Transport for Wire {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, provider_power::TransportError> {
        Wire::send(self, request).await.map_err(provider_power::TransportError::after)
    }
}
