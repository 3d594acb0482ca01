//! An Azure Functions custom handler: `POST /<FunctionName>` from the host, and raw HTTP on `/api/<function>`.
//!
//! To the host, any status but 2xx is a failed invocation whose body it throws away, so an answer goes out as 200
//! unless the trigger should fire again. What the caller of an HTTP trigger sees is in `Outputs.res`.

use bytes::Bytes;
use http::{Method, Response, StatusCode, request::Parts};
use jiff::Timestamp;
use model::{Answer, Outcome};
use schema::{AnswerBody, BadEvent, Content, strict_json, timer_idle};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    azure_envelope::{HttpRequest, Message, Trigger, from_event_grid, trigger},
    http::{Asked, Http, unread, with_answer, with_body},
    json_headers,
};
use crate::{
    Function,
    deliver::{Delivered, Target},
    server::{Admission, Site, Unread},
};

/// The envelope encodes an event twice, so it may be larger than the event by as much; metadata comes on top.
const ENVELOPE_FACTOR: usize = 8;
const ENVELOPE_EXTRA: usize = 256 * 1024;

#[derive(Debug)]
pub struct Azure {
    http: Http,
}

impl Azure {
    pub fn new(http: Http) -> Self {
        Azure { http }
    }

    /// `/api/<function>` is forwarded HTTP; everything else the host posts is an invocation.
    fn forwarded(head: &Parts) -> Option<&str> {
        head.uri.path().strip_prefix("/api").filter(|rest| rest.starts_with('/') && rest.len() > 1)
    }

    fn asked(&self, head: &Parts) -> Asked<'_> {
        self.http.asked(&head.method, Self::forwarded(head).unwrap_or(head.uri.path()))
    }

    async fn invoke(&self, function: &Function, envelope: &[u8], deadline: Instant) -> Response<Bytes> {
        let trigger = match trigger(envelope) {
            Ok(trigger) => trigger,
            Err(bad) => return with_answer(StatusCode::BAD_REQUEST, Answer::refused(bad.to_string())).response,
        };
        let target = Target::One(function);
        let deliverer = &self.http.deliverer;
        match trigger {
            Trigger::Http(HttpRequest { method, headers, body }) => {
                let spoken = self.http.speak(function, &method, &headers, body, deadline).await;
                http_output(&spoken.response, spoken.answer.as_ref())
            }
            Trigger::Timer(now) => {
                let tick = timer_idle::tick(&deliverer.cluster, now.unwrap_or_else(Timestamp::now));
                event_output(&[deliverer.deliver(target, Content::Event(Box::new(Ok(tick))), deadline).await])
            }
            Trigger::Messages(messages) => {
                // Several deliveries, not one batch: a bad message must not take the good ones with it.
                let mut delivered = Vec::with_capacity(messages.len());
                for message in messages {
                    delivered.push(self.message(target, message, deadline).await);
                }
                event_output(&delivered)
            }
        }
    }

    async fn message(&self, target: Target<'_>, message: Message, deadline: Instant) -> Delivered {
        let (bytes, parsed) = match message {
            Message::Text(text) => (text.len(), strict_json::parse(text.as_bytes())),
            Message::Json(value) => (value.to_string().len(), Ok(value)),
        };
        let deliverer = &self.http.deliverer;
        match deliverer.check_size(bytes).map(|()| parsed) {
            Err(too_large) => deliverer.refuse(target, too_large),
            Ok(Err(bad)) => deliverer.refuse(target, Answer::refused(BadEvent::from(bad).to_string())),
            Ok(Ok(value)) => deliverer.deliver(target, Content::from_value(from_event_grid(value)), deadline).await,
        }
    }
}

impl Site for Azure {
    fn admit(&self, head: &Parts) -> Admission {
        let most = self.http.deliverer.max_body_bytes;
        let envelope = most.saturating_mul(ENVELOPE_FACTOR).saturating_add(ENVELOPE_EXTRA);
        match self.asked(head) {
            Asked::Settled(spoken) => Admission::Answered(spoken.response),
            Asked::Function(_) if Self::forwarded(head).is_some() => Admission::Read { most },
            Asked::Function(_) => Admission::Read { most: envelope },
        }
    }

    async fn accept(&self, head: Parts, body: Bytes, deadline: Instant) -> Response<Bytes> {
        match self.asked(&head) {
            Asked::Settled(spoken) => spoken.response,
            Asked::Function(function) if Self::forwarded(&head).is_some() || head.method == Method::OPTIONS => {
                self.http.speak(function, &head.method, &head.headers, body, deadline).await.response
            }
            Asked::Function(function) => self.invoke(function, &body, deadline).await,
        }
    }

    fn unread(&self, head: &Parts, why: Unread) -> Response<Bytes> {
        match self.asked(head) {
            Asked::Function(function) if why == Unread::TooLarge => self.http.too_large(Target::One(function)).response,
            _ => unread(why),
        }
    }
}

/// The HTTP trigger: the host always gets 200, its caller what HTTP would say.
fn http_output(response: &Response<Bytes>, answer: Option<&Answer>) -> Response<Bytes> {
    let res = json!({
        "statusCode": response.status().as_u16(),
        "headers": json_headers::to_json(response.headers()),
        // A text that is base64 would be decoded by the host; ours is empty or begins with a bracket.
        "body": String::from_utf8_lossy(response.body()),
    });
    let value = answer.map_or(Value::Null, |answer| AnswerBody::from(answer).to_json());
    output(json!({ "res": res }), value, answer.map(std::slice::from_ref).unwrap_or_default())
}

/// Every other trigger: a failure is the host's failure, so that it fires again.
fn event_output(delivered: &[Delivered]) -> Response<Bytes> {
    let answers: Vec<Answer> = delivered.iter().map(Delivered::summary).collect();
    if let Some(failed) = answers.iter().find(|answer| answer.outcome() == Outcome::Failed) {
        return with_answer(StatusCode::SERVICE_UNAVAILABLE, failed.clone()).response;
    }
    let value = match delivered {
        [one] => one.to_json(),
        several => several.iter().map(Delivered::to_json).collect(),
    };
    output(json!({}), value, &answers)
}

/// What the host reads. The log lines end up beside the invocation.
fn output(outputs: Value, return_value: Value, answers: &[Answer]) -> Response<Bytes> {
    let line = |answer: &Answer| format!("{}: {}", answer.outcome().as_str(), answer.reason());
    let logs: Vec<String> = answers.iter().map(line).collect();
    let body = json!({ "Outputs": outputs, "Logs": logs, "ReturnValue": return_value });
    with_body(StatusCode::OK, "application/json", body.to_string())
}
