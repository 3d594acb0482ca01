//! What is wrong with a field, and the `Status` the API server makes of it: code 422 with one cause per field.

use serde_json::{Value, json};

/// Why a field is refused. The wire name is what clients match on, the label is what people read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    NotFound,
    Required,
    Duplicate,
    Invalid,
    NotSupported,
    Forbidden,
    TooLong,
    TooMany,
    Internal,
    TypeInvalid,
}

impl Reason {
    pub fn wire_name(self) -> &'static str {
        match self {
            Reason::NotFound => "FieldValueNotFound",
            Reason::Required => "FieldValueRequired",
            Reason::Duplicate => "FieldValueDuplicate",
            Reason::Invalid => "FieldValueInvalid",
            Reason::NotSupported => "FieldValueNotSupported",
            Reason::Forbidden => "FieldValueForbidden",
            Reason::TooLong => "FieldValueTooLong",
            Reason::TooMany => "FieldValueTooMany",
            Reason::Internal => "InternalError",
            Reason::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Reason::NotFound => "Not found",
            Reason::Required => "Required value",
            Reason::Duplicate => "Duplicate value",
            Reason::Invalid | Reason::TypeInvalid => "Invalid value",
            Reason::NotSupported => "Unsupported value",
            Reason::Forbidden => "Forbidden",
            Reason::TooLong => "Too long",
            Reason::TooMany => "Too many",
            Reason::Internal => "Internal error",
        }
    }

    /// These reasons never repeat the value: it is absent, secret, or too big to print.
    fn hides_the_value(self) -> bool {
        matches!(self, Reason::Required | Reason::Forbidden | Reason::TooLong | Reason::Internal)
    }
}

/// One refused field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    pub reason: Reason,
    pub field: String,
    pub value: Value,
    pub detail: String,
    /// How the value is printed where it is not as JSON: Go shows its own types. Empty leaves it out.
    pub shown: Option<String>,
}

impl FieldError {
    pub fn new(reason: Reason, field: &str, value: Value, detail: &str) -> Self {
        FieldError { reason, field: field.to_owned(), value, detail: detail.to_owned(), shown: None }
    }

    pub fn shown_as(mut self, text: impl Into<String>) -> Self {
        self.shown = Some(text.into());
        self
    }

    pub fn required(field: &str, detail: &str) -> Self {
        Self::new(Reason::Required, field, Value::Null, detail)
    }

    pub fn invalid(field: &str, value: impl Into<Value>, detail: &str) -> Self {
        Self::new(Reason::Invalid, field, value.into(), detail)
    }

    pub fn forbidden(field: &str, detail: &str) -> Self {
        Self::new(Reason::Forbidden, field, Value::Null, detail)
    }

    pub fn duplicate(field: &str, value: impl Into<Value>) -> Self {
        Self::new(Reason::Duplicate, field, value.into(), "")
    }

    pub fn not_found(field: &str, value: impl Into<Value>) -> Self {
        Self::new(Reason::NotFound, field, value.into(), "")
    }

    pub fn type_invalid(field: &str, value: impl Into<Value>, detail: &str) -> Self {
        Self::new(Reason::TypeInvalid, field, value.into(), detail)
    }

    pub fn too_long(field: &str, longest: u64) -> Self {
        Self::new(Reason::TooLong, field, Value::Null, &format!("may not be more than {}", counted(longest, "byte")))
    }

    pub fn too_many(field: &str, actual: u64, most: u64) -> Self {
        Self::new(Reason::TooMany, field, actual.into(), &format!("must have at most {}", counted(most, "item")))
    }

    pub fn not_supported(field: &str, value: impl Into<Value>, supported: &[&str]) -> Self {
        let quoted: Vec<String> = supported.iter().map(|one| quote(one)).collect();
        Self::new(Reason::NotSupported, field, value.into(), &format!("supported values: {}", quoted.join(", ")))
    }

    /// The message without the field, as it stands in `details.causes[].message`.
    pub fn body(&self) -> String {
        let mut text = self.reason.label().to_owned();
        if !self.reason.hides_the_value() && self.shown.as_deref() != Some("") {
            text.push_str(": ");
            match (&self.shown, &self.value) {
                (Some(shown), _) => text.push_str(shown),
                (None, Value::String(string)) => text.push_str(&quote(string)),
                (None, other) => text.push_str(&other.to_string()),
            }
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }

    pub fn message(&self) -> String {
        format!("{}: {}", self.field, self.body())
    }
}

fn counted(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Go's `%q`: the server quotes values that way, and clients compare the text.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            control if control.is_control() => quoted.push_str(&format!("\\x{:02x}", control as u32)),
            plain => quoted.push(plain),
        }
    }
    quoted.push('"');
    quoted
}

/// Several errors in one line: alone as it is, else in brackets, each text once.
pub fn aggregate(errors: &[FieldError]) -> String {
    let mut messages: Vec<String> = Vec::new();
    for message in errors.iter().map(FieldError::message) {
        if !messages.contains(&message) {
            messages.push(message);
        }
    }
    match messages.as_slice() {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// The 422 `Status` for an object of `kind` in `group` (empty for the core group) called `name`.
pub fn invalid_status(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Value {
    let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
    let causes: Vec<Value> = errors
        .iter()
        .map(|error| json!({"reason": error.reason.wire_name(), "message": error.body(), "field": error.field}))
        .collect();
    let mut details = serde_json::Map::new();
    if !name.is_empty() {
        details.insert("name".to_owned(), json!(name));
    }
    if !group.is_empty() {
        details.insert("group".to_owned(), json!(group));
    }
    details.insert("kind".to_owned(), json!(kind));
    details.insert("causes".to_owned(), Value::Array(causes));
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": format!("{qualified} {} is invalid: {}", quote(name), aggregate(errors)),
        "reason": "Invalid", "details": details, "code": 422,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_error_stands_alone_and_several_stand_in_brackets() {
        let required = FieldError::required("spec.containers", "");
        let unsupported = FieldError::not_supported("spec.restartPolicy", "Sometimes", &["Always", "Never"]);
        assert_eq!(
            invalid_status("", "Pod", "x", std::slice::from_ref(&required))["message"],
            "Pod \"x\" is invalid: spec.containers: Required value"
        );
        assert_eq!(
            invalid_status("apps", "Deployment", "x", &[required, unsupported])["message"],
            "Deployment.apps \"x\" is invalid: [spec.containers: Required value, spec.restartPolicy: Unsupported \
             value: \"Sometimes\": supported values: \"Always\", \"Never\"]"
        );
    }

    #[test]
    fn a_cause_names_reason_message_and_field() {
        let status = invalid_status("", "Pod", "x", &[FieldError::invalid("spec.n", 3, "must be less than 2")]);
        assert_eq!(
            status["details"]["causes"][0],
            json!({"reason": "FieldValueInvalid", "field": "spec.n",
                "message": "Invalid value: 3: must be less than 2"})
        );
    }
}
