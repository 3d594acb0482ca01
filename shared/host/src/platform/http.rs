//! HTTP as Knative wants it: CloudEvents in three modes, statuses that a broker reads correctly, health, handshake.
//!
//! Azure's HTTP trigger and Lambda's function URL carry the same conversation in an envelope and come here with it.
//! A broker retries 404, 408, 409, 429 and 5xx and drops a 3xx, so there is never a 3xx.

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode,
    header::{ALLOW, CONNECTION, CONTENT_TYPE, RETRY_AFTER},
    request::Parts,
};
use jiff::Timestamp;
use model::{Answer, Outcome};
use schema::{AnswerBody, answer::answer_event};
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    Function,
    cloudevents::{self, BATCH, Mode, STRUCTURED},
    deliver::{Delivered, Deliverer, Reply, Target},
    server::{Admission, Site, Unread},
    settings::Signing,
    signature::{self, Unsigned},
    telemetry,
};

const ALLOWED: HeaderValue = HeaderValue::from_static("POST, OPTIONS");
const ALLOWED_ORIGIN: HeaderName = HeaderName::from_static("webhook-allowed-origin");
const ALLOWED_RATE: HeaderName = HeaderName::from_static("webhook-allowed-rate");

/// The functions of this process, spoken to over HTTP.
#[derive(Debug, Clone)]
pub struct Http {
    pub deliverer: Deliverer,
    signing: Signing,
}

/// A response, and the answer in it for platforms that also want that.
#[derive(Debug)]
pub struct Spoken {
    pub response: Response<Bytes>,
    pub answer: Option<Answer>,
}

/// What a request line asks for.
pub enum Asked<'a> {
    Function(&'a Function),
    Settled(Spoken),
}

impl Http {
    pub fn new(deliverer: Deliverer, signing: Signing) -> Self {
        Http { deliverer, signing }
    }

    /// Looks at method and path alone. A single function is at `/` too.
    pub fn asked(&self, method: &Method, path: &str) -> Asked<'_> {
        let name = path.strip_prefix('/').unwrap_or(path);
        let function = if name.is_empty() { self.deliverer.only() } else { self.deliverer.by_name(name) };
        match (method, path, function) {
            (&Method::POST | &Method::OPTIONS, _, Some(function)) => Asked::Function(function),
            (_, "/", _) if *method != Method::POST && *method != Method::OPTIONS => Asked::Settled(wrong_method()),
            (_, _, Some(_)) => Asked::Settled(wrong_method()),
            (&Method::GET | &Method::HEAD, "/health/liveness" | "/health/readiness", None) => plain("ok\n".to_owned()),
            (&Method::GET, "/metrics", None) => plain(telemetry::counts()),
            _ => Asked::Settled(self.nowhere()),
        }
    }

    /// The conversation after the request line: handshake, or size, signature, content type and event, in this order.
    pub async fn speak(
        &self,
        function: &Function,
        method: &Method,
        headers: &HeaderMap,
        body: Bytes,
        deadline: Instant,
    ) -> Spoken {
        match *method {
            Method::POST => {}
            Method::OPTIONS => return handshake(headers),
            _ => return wrong_method(),
        }
        let target = Target::One(function);
        if self.deliverer.check_size(body.len()).is_err() {
            return self.too_large(target);
        }
        let mode = cloudevents::mode(headers);
        if let Err(unsigned) = self.signed(&mode, headers, &body) {
            return self.refuse(target, StatusCode::UNAUTHORIZED, unsigned.to_string());
        }
        if let Mode::Unsupported(given) = &mode {
            let reason = format!("no CloudEvent: {given}, expected {STRUCTURED}, {BATCH}, or ce- headers");
            return self.refuse(target, StatusCode::UNSUPPORTED_MEDIA_TYPE, reason);
        }
        match cloudevents::content(&mode, headers, &body) {
            Err(bad) => self.refuse(target, StatusCode::BAD_REQUEST, bad.to_string()),
            Ok(content) => {
                // Freed before the work starts: what is held while a handler runs is the event, once.
                drop(body);
                let delivered = self.deliverer.deliver(target, content, deadline).await;
                respond(&delivered, wants_reply(headers))
            }
        }
    }

    fn signed(&self, mode: &Mode, headers: &HeaderMap, body: &[u8]) -> Result<(), Unsigned> {
        match &self.signing {
            Signing::NotAsked => Ok(()),
            Signing::Required(_) if *mode == Mode::Binary => Err(Unsigned::Binary),
            Signing::Required(secrets) => signature::verify(secrets, headers, body, Timestamp::now()),
        }
    }

    pub fn too_large(&self, target: Target<'_>) -> Spoken {
        let answer = self.deliverer.refuse(target, self.deliverer.too_large()).summary();
        with_answer(StatusCode::PAYLOAD_TOO_LARGE, answer)
    }

    fn refuse(&self, target: Target<'_>, status: StatusCode, reason: String) -> Spoken {
        let answer = self.deliverer.refuse(target, Answer::refused(reason)).summary();
        with_answer(status, answer)
    }

    fn nowhere(&self) -> Spoken {
        let names: Vec<String> =
            self.deliverer.functions().iter().map(|function| format!("/{}", function.name())).collect();
        let reason = format!("nothing is served at this path; events go to {}", names.join(", "));
        with_answer(StatusCode::NOT_FOUND, Answer::refused(reason))
    }
}

impl Site for Http {
    fn admit(&self, head: &Parts) -> Admission {
        match self.asked(&head.method, head.uri.path()) {
            Asked::Function(_) => Admission::Read { most: self.deliverer.max_body_bytes },
            Asked::Settled(spoken) => Admission::Answered(spoken.response),
        }
    }

    async fn accept(&self, head: Parts, body: Bytes, deadline: Instant) -> Response<Bytes> {
        match self.asked(&head.method, head.uri.path()) {
            Asked::Function(function) => {
                self.speak(function, &head.method, &head.headers, body, deadline).await.response
            }
            Asked::Settled(spoken) => spoken.response,
        }
    }

    fn unread(&self, head: &Parts, why: Unread) -> Response<Bytes> {
        match self.asked(&head.method, head.uri.path()) {
            Asked::Function(function) if why == Unread::TooLarge => self.too_large(Target::One(function)).response,
            Asked::Function(_) => unread(why),
            Asked::Settled(spoken) => spoken.response,
        }
    }
}

/// A body that did not arrive. Retrying may help, so neither is a refusal that a sender would drop.
pub fn unread(why: Unread) -> Response<Bytes> {
    let spoken = match why {
        Unread::TooSlow => {
            with_answer(StatusCode::REQUEST_TIMEOUT, Answer::failed("the request did not arrive in time"))
        }
        Unread::Busy => with_answer(
            StatusCode::SERVICE_UNAVAILABLE,
            Answer::failed("too many large requests at once: send this one again"),
        ),
        Unread::TooLarge => with_answer(StatusCode::PAYLOAD_TOO_LARGE, Answer::refused("the request is too large")),
        Unread::Broken => with_answer(StatusCode::BAD_REQUEST, Answer::refused("the request broke off")),
    };
    let mut response = spoken.response;
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The answer in HTTP's idiom.
fn respond(delivered: &Delivered, reply_wanted: bool) -> Spoken {
    let answer = delivered.summary();
    let status = match answer.outcome() {
        Outcome::Refused => StatusCode::BAD_REQUEST,
        Outcome::Failed => StatusCode::SERVICE_UNAVAILABLE,
        Outcome::Done | Outcome::Nothing | Outcome::Later => {
            let reply = Some(delivered).filter(|_| reply_wanted).and_then(reply_body);
            let mut response = match reply {
                Some((content_type, body)) => with_body(StatusCode::OK, content_type, body),
                // Empty: a broker takes any other body for a failed delivery.
                None => empty(StatusCode::ACCEPTED),
            };
            set_retry_after(&mut response, &answer);
            return Spoken { response, answer: Some(answer) };
        }
    };
    with_answer(status, answer)
}

/// Answers as CloudEvents: one, or a batch in the order of the questions. There is none for an empty batch.
fn reply_body(delivered: &Delivered) -> Option<(&'static str, String)> {
    let event = |reply: &Reply| answer_event(reply.function, &reply.asked, &reply.answer).to_value();
    match delivered {
        Delivered::One(reply) => Some((STRUCTURED, event(reply).to_string())),
        Delivered::Batch(replies) if replies.is_empty() => None,
        Delivered::Batch(replies) => Some((BATCH, replies.iter().map(event).collect::<Value>().to_string())),
        Delivered::Refused(_) => None,
    }
}

/// `Prefer: reply`, in any case, among other preferences.
fn wants_reply(headers: &HeaderMap) -> bool {
    let lists = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let names = lists.flat_map(|list| list.split(',')).filter_map(|preference| preference.split([';', '=']).next());
    names.map(str::trim).any(|name| name.eq_ignore_ascii_case("reply"))
}

/// The CloudEvents webhook handshake: whoever asks may send, at any rate; signatures say who is believed.
fn handshake(headers: &HeaderMap) -> Spoken {
    let mut response = empty(StatusCode::OK);
    response.headers_mut().insert(ALLOW, ALLOWED);
    if let Some(origin) = headers.get("webhook-request-origin") {
        let rate = headers.get("webhook-request-rate").cloned();
        response.headers_mut().insert(ALLOWED_ORIGIN, origin.clone());
        response.headers_mut().insert(ALLOWED_RATE, rate.unwrap_or(HeaderValue::from_static("*")));
    }
    Spoken { response, answer: None }
}

fn wrong_method() -> Spoken {
    let mut spoken = with_answer(StatusCode::METHOD_NOT_ALLOWED, Answer::refused("events are sent with POST"));
    spoken.response.headers_mut().insert(ALLOW, ALLOWED);
    spoken
}

fn plain(text: String) -> Asked<'static> {
    let response = with_body(StatusCode::OK, "text/plain; charset=utf-8", text);
    Asked::Settled(Spoken { response, answer: None })
}

/// The answer as JSON.
pub fn with_answer(status: StatusCode, answer: Answer) -> Spoken {
    let mut response = with_body(status, "application/json", AnswerBody::from(&answer).to_json().to_string());
    set_retry_after(&mut response, &answer);
    Spoken { response, answer: Some(answer) }
}

fn set_retry_after(response: &mut Response<Bytes>, answer: &Answer) {
    if let Some(seconds) = AnswerBody::from(answer).retry_after_seconds {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
}

pub fn with_body(status: StatusCode, content_type: &'static str, body: String) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn empty(status: StatusCode) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    response
}
