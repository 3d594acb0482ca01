//! A real API server as the other side: HTTPS with a token.

use bytes::Bytes;
use std::{error::Error, io};

use super::side::{self, Answering, Chunks, Question, Reply, Side, Watching};

pub struct Real {
    client: reqwest::Client,
    base: String,
    token: String,
}

impl Real {
    /// `authority` is the certificate that the server's own is signed with, as PEM.
    pub fn new(base: &str, token: &str, authority: &[u8]) -> io::Result<Self> {
        // Somebody else in the process may have chosen one; then theirs is used.
        drop(rustls::crypto::ring::default_provider().install_default());
        let authorities = reqwest::Certificate::from_pem_bundle(authority).map_err(io::Error::other)?;
        let client = reqwest::Client::builder().tls_certs_only(authorities).no_proxy();
        let client = client.build().map_err(|error| broken(&error))?;
        Ok(Real { client, base: base.trim_end_matches('/').to_owned(), token: token.to_owned() })
    }

    async fn send(&self, question: Question) -> io::Result<reqwest::Response> {
        let method = question.method.parse().map_err(io::Error::other)?;
        let mut request = self.client.request(method, format!("{}{}", self.base, question.path));
        request = request.bearer_auth(&self.token);
        for (name, value) in &question.headers {
            request = request.header(name, value);
        }
        request.body(question.body).send().await.map_err(|error| broken(&error))
    }
}

impl Side for Real {
    fn ask<'a>(&'a self, question: Question) -> Answering<'a, Reply> {
        Box::pin(async move {
            let response = self.send(question).await?;
            let (status, headers) = (response.status().as_u16(), side::headers(response.headers()));
            let bytes = response.bytes().await.map_err(|error| broken(&error))?;
            Ok(Reply { status, headers, body: side::body(&bytes) })
        })
    }

    fn open<'a>(&'a self, question: Question) -> Answering<'a, Watching> {
        Box::pin(async move {
            let response = self.send(question).await?;
            let (status, headers) = (response.status().as_u16(), side::headers(response.headers()));
            let head = Reply { status, headers, ..Reply::default() };
            Ok(Watching { head, chunks: Box::new(Stream(response)) })
        })
    }
}

struct Stream(reqwest::Response);

impl Chunks for Stream {
    fn next<'a>(&'a mut self) -> Answering<'a, Option<Bytes>> {
        Box::pin(async move { self.0.chunk().await.map_err(|error| broken(&error)) })
    }
}

/// The whole chain of causes: the outermost text says little.
fn broken(error: &reqwest::Error) -> io::Error {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        said = format!("{said}: {next}");
        cause = next.source();
    }
    io::Error::other(said)
}
