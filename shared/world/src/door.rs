//! The one way into a place of the world: every request passes the faults and ends in the history.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, header::RETRY_AFTER};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{future::Future, io, sync::Arc, time::Duration};
use tokio::sync::mpsc;

use crate::{
    body::WorldBody,
    clock::Clock,
    faults::{Faults, Mishap, Seen, status},
    history::{Audit, Exchange, History, Place},
};

/// A list of thousands of objects says less than its hash, and costs more than the rest of the run.
const LARGEST_SHOWN: usize = 1024 * 1024;

/// Answers requests: the API server, or a cloud.
pub trait Respond: Send + Sync + 'static {
    fn respond(&self, request: Request<Bytes>) -> impl Future<Output = Response<WorldBody>> + Send;

    /// Who asks, as far as the request says.
    fn user(&self, headers: &HeaderMap) -> String;

    /// The request in the words of RBAC, where there are any.
    fn audit(&self, request: &Request<Bytes>) -> Option<Audit>;
}

/// A read that has to see the past. The API server looks for it among the request's extensions.
#[derive(Debug, Clone, Copy)]
pub struct StaleBy(pub u64);

/// Told which user has crashed.
pub type CrashHook = Arc<dyn Fn(&str) + Send + Sync>;

/// What all doors of a world share.
#[derive(Clone)]
pub struct Hall {
    pub clock: Clock,
    pub faults: Faults,
    pub history: History,
    pub crashed: CrashHook,
}

/// A place behind its door. Cheap to clone.
pub struct Door<R> {
    place: Place,
    inner: Arc<R>,
    hall: Hall,
}

impl<R> Clone for Door<R> {
    fn clone(&self) -> Self {
        Door { place: self.place, inner: self.inner.clone(), hall: self.hall.clone() }
    }
}

impl<R: Respond> Door<R> {
    pub fn new(place: Place, inner: Arc<R>, hall: Hall) -> Self {
        Door { place, inner, hall }
    }

    /// An error is a connection that broke.
    pub async fn call(&self, mut request: Request<Bytes>) -> io::Result<Response<WorldBody>> {
        let user = self.inner.user(request.headers());
        let audit = self.inner.audit(&request);
        let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
        let query = request.uri().query().unwrap_or_default().to_owned();
        let at = self.hall.clock.now();
        let seen = Seen { at, to: self.place, user: &user, method: &method, path: &path, query: &query };
        let mishap = self.hall.faults.next(seen);
        if let Some(Mishap::Stale { revisions }) = mishap {
            request.extensions_mut().insert(StaleBy(revisions));
        }
        if let Some(delay) = mishap.as_ref().and_then(Mishap::delay) {
            self.hall.clock.sleep(delay).await;
        }
        let said = readable(request.body());
        let answered = match &mishap {
            Some(mishap) if !mishap.is_done() => None,
            _ => Some(self.inner.respond(request).await),
        };
        let exchange = Exchange {
            at,
            to: self.place,
            user,
            method,
            path,
            query,
            status: None,
            request: said,
            answer: Value::Null,
            fault: mishap.as_ref().map(Mishap::name),
            audit,
        };
        self.finish(exchange, mishap, answered).await
    }

    /// What reaches the caller, and the line in the history.
    async fn finish(
        &self,
        mut exchange: Exchange,
        mishap: Option<Mishap>,
        answered: Option<Response<WorldBody>>,
    ) -> io::Result<Response<WorldBody>> {
        let lost = |exchange: Exchange| self.hall.history.add(exchange);
        match mishap {
            Some(Mishap::Crash { .. }) => {
                let user = exchange.user.clone();
                lost(exchange);
                (self.hall.crashed)(&user);
                Err(io::ErrorKind::ConnectionAborted.into())
            }
            Some(Mishap::TimeOut { .. }) => {
                lost(exchange);
                std::future::pending().await
            }
            Some(Mishap::Reset { .. }) => {
                lost(exchange);
                Err(io::ErrorKind::ConnectionReset.into())
            }
            Some(Mishap::Answer { status: code, retry_after, .. }) => {
                let response = injected(self.place, code, retry_after);
                self.note(&mut exchange, &response);
                self.hall.history.add(exchange);
                Ok(response)
            }
            other => {
                let Some(response) = answered else { return Err(io::ErrorKind::ConnectionReset.into()) };
                self.note(&mut exchange, &response);
                self.hall.history.add(exchange);
                Ok(match other {
                    Some(Mishap::DropWatch { milliseconds }) => {
                        self.dropped(response, Duration::from_millis(milliseconds))
                    }
                    Some(Mishap::DelayWatch { milliseconds }) => {
                        self.delayed(response, Duration::from_millis(milliseconds))
                    }
                    _ => response,
                })
            }
        }
    }

    fn note(&self, exchange: &mut Exchange, response: &Response<WorldBody>) {
        exchange.status = Some(response.status().as_u16());
        exchange.answer = match response.body() {
            WorldBody::Full(body) => body.as_ref().map_or(Value::Null, readable),
            WorldBody::Stream(_) => json!("a stream"),
        };
    }

    fn dropped(&self, response: Response<WorldBody>, after: Duration) -> Response<WorldBody> {
        let clock = self.hall.clock;
        response.map(|body| match body {
            WorldBody::Stream(mut chunks) => {
                let (sender, receiver) = mpsc::channel(1);
                tokio::spawn(async move {
                    let forwarding = async {
                        while let Some(chunk) = chunks.recv().await {
                            if sender.send(chunk).await.is_err() {
                                return;
                            }
                        }
                    };
                    tokio::select! {
                        biased;
                        () = clock.sleep(after) => {}
                        () = forwarding => {}
                    }
                });
                WorldBody::Stream(receiver)
            }
            full => full,
        })
    }

    fn delayed(&self, response: Response<WorldBody>, by: Duration) -> Response<WorldBody> {
        let clock = self.hall.clock;
        response.map(|body| match body {
            WorldBody::Stream(mut chunks) => {
                let (sender, receiver) = mpsc::channel(1);
                tokio::spawn(async move {
                    while let Some(chunk) = chunks.recv().await {
                        clock.sleep(by).await;
                        if sender.send(chunk).await.is_err() {
                            return;
                        }
                    }
                });
                WorldBody::Stream(receiver)
            }
            full => full,
        })
    }
}

/// A body as a person reads it: JSON, text, or its size. What nobody would read is told by its hash.
fn readable(body: &Bytes) -> Value {
    if body.is_empty() {
        return Value::Null;
    }
    if body.len() > LARGEST_SHOWN {
        let digest: String = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
        return json!({ "bytes": body.len(), "sha256": digest });
    }
    let text = || std::str::from_utf8(body).map(Value::from).unwrap_or_else(|_| json!(format!("{} bytes", body.len())));
    serde_json::from_slice(body).unwrap_or_else(|_| text())
}

/// What a gateway on the way would say. To Kubernetes clients that is a `Status`.
fn injected(place: Place, code: u16, retry_after: Option<u64>) -> Response<WorldBody> {
    let status = status(code);
    let body = match place {
        Place::Kubernetes => json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "an injected fault", "reason": reason(code), "code": code })
        .to_string(),
        Place::Aks => json!({ "error": { "code": reason(code), "message": "an injected fault" } }).to_string(),
        // Scaleway's 429 has no body at all.
        Place::Scaleway | Place::Power => String::new(),
    };
    let mut response = Response::new(WorldBody::from(Bytes::from(body)));
    *response.status_mut() = status;
    if place != Place::Scaleway {
        response.headers_mut().insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn reason(code: u16) -> &'static str {
    match code {
        409 => "Conflict",
        412 => "PreconditionFailed",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "InternalError",
    }
}
