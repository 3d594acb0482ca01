//! Patching as pure functions over JSON: the four patch types of the Kubernetes API, and who manages which field.
//!
//! Nothing here knows of requests, storage, defaults or admission. A caller reads the live object, calls one function
//! of this module, defaults and validates what comes back, and stores it.
pub mod apply;
pub mod combine;
pub mod compare;
mod core_table;
mod crd_schema;
pub mod fields;
pub mod json;
pub mod last_applied;
pub mod managed;
pub mod merge;
pub mod merge_keys;
pub mod normalise;
pub mod reset_fields;
pub mod schema_of;
pub mod strategic;
pub mod strategic_lists;
mod validate;
mod walk;

#[cfg(test)]
mod golden;

use serde_json::{Value, json};

/// Why a patch was refused, with what a `Status` object says about it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct PatchError {
    pub code: u16,
    /// Empty where the server gives no reason.
    pub reason: &'static str,
    pub message: String,
    /// `details` of the `Status` object, or null.
    pub details: Value,
}

impl PatchError {
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self { code: 400, reason: "BadRequest", message: message.into(), details: Value::Null }
    }

    /// The patch could be read, but not carried out. The server keeps the cause to itself.
    pub(crate) fn unprocessable() -> Self {
        let message = "the server rejected our request due to an error in our request".to_owned();
        Self { code: 422, reason: "Invalid", message, details: json!({}) }
    }

    /// An error the server does not expect here, and passes on as it is.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self { code: 500, reason: "", message: message.into(), details: Value::Null }
    }
}
