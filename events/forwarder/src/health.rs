//! `/livez`, `/readyz` and `/metrics`.

use bytes::Bytes;
use core::time::Duration;
use host::{Admission, Site, Unread, platform::http::with_body, telemetry};
use http::{Method, Response, StatusCode, request::Parts};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;

/// A loop that has not turned for this long hangs.
const HANGS_AFTER: Duration = Duration::from_secs(60);

/// How a forwarder is doing. Cheap to clone; all clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Health(Arc<Mutex<State>>);

#[derive(Debug, Clone, Copy, Default)]
struct State {
    turned: Option<Instant>,
    ready: bool,
    leads: bool,
    stops: bool,
}

impl Health {
    pub(crate) fn turned(&self, now: Instant, ready: bool, leads: bool) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = State { turned: Some(now), ready, leads, stops: state.stops };
    }

    pub(crate) fn stops(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).stops = true;
    }

    /// Before the first turn it is starting, which is no fault.
    pub fn is_alive(&self) -> bool {
        let state = self.state();
        state.stops || state.turned.is_none_or(|turned| turned.elapsed() < HANGS_AFTER)
    }

    /// Whether it has seen the whole cluster. A replica that does not lead is ready too: it can take over.
    pub fn is_ready(&self) -> bool {
        let state = self.state();
        state.ready && !state.stops
    }

    pub fn leads(&self) -> bool {
        self.state().leads
    }

    fn state(&self) -> State {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn respond(&self, head: &Parts) -> Response<Bytes> {
        let plain = |status, text: &str| with_body(status, "text/plain; charset=utf-8", text.to_owned());
        let healthy = |is: bool, not: &str| {
            if is { plain(StatusCode::OK, "ok\n") } else { plain(StatusCode::SERVICE_UNAVAILABLE, not) }
        };
        match (&head.method, head.uri.path()) {
            (&Method::GET | &Method::HEAD, "/livez") => healthy(self.is_alive(), "the loop hangs\n"),
            (&Method::GET | &Method::HEAD, "/readyz") => healthy(self.is_ready(), "the cluster was not listed yet\n"),
            (&Method::GET, "/metrics") => plain(StatusCode::OK, &telemetry::counts()),
            _ => plain(StatusCode::NOT_FOUND, "here are /livez, /readyz and /metrics\n"),
        }
    }
}

impl Site for Health {
    fn admit(&self, head: &Parts) -> Admission {
        Admission::Answered(self.respond(head))
    }

    async fn accept(&self, head: Parts, _: Bytes, _: Instant) -> Response<Bytes> {
        self.respond(&head)
    }

    fn unread(&self, head: &Parts, _: Unread) -> Response<Bytes> {
        self.respond(head)
    }
}
