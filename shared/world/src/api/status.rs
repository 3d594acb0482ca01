//! `Status` objects: the errors of the API server, with the codes, reasons and messages of a real one.

use http::StatusCode;
use serde_json::{Value, json};

/// What went wrong, as a client sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    pub code: StatusCode,
    pub reason: &'static str,
    pub message: String,
    pub details: Value,
    /// What was noticed before it failed is said all the same.
    pub warnings: Vec<String>,
}

/// Which object an error is about.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    pub group: &'a str,
    /// The plural, or the kind where the real server shows that (validation errors).
    pub resource: &'a str,
    pub name: &'a str,
}

impl About<'_> {
    /// `pods "x"` or `nodeclaims.karpenter.sh "x"`.
    pub fn shown(&self) -> String {
        let resource =
            if self.group.is_empty() { self.resource.to_owned() } else { format!("{}.{}", self.resource, self.group) };
        format!("{resource} {:?}", self.name)
    }

    fn details(&self) -> Value {
        let mut details = json!({ "kind": self.resource });
        if !self.name.is_empty() {
            details["name"] = self.name.into();
        }
        if !self.group.is_empty() {
            details["group"] = self.group.into();
        }
        details
    }
}

impl Failure {
    pub fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Failure { code, reason, message: message.into(), details: Value::Null, warnings: Vec::new() }
    }

    pub fn not_found(about: About<'_>) -> Self {
        let message = format!("{} not found", about.shown());
        Failure { details: about.details(), ..Failure::new(StatusCode::NOT_FOUND, "NotFound", message) }
    }

    /// The path itself leads nowhere.
    pub fn no_such_resource() -> Self {
        let message = "the server could not find the requested resource";
        Failure { details: json!({}), ..Failure::new(StatusCode::NOT_FOUND, "NotFound", message) }
    }

    pub fn already_exists(about: About<'_>) -> Self {
        let message = format!("{} already exists", about.shown());
        Failure { details: about.details(), ..Failure::new(StatusCode::CONFLICT, "AlreadyExists", message) }
    }

    pub fn conflict(about: About<'_>, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {}: {why}", about.shown());
        Failure { details: about.details(), ..Failure::new(StatusCode::CONFLICT, "Conflict", message) }
    }

    pub fn modified(about: About<'_>) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Failure::conflict(about, why)
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Failure::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    pub fn forbidden(about: About<'_>, why: &str) -> Self {
        let message = format!("{} is forbidden: {why}", about.shown());
        Failure { details: about.details(), ..Failure::new(StatusCode::FORBIDDEN, "Forbidden", message) }
    }

    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Failure { details: json!({}), ..Failure::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message) }
    }

    pub fn expired(message: impl Into<String>) -> Self {
        Failure::new(StatusCode::GONE, "Expired", message)
    }

    pub fn unsupported_media_type(accepted: &str) -> Self {
        let message =
            format!("the body of the request was in an unknown format - accepted media types include: {accepted}");
        Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
    }

    pub fn too_large_revision(asked: u64, current: u64) -> Self {
        let details = json!({ "causes": [{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }], "retryAfterSeconds": 1 });
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        Failure { details, ..Failure::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message) }
    }

    pub fn too_large_body(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    }

    pub fn warning(mut self, warnings: &[String]) -> Self {
        self.warnings.extend_from_slice(warnings);
        self
    }

    /// A failure that nobody gave a reason for.
    pub fn internal(message: impl Into<String>) -> Self {
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
    }

    /// From a `Status` that says what is invalid.
    pub fn from_status(status: &Value) -> Self {
        let message = status["message"].as_str().unwrap_or_default();
        let details = status["details"].clone();
        Failure { details, ..Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message) }
    }

    pub fn to_value(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code.as_u16(),
        });
        if self.reason.is_empty()
            && let Value::Object(object) = &mut status
        {
            object.remove("reason");
        }
        if !self.details.is_null() {
            status["details"] = self.details.clone();
        }
        status
    }
}
