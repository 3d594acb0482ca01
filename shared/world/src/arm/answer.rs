//! Answers: JSON, and errors in the two dialects of Azure, the front door's and AKS's.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use serde_json::{Value, json};

/// Who speaks: ARM and Compute wrap errors in `error`, AKS does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    Arm,
    Aks,
}

/// A request turned down, or an operation that failed.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    pub status: StatusCode,
    pub voice: Voice,
    pub code: String,
    pub message: Box<str>,
    pub target: Option<Box<str>>,
    pub details: Vec<(String, String)>,
    pub headers: Vec<(&'static str, String)>,
}

impl Refusal {
    pub fn arm(status: StatusCode, code: &str, message: impl Into<Box<str>>) -> Refusal {
        Refusal {
            status,
            voice: Voice::Arm,
            code: code.into(),
            message: message.into(),
            target: None,
            details: Vec::new(),
            headers: Vec::new(),
        }
    }

    pub fn aks(status: StatusCode, code: &str, message: impl Into<Box<str>>) -> Refusal {
        Refusal { voice: Voice::Aks, ..Refusal::arm(status, code, message) }
    }

    pub fn bad(code: &str, message: impl Into<Box<str>>) -> Refusal {
        Refusal::aks(StatusCode::BAD_REQUEST, code, message)
    }

    pub fn target(mut self, target: &str) -> Refusal {
        self.target = Some(target.into());
        self
    }

    pub fn header(mut self, name: &'static str, value: String) -> Refusal {
        self.headers.push((name, value));
        self
    }

    /// The error of a failed operation.
    pub fn as_operation_error(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(target) = &self.target {
            error["target"] = json!(target);
        }
        if !self.details.is_empty() {
            error["details"] = self.details_json();
        }
        error
    }

    pub fn into_response(self, always_enveloped: bool) -> Response<Bytes> {
        let body = if self.voice == Voice::Arm || always_enveloped {
            json!({"error": self.as_operation_error()})
        } else {
            let details = if self.details.is_empty() { Value::Null } else { self.details_json() };
            let mut flat = json!({"code": self.code, "details": details, "message": self.message, "subcode": ""});
            if let Some(target) = &self.target {
                flat["target"] = json!(target);
            }
            flat
        };
        let mut response = reply(self.status, &body);
        for (name, value) in self.headers {
            set(&mut response, name, &value);
        }
        response
    }

    fn details_json(&self) -> Value {
        self.details.iter().map(|(code, message)| json!({"code": code, "message": message})).collect()
    }
}

pub(super) type Answer = Result<Response<Bytes>, Refusal>;

pub(super) fn reply(status: StatusCode, body: &Value) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body.to_string()));
    *response.status_mut() = status;
    set(&mut response, "content-type", "application/json; charset=utf-8");
    response
}

pub(super) fn empty(status: StatusCode) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    response
}

/// Sets a header; a value that no header can carry is left out.
pub(super) fn set(response: &mut Response<Bytes>, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(HeaderName::from_static(name), value);
    }
}
