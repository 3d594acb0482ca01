//! An error of Azure as data: its status and every code in it, whichever of the two dialects carries them.

use bytes::Bytes;
use core::time::Duration;
use http::{HeaderMap, Response, header::RETRY_AFTER};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Why Azure did not do something. Small enough to be kept in a progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refusal {
    /// 0 for the error of an operation, which has none.
    pub status: u16,
    /// Outermost first.
    pub codes: Vec<String>,
    /// For people only.
    pub message: String,
    #[serde(skip)]
    pub retry_after: Option<Duration>,
}

/// A progress has to fit an annotation, and a message has to fit a condition.
const LONGEST_MESSAGE: usize = 300;
const MOST_CODES: usize = 8;

impl Refusal {
    pub fn of_response(response: &Response<Bytes>) -> Refusal {
        let body: Value = serde_json::from_slice(response.body()).unwrap_or(Value::Null);
        let header = response.headers().get("x-ms-error-code").and_then(|value| value.to_str().ok());
        let mut refusal = Refusal::of_error(body.get("error").filter(|error| error.is_object()).unwrap_or(&body));
        refusal.codes.splice(0..0, header.map(str::to_owned));
        refusal.status = response.status().as_u16();
        refusal.retry_after = retry_after(response.headers());
        if refusal.message.is_empty() {
            refusal.message = format!("HTTP status {}", response.status());
        }
        refusal
    }

    /// The error object of a failed operation or pool.
    pub fn of_error(error: &Value) -> Refusal {
        let mut codes = Vec::new();
        collect(error, &mut codes, 0);
        let message = error["message"].as_str().unwrap_or_default();
        // AKS wraps Compute's errors as Go prints them; where it gives no details, the code is only in there.
        let nested = message.split("Code=\"").skip(1).filter_map(|rest| rest.split_once('"'));
        codes.extend(nested.map(|(code, _)| code.to_owned()));
        let mut seen = Vec::new();
        codes.retain(|code| {
            let new = !code.is_empty() && code.len() <= 100 && !seen.contains(code);
            seen.push(code.clone());
            new
        });
        codes.truncate(MOST_CODES);
        Refusal { status: 0, codes, message: message.chars().take(LONGEST_MESSAGE).collect(), retry_after: None }
    }

    /// One of our own making, for what Azure shows by a state instead of an error.
    pub fn named(code: &str, message: &str) -> Refusal {
        Refusal { status: 0, codes: vec![code.to_owned()], message: message.to_owned(), retry_after: None }
    }

    pub fn has(&self, code: &str) -> bool {
        self.codes.iter().any(|own| own.eq_ignore_ascii_case(code))
    }

    pub fn summary(&self) -> String {
        let code = self.codes.first().map_or("no code", String::as_str);
        format!("{code}: {}", self.message)
    }
}

/// Codes are nested in `details`, `innererror` and `subcode`; the depth is bounded because the text is not ours.
fn collect(error: &Value, codes: &mut Vec<String>, depth: u8) {
    for name in ["code", "subcode"] {
        codes.extend(error[name].as_str().map(str::to_owned));
    }
    if depth < 4 {
        for detail in error["details"].as_array().into_iter().flatten() {
            collect(detail, codes, depth + 1);
        }
        if error["innererror"].is_object() {
            collect(&error["innererror"], codes, depth + 1);
        }
    }
}

/// Seconds only: Azure sends no dates here.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().map(Duration::from_secs)
}
