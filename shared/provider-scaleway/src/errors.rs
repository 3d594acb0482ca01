//! The error codes of Scaleway as our types, in one table. Nothing here reads a message to decide.

use bytes::Bytes;
use core::time::Duration;
use http::{Response, StatusCode};
use model::OfferingId;
use provider::{ProviderError, Scope};
use serde_json::Value;

use crate::PROVIDER;
use crate::transport::TransportError;

/// What an answer that is no success is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Invalid,
    Denied,
    Quota,
    NotFound,
    /// It is on its way between two states; it can be asked again in some seconds.
    Transient,
    Exists,
    /// Something has to happen first. `resource_still_in_use` passes by itself.
    Precondition,
    Locked,
    Throttled,
    OutOfStock,
    /// The cloud is broken: whether the request was done is not known.
    Broken,
}

/// The `type` of an error body. The status decides only where there is no type, or one that nobody has seen.
const BY_TYPE: [(&str, Class); 13] = [
    ("invalid_arguments", Class::Invalid),
    ("denied_authentication", Class::Denied),
    ("permissions_denied", Class::Denied),
    ("quotas_exceeded", Class::Quota),
    ("not_found", Class::NotFound),
    ("unknown_resource", Class::NotFound),
    ("transient_state", Class::Transient),
    ("already_exists", Class::Exists),
    ("expired", Class::Invalid),
    ("resource_expired", Class::Invalid),
    ("precondition_failed", Class::Precondition),
    ("locked", Class::Locked),
    // Seen as 503 at poweron and as 412 at create.
    ("out_of_stock", Class::OutOfStock),
];

fn by_status(status: StatusCode, kind: &str) -> Class {
    match (status.as_u16(), kind) {
        // The legacy form in which the Instance API words a quota; rights are `permissions_denied`.
        (403, "invalid_request_error") => Class::Quota,
        // The API says what it means by a type. Without one it was somebody on the way, and what he says is no proof
        // that something is gone, or that nothing was done.
        (404 | 409 | 410 | 412, "") => Class::Broken,
        (401 | 403, _) => Class::Denied,
        (404, _) => Class::NotFound,
        (409, _) => Class::Transient,
        (412, _) => Class::Precondition,
        (423, _) => Class::Locked,
        (429, _) => Class::Throttled,
        (500.., _) => Class::Broken,
        _ => Class::Invalid,
    }
}

/// Why a request has no result.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    Refused(Refusal),
    Lost(TransportError),
    /// A success whose body is not what was promised.
    Nonsense(String),
}

/// An answer that is no success.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub class: Class,
    status: StatusCode,
    body: Value,
    request_id: String,
    retry_after: Option<Duration>,
}

impl Refusal {
    pub fn read(answer: &Response<Bytes>) -> Refusal {
        // The gateway's own 429 has no body at all.
        let body: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        let kind = body["type"].as_str().unwrap_or_default();
        let listed = BY_TYPE.iter().find(|(name, _)| *name == kind).map(|(_, class)| *class);
        let header = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok());
        let seconds = header("retry-after").and_then(|text| text.parse().ok()).or(body["reset_seconds"].as_u64());
        Refusal {
            class: listed.unwrap_or_else(|| by_status(answer.status(), kind)),
            status: answer.status(),
            request_id: header("x-request-id").unwrap_or_default().chars().take(64).collect(),
            retry_after: seconds.map(Duration::from_secs),
            body,
        }
    }

    /// The precondition passes by itself: something is still being detached.
    pub fn is_still_in_use(&self) -> bool {
        self.class == Class::Precondition && self.body["precondition"] == "resource_still_in_use"
    }

    /// (resource, limit, used), in the form with `details` or the one without.
    fn quota(&self) -> (String, u64, u64) {
        let detail = if self.body["details"][0].is_object() { &self.body["details"][0] } else { &self.body };
        let number = |name: &str| detail[name].as_u64().unwrap_or_default();
        (detail["resource"].as_str().unwrap_or_default().to_owned(), number("quota"), number("current"))
    }

    /// For people, bounded: the type, the message, each detail, and the ID that Scaleway's support asks for.
    fn why(&self) -> String {
        let word = |value: &Value| value.as_str().unwrap_or_default().chars().take(200).collect::<String>();
        let mut why = format!("{} {} {}", self.status.as_u16(), word(&self.body["type"]), word(&self.body["message"]));
        for detail in self.body["details"].as_array().into_iter().flatten().take(8) {
            let fields = ["argument_name", "reason", "help_message", "resource", "action"];
            let said: Vec<String> = fields.iter().map(|name| word(&detail[*name])).filter(|t| !t.is_empty()).collect();
            why = format!("{why}, {}", said.join(" "));
        }
        for name in ["resource", "reason", "precondition", "help_message"] {
            if self.body[name].is_string() {
                why = format!("{why}, {name} {}", word(&self.body[name]));
            }
        }
        format!("{} (request {})", why.trim_end(), self.request_id)
    }
}

/// What was asked, as far as an error needs it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub doing: &'a str,
    /// It changes something, so an answer that is lost leaves a question.
    pub changes: bool,
    pub offering: Option<&'a OfferingId>,
}

impl Failure {
    pub fn class(&self) -> Option<Class> {
        match self {
            Failure::Refused(refusal) => Some(refusal.class),
            Failure::Lost(_) | Failure::Nonsense(_) => None,
        }
    }

    pub fn into_error(self, asked: Asked<'_>) -> ProviderError {
        let doing = asked.doing.to_owned();
        let unclear = |doing, why| match asked.changes {
            true => ProviderError::Uncertain { doing, why },
            false => ProviderError::Unavailable { doing, why },
        };
        let refusal = match self {
            Failure::Refused(refusal) => refusal,
            Failure::Lost(TransportError { sent: false, why }) => return ProviderError::Unavailable { doing, why },
            Failure::Lost(TransportError { sent: true, why }) | Failure::Nonsense(why) => return unclear(doing, why),
        };
        let why = refusal.why();
        match refusal.class {
            Class::Invalid | Class::NotFound | Class::Precondition => ProviderError::InvalidRequest { doing, why },
            Class::Denied => {
                let advice = "check SCW_SECRET_KEY and the rights of its key";
                ProviderError::Unauthorized { doing, why: format!("{why}: {advice}") }
            }
            Class::Locked => {
                let advice = "Scaleway has locked it, ask their support";
                ProviderError::Unauthorized { doing, why: format!("{why}: {advice}") }
            }
            Class::Quota => {
                let (resource, limit, used) = refusal.quota();
                ProviderError::QuotaExceeded { doing, scope: quota_scope(&resource, asked.offering), limit, used }
            }
            Class::OutOfStock => {
                let scope = match asked.offering {
                    Some(offering) => Scope::Offering(offering.clone()),
                    None => Scope::Provider { provider: PROVIDER.to_owned() },
                };
                ProviderError::InsufficientCapacity { doing, scope }
            }
            Class::Exists => ProviderError::Conflict { doing, what: why },
            Class::Throttled => ProviderError::Throttled { doing, retry_after: refusal.retry_after },
            Class::Transient => ProviderError::Unavailable { doing, why },
            Class::Broken => unclear(doing, why),
        }
    }
}

/// A quota is counted by commercial type, or it is one of the whole organisation (disks, addresses).
fn quota_scope(resource: &str, offering: Option<&OfferingId>) -> Scope {
    let plain = |text: &str| text.to_ascii_lowercase().replace('-', "_");
    match offering {
        Some(OfferingId { instance_type, .. }) if plain(resource).ends_with(&plain(instance_type)) => {
            Scope::InstanceType { provider: PROVIDER.to_owned(), instance_type: instance_type.clone() }
        }
        _ => Scope::Provider { provider: PROVIDER.to_owned() },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use model::CapacityType;

    fn error(status: u16, body: &str, changes: bool) -> ProviderError {
        let answer = Response::builder().status(status).header("x-request-id", "r1").body(Bytes::from(body.to_owned()));
        let offering = OfferingId {
            provider: PROVIDER.to_owned(),
            instance_type: "L4-1-24G".to_owned(),
            zone: Some("fr-par-2".to_owned()),
            capacity_type: CapacityType::OnDemand,
        };
        let asked = Asked { doing: "testing", changes, offering: Some(&offering) };
        Failure::Refused(Refusal::read(&answer.unwrap())).into_error(asked)
    }

    #[test]
    fn every_code_has_one_type() {
        for (status, body, reason) in [
            (400, r#"{"type":"invalid_arguments","details":[{"argument_name":"image"}]}"#, "InvalidRequest"),
            (401, r#"{"type":"denied_authentication","reason":"expired"}"#, "Unauthorized"),
            (403, r#"{"type":"permissions_denied"}"#, "Unauthorized"),
            (403, r#"{"type":"quotas_exceeded","details":[{"resource":"x","quota":1,"current":1}]}"#, "QuotaExceeded"),
            (403, r#"{"type":"invalid_request_error"}"#, "QuotaExceeded"),
            (400, r#"{"type":"invalid_request_error"}"#, "InvalidRequest"),
            (404, r#"{"type":"not_found"}"#, "InvalidRequest"),
            (409, r#"{"type":"transient_state"}"#, "Unavailable"),
            (409, r#"{"type":"already_exists"}"#, "Conflict"),
            (410, r#"{"type":"expired"}"#, "InvalidRequest"),
            (412, r#"{"type":"precondition_failed","precondition":"unknown"}"#, "InvalidRequest"),
            (423, r#"{"type":"locked"}"#, "Unauthorized"),
            (429, "", "Throttled"),
            (429, r#"{"type":"too_many_requests","reset_seconds":7}"#, "Throttled"),
            (503, r#"{"type":"out_of_stock","resource":"L4-1-24G"}"#, "InsufficientCapacity"),
            (412, r#"{"type":"out_of_stock","resource":"L4-1-24G"}"#, "InsufficientCapacity"),
            (503, "", "Uncertain"),
            (500, "<html>", "Uncertain"),
            (418, "", "InvalidRequest"),
            (404, "<html>", "Uncertain"),
            (409, "", "Uncertain"),
            (412, "", "Uncertain"),
            (404, r#"{"type":"a_new_word"}"#, "InvalidRequest"),
        ] {
            assert_eq!(error(status, body, true).reason(), reason, "{status} {body}");
        }
        assert_eq!(error(503, "", false).reason(), "Unavailable", "a read leaves no question");
    }

    #[test]
    fn both_forms_of_a_quota_are_read_and_scoped() {
        let by_type =
            r#"{"type":"quotas_exceeded","details":[{"resource":"cp_servers_type_L4_1_24G","quota":1,"current":1}]}"#;
        let wide = r#"{"type":"quotas_exceeded","resource":"sbs_volumes_size","quota":500,"current":480}"#;
        let ProviderError::QuotaExceeded { scope, .. } = error(403, by_type, true) else { unreachable!() };
        assert!(matches!(scope, Scope::InstanceType { .. }));
        let ProviderError::QuotaExceeded { scope, limit, used, .. } = error(403, wide, true) else { unreachable!() };
        assert!(matches!(scope, Scope::Provider { .. }));
        assert_eq!((limit, used), (500, 480));
    }

    #[test]
    fn a_throttled_answer_says_how_long_to_wait_where_it_knows() {
        let wait = |body| match error(429, body, true) {
            ProviderError::Throttled { retry_after, .. } => retry_after,
            _ => None,
        };
        assert_eq!(wait(r#"{"type":"too_many_requests","reset_seconds":7}"#), Some(Duration::from_secs(7)));
        assert_eq!(wait(""), None);
    }
}
