//! The lines from a copy to the world's places. A line that a crash cut stays silent for ever: its owner is dead.

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response, header::AUTHORIZATION};
use http_body_util::BodyExt as _;
use std::{
    future::pending,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{sync::Notify, time::timeout};
use world::{
    World, WorldBody,
    door::{Door, Respond},
};

/// What an ordinary client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whether a copy still lives.
#[derive(Clone, Default)]
pub struct Pulse {
    dead: Arc<AtomicBool>,
    died: Arc<Notify>,
}

impl Pulse {
    /// Ready when the copy has died.
    pub async fn stopped(&self) {
        let died = self.died.notified();
        if !self.dead.load(Ordering::SeqCst) {
            died.await;
        }
    }

    /// A dead caller hears nothing, so it does nothing more.
    async fn stop(&self) -> ! {
        self.dead.store(true, Ordering::SeqCst);
        self.died.notify_waiters();
        pending().await
    }

    /// An answer, if it comes in time and the caller lives to hear it.
    async fn call<R: Respond>(&self, door: &Door<R>, request: Request<Bytes>) -> io::Result<Response<WorldBody>> {
        if self.dead.load(Ordering::SeqCst) {
            return pending().await;
        }
        match timeout(PATIENCE, door.call(request)).await {
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionAborted => self.stop().await,
            Ok(answer) => answer,
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "no answer within 30 s")),
        }
    }

    async fn fetch<R: Respond>(&self, door: &Door<R>, request: Request<Bytes>) -> io::Result<Response<Bytes>> {
        let (head, body) = self.call(door, request).await?.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        Ok(Response::from_parts(head, body))
    }
}

/// A Kubernetes client of this user.
pub fn client(world: &World, pulse: &Pulse, user: &str) -> kube::Client {
    let (door, token, pulse) = (world.kubernetes(), format!("Bearer world:{user}"), pulse.clone());
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let (door, token, pulse) = (door.clone(), token.clone(), pulse.clone());
        async move {
            let (mut head, body) = request.into_parts();
            if let Ok(value) = token.parse() {
                head.headers.insert(AUTHORIZATION, value);
            }
            let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
            pulse.call(&door, Request::from_parts(head, body)).await
        }
    });
    kube::Client::new(service, "default")
}

/// A line to each cloud, as its provider wants it.
#[derive(Clone)]
pub struct Line {
    pub world: World,
    pub pulse: Pulse,
}

#[async_trait]
impl provider_aks::Transport for Line {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, provider_aks::TransportError> {
        let lost = |error: io::Error| provider_aks::TransportError { sent: true, why: error.to_string() };
        self.pulse.fetch(&self.world.aks(), request).await.map_err(lost)
    }
}

#[async_trait]
impl provider_scaleway::Transport for Line {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, provider_scaleway::TransportError> {
        let lost = |error: io::Error| provider_scaleway::TransportError { sent: true, why: error.to_string() };
        self.pulse.fetch(&self.world.scaleway(), request).await.map_err(lost)
    }
}

#[async_trait]
impl provider_power::Transport for Line {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, provider_power::TransportError> {
        let lost = |error: io::Error| provider_power::TransportError::after(error.to_string());
        self.pulse.fetch(&self.world.power(), request).await.map_err(lost)
    }
}
