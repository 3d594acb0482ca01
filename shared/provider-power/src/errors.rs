//! Answers of power back ends as errors of the port. By status code, never by text.

use crate::transport::TransportError;
use core::time::Duration;
use http::{HeaderMap, StatusCode, header::RETRY_AFTER};
use provider::ProviderError;

/// What was being done, for the beginning of every message: `switch on rack-1 at https://bmc.rack`.
#[derive(Debug, Clone)]
pub(crate) struct Doing {
    pub what: String,
    /// Whether the request could change anything.
    pub changes: bool,
}

impl Doing {
    pub fn invalid(&self, why: impl Into<String>) -> ProviderError {
        ProviderError::InvalidRequest { doing: self.what.clone(), why: why.into() }
    }

    pub fn unavailable(&self, why: impl Into<String>) -> ProviderError {
        ProviderError::Unavailable { doing: self.what.clone(), why: why.into() }
    }

    fn maybe_done(&self, why: String) -> ProviderError {
        match self.changes {
            true => ProviderError::Uncertain { doing: self.what.clone(), why },
            false => self.unavailable(why),
        }
    }

    pub fn no_answer(&self, error: TransportError) -> ProviderError {
        match (error.refused, error.sent) {
            (true, _) => self.invalid(error.why),
            (false, true) => self.maybe_done(error.why),
            (false, false) => self.unavailable(error.why),
        }
    }

    pub fn bad_status(&self, status: StatusCode, headers: &HeaderMap) -> ProviderError {
        let doing = self.what.clone();
        let answered = format!("it answered {}", status.as_u16());
        let retry_after = seconds(headers);
        match status.as_u16() {
            401 | 403 | 407 => {
                let why = format!("{answered}: check the user, token or key of this machine's auth");
                ProviderError::Unauthorized { doing, why }
            }
            429 => ProviderError::Throttled { doing, retry_after },
            503 if retry_after.is_some() => ProviderError::Throttled { doing, retry_after },
            404 | 410 => self.invalid(format!("{answered}: no such machine there; check the URL")),
            // Busy with another operation, or already so. The next reading tells which.
            409 | 412 | 423 | 425 => self.unavailable(answered),
            408 => self.maybe_done(answered),
            501 => self.invalid(format!("{answered}: this back end cannot do that")),
            500..=599 => self.maybe_done(answered),
            // Not what success looks like here, but nobody refused it either.
            200..=299 => self.maybe_done(format!("{answered}, which is none of its success codes")),
            300..=399 => self.invalid(format!("{answered}: a redirect that is not followed; give the final URL")),
            _ => self.invalid(format!("{answered}: check method, headers, body and success codes")),
        }
    }
}

/// The form with a date is left to the default: a back end's clock is not ours.
fn seconds(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse::<u32>().ok().map(|seconds| Duration::from_secs(u64::from(seconds)))
}
