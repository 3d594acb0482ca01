//! The answers of the Scaleway APIs: JSON, the error bodies of each type, and the empty reply of the rate limiter.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header::CONTENT_TYPE};
use serde_json::{Value, json};

pub(super) type Answer = Response<Bytes>;

/// What a handler gives: an answer, or a refusal that becomes one.
pub(super) type Outcome = Result<Answer, Refusal>;

/// An error answer, kept small so that it can travel in a `Result`.
#[derive(Debug)]
pub(super) struct Refusal {
    pub status: StatusCode,
    pub body: Value,
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Answer {
        json_answer(refusal.status, &refusal.body)
    }
}

pub(super) fn json_answer(status: StatusCode, body: &Value) -> Answer {
    let mut answer = Response::new(Bytes::from(body.to_string()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

pub(super) fn found(body: &Value) -> Outcome {
    Ok(json_answer(StatusCode::OK, body))
}

pub(super) fn no_content() -> Outcome {
    let mut answer = Response::new(Bytes::new());
    *answer.status_mut() = StatusCode::NO_CONTENT;
    // The gateway names a content type even without content.
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(answer)
}

/// 201 with the address of what was made.
pub(super) fn created(body: &Value, path: &str) -> Outcome {
    let mut answer = json_answer(StatusCode::CREATED, body);
    if let Ok(location) = HeaderValue::from_str(&format!("https://api.scaleway.com{path}")) {
        answer.headers_mut().insert(http::header::LOCATION, location);
    }
    Ok(answer)
}

/// The gateway's own 429: no body, no JSON, no Retry-After.
pub fn rate_limited() -> Answer {
    let mut answer = Response::new(Bytes::new());
    *answer.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    answer.headers_mut().insert("x-envoy-ratelimited", HeaderValue::from_static("true"));
    answer
}

/// A server error as the gateway words it, for a fault layer outside.
pub fn server_error(status: StatusCode) -> Answer {
    json_answer(status, &json!({"type": "internal_error", "message": "internal error"}))
}

fn refuse(status: StatusCode, body: Value) -> Refusal {
    Refusal { status, body }
}

pub(super) fn not_found(resource: &str, id: &str) -> Refusal {
    refuse(
        StatusCode::NOT_FOUND,
        json!({"type": "not_found", "message": "resource is not found", "resource": resource, "resource_id": id}),
    )
}

/// The legacy form, for a path or zone that does not exist.
pub(super) fn unknown_resource() -> Refusal {
    refuse(StatusCode::NOT_FOUND, json!({"type": "unknown_resource", "message": "Not found."}))
}

pub(super) fn method_not_allowed() -> Refusal {
    refuse(
        StatusCode::METHOD_NOT_ALLOWED,
        json!({"type": "invalid_request_error", "message": "The method is not allowed for the requested URL."}),
    )
}

/// One wrong argument: (name, reason, help). Reasons are `unknown`, `required`, `format` and `constraint`.
pub(super) type WrongArgument = (String, &'static str, String);

pub(super) fn invalid_arguments(wrong: &[WrongArgument]) -> Refusal {
    let details: Vec<Value> = wrong
        .iter()
        .map(|(name, reason, help)| json!({"argument_name": name, "reason": reason, "help_message": help}))
        .collect();
    refuse(
        StatusCode::BAD_REQUEST,
        json!({"type": "invalid_arguments", "message": "invalid argument(s)", "details": details}),
    )
}

pub(super) fn invalid_argument(name: &str, reason: &'static str, help: &str) -> Refusal {
    invalid_arguments(&[(name.to_owned(), reason, help.to_owned())])
}

/// The legacy form of the Instance API for an action that the present state does not allow.
pub(super) fn invalid_request(message: &str) -> Refusal {
    refuse(StatusCode::BAD_REQUEST, json!({"type": "invalid_request_error", "message": message}))
}

/// `reason` is `invalid_argument`, `not_found` or `expired`.
pub(super) fn denied_authentication(reason: &str) -> Refusal {
    refuse(
        StatusCode::UNAUTHORIZED,
        json!({"type": "denied_authentication", "message": "authentication is denied", "method": "api_key", "reason": reason}),
    )
}

pub(super) fn permissions_denied(resource: &str, action: &str) -> Refusal {
    refuse(
        StatusCode::FORBIDDEN,
        json!({"type": "permissions_denied", "message": "insufficient permissions",
               "details": [{"resource": resource, "action": action}]}),
    )
}

pub(super) fn quotas_exceeded(resource: &str, quota: u64, current: u64) -> Refusal {
    refuse(
        StatusCode::FORBIDDEN,
        json!({"type": "quotas_exceeded", "message": "quota(s) exceeded for this resource",
               "details": [{"resource": resource, "quota": quota, "current": current, "scope": "organization"}]}),
    )
}

pub(super) fn out_of_stock(status: StatusCode, commercial_type: &str) -> Refusal {
    refuse(status, json!({"type": "out_of_stock", "message": "resource is out of stock", "resource": commercial_type}))
}

pub(super) fn transient_state(resource: &str, id: &str, state: &str) -> Refusal {
    refuse(
        StatusCode::CONFLICT,
        json!({"type": "transient_state", "message": "resource is in a transient state", "resource": resource,
               "resource_id": id, "current_state": state}),
    )
}

pub(super) fn locked(resource: &str, id: &str) -> Refusal {
    refuse(
        StatusCode::LOCKED,
        json!({"type": "locked", "message": "resource is locked", "resource": resource, "resource_id": id}),
    )
}

/// `precondition` is `resource_still_in_use`, `attribute_must_be_set` or `unknown`.
pub(super) fn precondition_failed(status: StatusCode, precondition: &str, help: &str) -> Refusal {
    refuse(
        status,
        json!({"type": "precondition_failed", "message": "precondition is not respected",
               "precondition": precondition, "help_message": help}),
    )
}
