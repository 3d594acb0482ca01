//! CloudEvents over HTTP, signed: functions on Knative, in a container, or behind a URL of Azure Functions.

use async_trait::async_trait;
use bytes::Bytes;
use core::time::Duration;
use host::{parts::Clock, settings::Secret, signature};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use model::Answer;
use provider_aks::{HiddenText, Tokens};
use schema::{AnswerBody, CloudEvent, answer::ANSWER_TYPE};
use std::sync::Arc;
use url::Url;

use super::{Sink, Told, Web};
use crate::event::Letter;

/// What all URLs have in common.
#[derive(Clone, Default)]
pub struct HttpSettings {
    /// Deliveries are signed with the first.
    pub secret: Option<Secret>,
    /// Azure Functions: its key.
    pub key: Option<HiddenText>,
    /// Azure Functions: as whom to sign in, for what.
    pub entra: Option<EntraSettings>,
}

#[derive(Clone)]
pub struct EntraSettings {
    pub scope: String,
    pub tokens: Arc<dyn Tokens>,
}

/// One function behind a URL.
pub struct HttpSink {
    url: Url,
    settings: HttpSettings,
    web: Arc<Web>,
    clock: Clock,
}

impl HttpSink {
    pub fn new(url: Url, settings: HttpSettings, web: Arc<Web>, clock: Clock) -> Self {
        HttpSink { url, settings, web, clock }
    }

    async fn request(&self, letter: &Letter) -> Result<Request<Bytes>, String> {
        let body = Bytes::from(letter.text.clone());
        let mut builder = Request::builder()
            .method(Method::POST)
            .uri(self.url.as_str())
            .header(header::CONTENT_TYPE, "application/cloudevents+json; charset=utf-8")
            .header("prefer", "reply");
        if let Some(secret) = &self.settings.secret {
            for (name, value) in signature::sign(secret, &letter.id, &body, (self.clock)()).into_iter().flatten() {
                builder = builder.header(name, value);
            }
        }
        if let Some(key) = &self.settings.key {
            builder = builder.header("x-functions-key", hidden(key.expose())?);
        }
        if let Some(EntraSettings { scope, tokens }) = &self.settings.entra {
            let token = tokens.token(scope).await.map_err(|error| format!("no token from Entra ID: {error}"))?;
            builder = builder.header(header::AUTHORIZATION, hidden(&format!("Bearer {token}"))?);
        }
        builder.body(body).map_err(|error| error.to_string())
    }

    /// A token may end before its time: one that is not taken is replaced once.
    async fn send(&self, letter: &Letter) -> Result<Response<Bytes>, String> {
        let response = self.send_once(letter).await?;
        let Some(entra) = self.settings.entra.as_ref().filter(|_| response.status() == StatusCode::UNAUTHORIZED) else {
            return Ok(response);
        };
        entra.tokens.forget();
        self.send_once(letter).await
    }

    async fn send_once(&self, letter: &Letter) -> Result<Response<Bytes>, String> {
        let request = self.request(letter).await?;
        let at = || self.url.host_str().unwrap_or_default();
        self.web.send(request).await.map_err(|why| format!("{}: {why}", at()))
    }
}

#[async_trait]
impl Sink for HttpSink {
    async fn deliver(&self, _: &'static str, letter: &Letter) -> Told {
        match self.send(letter).await {
            Ok(response) => told(&response),
            Err(why) => Told::unheard(why),
        }
    }
}

/// Marked, so that no log shows it.
fn hidden(value: &str) -> Result<HeaderValue, String> {
    let mut value = HeaderValue::from_str(value).map_err(|_| "a key or token is not a header value".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

/// What a response means, by the table of the answer and by what brokers do.
pub(crate) fn told(response: &Response<Bytes>) -> Told {
    let (status, retry_after) = (response.status(), retry_after(response.headers()));
    if let Some(answer) = answer_in(response.body()) {
        return Told::Answered(answer);
    }
    if status.is_success() {
        let later = |after| Answer::Later { reason: format!("the answer is {status} without a word"), after };
        return retry_after.map_or(Told::Accepted, |after| Told::Answered(later(after)));
    }
    match status.as_u16() {
        404 | 408 | 409 | 425 | 429 | 500.. => Told::Unheard { why: format!("the answer is {status}"), retry_after },
        _ => Told::Answered(Answer::refused(format!("the answer is {status}"))),
    }
}

/// The answer itself, or in an event.
fn answer_in(body: &[u8]) -> Option<Answer> {
    let value: serde_json::Value = serde_json::from_slice(body).ok()?;
    let body = if value.get("specversion").is_some() {
        let event = CloudEvent::from_value(value).ok().filter(|event| event.kind == ANSWER_TYPE)?;
        event.json_data().ok()?
    } else {
        value
    };
    serde_json::from_value::<AnswerBody>(body).ok().map(Answer::from)
}

/// In seconds; a date is as good as none.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}
