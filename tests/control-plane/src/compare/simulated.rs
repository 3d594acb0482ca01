//! The world as one side: in process, at the time of day, with no controllers or with its scheduler alone.

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use std::io;
use world::{
    World, WorldBody, WorldOptions,
    controllers::{ControllersOptions, Running},
};

use super::side::{self, Answering, Chunks, Question, Reply, Side, Watching};

pub struct Simulated {
    world: World,
}

impl Simulated {
    /// Must be called inside a runtime.
    pub fn start(running: Running) -> Self {
        let controllers = ControllersOptions { running, ..ControllersOptions::default() };
        Simulated {
            world: World::start(WorldOptions { beginning: Timestamp::now(), controllers, ..WorldOptions::default() }),
        }
    }

    async fn send(&self, question: Question) -> io::Result<http::Response<WorldBody>> {
        let mut request = Request::builder().method(question.method.as_str()).uri(&question.path);
        request = request.header("authorization", "Bearer world:admin");
        for (name, value) in &question.headers {
            request = request.header(name, value);
        }
        let request = request.body(question.body).map_err(io::Error::other)?;
        self.world.kubernetes().call(request).await
    }
}

impl Side for Simulated {
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

struct Stream(WorldBody);

impl Chunks for Stream {
    fn next(&mut self) -> Answering<'_, Option<Bytes>> {
        Box::pin(async move {
            let Some(frame) = self.0.frame().await else { return Ok(None) };
            Ok(frame.map_err(io::Error::other)?.into_data().ok())
        })
    }
}
