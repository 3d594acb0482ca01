//! How requests reach Azure: one method, so that tests can put a world behind it.

use async_trait::async_trait;
use bytes::Bytes;
use core::{fmt, time::Duration};
use http::{Request, Response};
use std::sync::OnceLock;

/// Sends one request and returns its whole answer. Whoever implements it does not retry and does not follow redirects:
/// a bearer token must not travel to a host we did not name.
#[async_trait]
pub trait Transport: Send + Sync {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError>;
}

/// No answer came.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct TransportError {
    /// Whether Azure may have received it. Only `false` proves that nothing was done.
    pub sent: bool,
    pub why: String,
}

/// The real thing, for Resource Manager and for signing in alike. The client is built by the first request: building it costs a
/// cold start milliseconds. It trusts the authorities of the platform, or those of `SSL_CERT_FILE` and `SSL_CERT_DIR` where one
/// of them is set, and takes the proxy of `HTTPS_PROXY`.
#[derive(Default)]
pub struct Web {
    client: OnceLock<Result<reqwest::Client, String>>,
}

/// Longer than Azure takes to accept anything, shorter than the 60 s a function has.
const PATIENCE: Duration = Duration::from_secs(30);

impl Web {
    fn client(&self) -> Result<&reqwest::Client, TransportError> {
        let built = self.client.get_or_init(|| {
            // A process has one TLS provider. If somebody installed one already, that one is as good.
            drop(rustls::crypto::ring::default_provider().install_default());
            reqwest::Client::builder()
                .connect_timeout(Duration::from_secs(10))
                .timeout(PATIENCE)
                .redirect(reqwest::redirect::Policy::none())
                .user_agent(concat!("pilotlight/", env!("CARGO_PKG_VERSION")))
                .build()
                .map_err(|error| chain(&error))
        });
        built.as_ref().map_err(|why| TransportError { sent: false, why: why.clone() })
    }
}

#[async_trait]
impl Transport for Web {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let client = self.client()?;
        let failed = |error: reqwest::Error| TransportError {
            sent: !(error.is_connect() || error.is_builder()),
            why: chain(&error),
        };
        let request = reqwest::Request::try_from(request).map_err(failed)?;
        let answer = client.execute(request).await.map_err(failed)?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let body = answer.bytes().await.map_err(|error| TransportError { sent: true, why: chain(&error) })?;
        let mut response = Response::new(body);
        (*response.status_mut(), *response.headers_mut()) = (status, headers);
        Ok(response)
    }
}

impl fmt::Debug for Web {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Web")
    }
}

/// reqwest says "error sending request" and hides the reason one level down.
fn chain(error: &dyn core::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}
