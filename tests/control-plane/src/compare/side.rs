//! One of the two that are compared: whatever answers HTTP requests as a Kubernetes API server does.

use bytes::Bytes;
use serde_json::Value;
use std::{collections::BTreeMap, future::Future, io, pin::Pin, time::Duration};

/// A request as a scenario asks for it, with all variables filled in.
#[derive(Debug, Clone, Default)]
pub struct Question {
    pub method: String,
    /// Path and query.
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: Bytes,
}

/// What came back. A body that is no JSON is a string.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: Value,
}

/// How long a watch is listened to.
#[derive(Debug, Clone, Copy)]
pub struct Listening {
    /// It is over after so many events …
    pub events: usize,
    /// … or after this long.
    pub longest: Duration,
}

pub type Answering<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// A side of the comparison. An error is a connection that broke.
pub trait Side: Send + Sync {
    fn ask(&self, question: Question) -> Answering<'_, Reply>;

    /// Opens a watch. The head has arrived when this returns; events are read from what it gives back.
    fn open(&self, question: Question) -> Answering<'_, Watching>;
}

/// A watch that is open, or an answer that turned out to be none.
pub struct Watching {
    pub head: Reply,
    pub chunks: Box<dyn Chunks>,
}

/// The body of a watch, piece by piece. `None` is its end.
pub trait Chunks: Send {
    fn next(&mut self) -> Answering<'_, Option<Bytes>>;
}

impl Watching {
    /// Reads events until there are enough, the stream ends, or time is up. The body becomes the list of events.
    pub async fn collect(mut self, listening: Listening) -> io::Result<Reply> {
        let deadline = tokio::time::Instant::now() + listening.longest;
        let mut text = Vec::new();
        while text.iter().filter(|byte| **byte == b'\n').count() < listening.events {
            let chunk = match tokio::time::timeout_at(deadline, self.chunks.next()).await {
                Ok(chunk) => chunk?,
                Err(_) => break,
            };
            match chunk {
                Some(chunk) => text.extend_from_slice(&chunk),
                None => break,
            }
        }
        let is_json = |header: &str| header.starts_with("application/json");
        let streams = self.head.status == 200 && self.head.headers.get("content-type").is_some_and(|it| is_json(it));
        self.head.body = if streams { events(&text, listening.events) } else { body(&text) };
        Ok(self.head)
    }
}

fn events(text: &[u8], most: usize) -> Value {
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).take(most).map(body).collect()
}

/// JSON if it is JSON, else text.
pub fn body(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|_| Value::from(String::from_utf8_lossy(bytes).into_owned()))
}

/// The headers that mean something to a client of Kubernetes. Several of one name are joined by a line break.
pub fn headers(headers: &http::HeaderMap) -> BTreeMap<String, String> {
    let mut kept: BTreeMap<String, String> = BTreeMap::new();
    for name in ["content-type", "warning", "retry-after", "location", "allow"] {
        let values: Vec<&str> = headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
        if !values.is_empty() {
            kept.insert(name.to_owned(), values.join("\n"));
        }
    }
    kept
}
