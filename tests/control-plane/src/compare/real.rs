//! A real API server as the other side, by way of a kubeconfig.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use std::{io, path::Path};

use super::side::{self, Answering, Chunks, Question, Reply, Side, Watching};

pub struct Real {
    client: Client,
}

impl Real {
    /// The kubeconfig has to be one of somebody who may do everything.
    pub async fn of(kubeconfig: &Path) -> io::Result<Self> {
        let read = Kubeconfig::read_from(kubeconfig).map_err(io::Error::other)?;
        let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await;
        let mut config = config.map_err(io::Error::other)?;
        // A refusal is an answer here, even one that asks to try again.
        config.default_retry = false;
        Ok(Real { client: Client::try_from(config).map_err(io::Error::other)? })
    }

    async fn send(&self, question: Question) -> io::Result<Response<Body>> {
        let mut request = Request::builder().method(question.method.as_str()).uri(&question.path);
        for (name, value) in &question.headers {
            request = request.header(name, value);
        }
        let request = request.body(Body::from(question.body.to_vec())).map_err(io::Error::other)?;
        self.client.send(request).await.map_err(io::Error::other)
    }
}

impl Side for Real {
    fn ask(&self, question: Question) -> Answering<'_, Reply> {
        Box::pin(async move {
            let response = self.send(question).await?;
            let (status, headers) = (response.status().as_u16(), side::headers(response.headers()));
            let bytes = response.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
            Ok(Reply { status, headers, body: side::body(&bytes) })
        })
    }

    fn open(&self, question: Question) -> Answering<'_, Watching> {
        Box::pin(async move {
            let response = self.send(question).await?;
            let (status, headers) = (response.status().as_u16(), side::headers(response.headers()));
            let head = Reply { status, headers, ..Reply::default() };
            Ok(Watching { head, chunks: Box::new(Stream(response.into_body())) })
        })
    }
}

struct Stream(Body);

impl Chunks for Stream {
    fn next(&mut self) -> Answering<'_, Option<Bytes>> {
        Box::pin(async move {
            let Some(frame) = self.0.frame().await else { return Ok(None) };
            Ok(frame.map_err(io::Error::other)?.into_data().ok())
        })
    }
}
