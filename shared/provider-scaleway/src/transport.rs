//! How requests travel: one method, with an implementation over HTTPS. Tests bring their own.

use async_trait::async_trait;
use bytes::Bytes;
use core::time::Duration;
use http::{Request, Response};
use std::sync::OnceLock;

/// Scaleway's own SDK waits as long.
const TIME_OUT: Duration = Duration::from_secs(30);

/// No answer of these APIs is larger; a page of a hundred servers has a tenth of it.
const MOST_BYTES: usize = 8 << 20;

/// No answer came.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct TransportError {
    /// The request may have reached the cloud, so it may have been done.
    pub sent: bool,
    pub why: String,
}

/// Carries one request and brings its answer, whatever its status. It does not retry and follows no redirect.
#[async_trait]
pub trait Transport: Send + Sync {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError>;
}

/// HTTPS with rustls. The client is built by the first request, so a process that never calls a cloud pays nothing.
pub struct Https {
    insecure: bool,
    client: OnceLock<Result<reqwest::Client, String>>,
}

impl Https {
    /// `insecure` leaves certificates unchecked; settings allow that on this machine only.
    pub fn new(insecure: bool) -> Self {
        Https { insecure, client: OnceLock::new() }
    }

    fn build(&self) -> Result<reqwest::Client, String> {
        // Somebody else in the process may have chosen one; then theirs is used.
        drop(rustls::crypto::ring::default_provider().install_default());
        reqwest::Client::builder()
            .timeout(TIME_OUT)
            .connect_timeout(Duration::from_secs(10))
            // A redirect would carry the secret key to another host.
            .redirect(reqwest::redirect::Policy::none())
            .tls_danger_accept_invalid_certs(self.insecure)
            .build()
            .map_err(|error| error.to_string())
    }
}

#[async_trait]
impl Transport for Https {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let client = self.client.get_or_init(|| self.build()).as_ref();
        let client = client.map_err(|why| TransportError { sent: false, why: why.clone() })?;
        let request = reqwest::Request::try_from(request);
        let request = request.map_err(|error| TransportError { sent: false, why: error.to_string() })?;
        let lost = |error: reqwest::Error| TransportError { sent: !error.is_connect(), why: chain(&error) };
        let mut answer = client.execute(request).await.map_err(lost)?;
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = answer.status();
        *response.headers_mut() = answer.headers().clone();
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(lost)? {
            body.extend_from_slice(&chunk);
            if body.len() > MOST_BYTES {
                return Err(TransportError { sent: true, why: format!("the answer has more than {MOST_BYTES} bytes") });
            }
        }
        *response.body_mut() = Bytes::from(body);
        Ok(response)
    }
}

/// The whole chain of causes: the outermost text says little.
fn chain(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = core::error::Error::source(error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_connection_that_is_refused_was_not_sent() {
        let request = Request::get("http://127.0.0.1:9/instance").body(Bytes::new()).unwrap();
        let error = Https::new(false).send(request).await.unwrap_err();
        assert!(!error.sent, "{error}");
    }
}
