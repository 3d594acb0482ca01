//! Answers of the power back ends, and the check of who asks.

use super::options::Auth;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use serde_json::Value;

pub(super) type Answer = Response<Bytes>;

pub(super) fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Bytes::new());
    *answer.status_mut() = status;
    answer
}

pub(super) fn text_answer(status: StatusCode, text: &str) -> Answer {
    let mut answer = Response::new(Bytes::from(text.to_owned()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

pub(super) fn json_answer(status: StatusCode, body: &Value) -> Answer {
    let mut answer = Response::new(Bytes::from(body.to_string()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

pub(super) fn set_header(answer: &mut Answer, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(name, value);
    }
}

pub(super) fn basic_challenge(mut answer: Answer) -> Answer {
    set_header(&mut answer, "www-authenticate", "Basic realm=\"power\"");
    answer
}

pub(super) fn authorization(request: &Request<Bytes>) -> &str {
    let value = request.headers().get(header::AUTHORIZATION);
    value.and_then(|value| value.to_str().ok()).unwrap_or_default()
}

pub(super) fn is_basic(request: &Request<Bytes>, user: &str, password: &str) -> bool {
    let expected = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
    authorization(request) == expected
}

impl Auth {
    pub(super) fn accepts(&self, request: &Request<Bytes>) -> bool {
        let header = |headers: &HeaderMap, name: &str, value: &str| {
            headers.get(name).and_then(|sent| sent.to_str().ok()) == Some(value)
        };
        match self {
            Auth::Open => true,
            Auth::Basic { user, password } => is_basic(request, user, password),
            Auth::Bearer(token) => authorization(request) == format!("Bearer {token}"),
            Auth::Header { name, value } => header(request.headers(), name, value),
        }
    }
}
