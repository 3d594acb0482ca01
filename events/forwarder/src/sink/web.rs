//! The HTTP client of all sinks: one connection pool, no redirects, and an end to every wait.

use bytes::Bytes;
use core::{error::Error, time::Duration};
use http::{Request, Response};
use std::sync::OnceLock;

/// A function has sixty seconds; its host has the last word.
const PATIENCE: Duration = Duration::from_secs(65);
const CONNECT: Duration = Duration::from_secs(5);
/// More than an answer ever has.
const MOST_BYTES: usize = 1024 * 1024;

/// Built by the first request: loading the trusted authorities costs memory that a sink without TLS need not pay for early.
#[derive(Debug, Default)]
pub struct Web {
    client: OnceLock<Result<reqwest::Client, String>>,
}

impl Web {
    /// The error is what a person needs to know.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        let request = reqwest::Request::try_from(request).map_err(|error| chain(&error))?;
        let mut answer = self.client()?.execute(request).await.map_err(|error| chain(&error))?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let mut body = Vec::new();
        while let Some(part) = answer.chunk().await.map_err(|error| chain(&error))? {
            if body.len() + part.len() > MOST_BYTES {
                return Err(format!("the answer is larger than {MOST_BYTES} bytes"));
            }
            body.extend_from_slice(&part);
        }
        let mut response = Response::new(Bytes::from(body));
        (*response.status_mut(), *response.headers_mut()) = (status, headers);
        Ok(response)
    }

    fn client(&self) -> Result<&reqwest::Client, String> {
        let built = self.client.get_or_init(|| {
            // A process has one TLS provider. If somebody installed one already, that one is as good.
            drop(rustls::crypto::ring::default_provider().install_default());
            reqwest::Client::builder()
                .connect_timeout(CONNECT)
                .timeout(PATIENCE)
                .redirect(reqwest::redirect::Policy::none())
                .user_agent(concat!("pilotlight-forwarder/", env!("CARGO_PKG_VERSION")))
                .build()
                .map_err(|error| chain(&error))
        });
        built.as_ref().map_err(Clone::clone)
    }
}

/// reqwest says "error sending request" and hides the reason one level down.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}
