//! What can go wrong with the API server, as types. A caller decides by type, never by text.

use core::{error::Error, time::Duration};
use model::{Failure, Retry};
use std::io;

use crate::{
    connect_entra::NotSignedIn,
    rights::{self, Right},
};

/// Why something could not be read or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{doing}: {kind}")]
pub struct ClusterError {
    /// What we were doing, and to which object.
    pub doing: String,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Kind {
    #[error("it is not there (any more)")]
    NotFound,
    /// What was read is old. Nothing was written.
    #[error("somebody else wrote first: {why}")]
    Conflict { why: String },
    /// `right` says which line of a role is missing, as in `` `patch nodes` ``.
    #[error("not allowed: {why}. Grant our service account the right to {right}")]
    NotAllowed { right: String, why: String },
    /// It can never work like this.
    #[error("the API server refuses it: {why}")]
    Invalid { why: String },
    #[error("the API server asks to be called less often")]
    TooMany { retry_after: Option<Duration> },
    /// A write got no answer: it may have been done. Read before anything else.
    #[error("no answer came, so it may or may not have been done: {why}")]
    Uncertain { why: String },
    /// The API server is not there, or answers nonsense. Nothing was written.
    #[error("the API server is not available: {why}")]
    Unavailable { why: String },
}

/// Whether a request that got no answer may have changed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    Reads,
    Writes,
}

/// A server's words end in conditions and logs: they are cut.
const LONGEST_TEXT: usize = 500;
/// In what OwnerReferencesPermissionEnforcement says.
const OF_OWNERS: [&str; 2] = ["cannot set an ownerRef", "cannot set blockOwnerDeletion"];
const THROTTLED: Duration = Duration::from_secs(1);
const UNAVAILABLE: Duration = Duration::from_secs(10);

impl ClusterError {
    pub fn retry(&self) -> Retry {
        match self.kind {
            Kind::NotFound | Kind::Conflict { .. } | Kind::Uncertain { .. } => Retry::ReadBack,
            Kind::TooMany { retry_after } => Retry::SameAfter(retry_after.unwrap_or(THROTTLED)),
            Kind::Unavailable { .. } => Retry::SameAfter(UNAVAILABLE),
            Kind::NotAllowed { .. } | Kind::Invalid { .. } => Retry::Never,
        }
    }

    /// Few, static, PascalCase: for conditions, events and metrics.
    pub fn reason(&self) -> &'static str {
        match self.kind {
            Kind::NotFound => "NotFound",
            Kind::Conflict { .. } => "Conflict",
            Kind::NotAllowed { .. } => "NotAllowed",
            Kind::Invalid { .. } => "Invalid",
            Kind::TooMany { .. } => "TooManyRequests",
            Kind::Uncertain { .. } => "Uncertain",
            Kind::Unavailable { .. } => "Unavailable",
        }
    }

    /// As far as a decision needs it.
    pub fn failure(&self) -> Failure {
        Failure { reason: self.reason(), message: self.to_string(), retry: self.retry(), scope: None, limit: None }
    }

    pub fn is_not_found(&self) -> bool {
        self.kind == Kind::NotFound
    }

    pub fn is_conflict(&self) -> bool {
        matches!(self.kind, Kind::Conflict { .. })
    }
}

impl Kind {
    /// By the code of the answer; without one, by whether anything can have been sent.
    pub(crate) fn of(error: &kube::Error, right: Right<'_>, effect: Effect) -> Self {
        match error {
            kube::Error::Api(status) => Kind::of_answer(status, right, effect),
            kube::Error::Auth(_) => Kind::NotAllowed { right: format!("`{right}`"), why: chain(error) },
            kube::Error::BuildRequest(_) | kube::Error::HttpError(_) => Kind::Invalid { why: chain(error) },
            _ if never_sent(error) => Kind::Unavailable { why: chain(error) },
            _ => Kind::lost(effect, chain(error)),
        }
    }

    /// No answer, or none that says what happened.
    pub(crate) fn lost(effect: Effect, why: String) -> Self {
        match effect {
            Effect::Reads => Kind::Unavailable { why },
            Effect::Writes => Kind::Uncertain { why },
        }
    }

    fn of_answer(status: &kube::core::Status, right: Right<'_>, effect: Effect) -> Self {
        let why = || cut(&status.message);
        match status.code {
            404 => Kind::NotFound,
            409 | 412 => Kind::Conflict { why: why() },
            401 | 403 => Kind::NotAllowed { right: missing(right, &status.message), why: why() },
            400 | 405 | 406 | 413 | 415 | 422 => Kind::Invalid { why: why() },
            429 => {
                let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
                Kind::TooMany { retry_after: (seconds > 0).then(|| Duration::from_secs(seconds.into())) }
            }
            code => Kind::lost(effect, format!("{code} {}", why())),
        }
    }
}

/// The lines of a role that a person has to add. Only the words tell whether the role or an admission plugin refused, and only
/// words are made of that.
fn missing(right: Right<'_>, said: &str) -> String {
    let by_admission = OF_OWNERS.iter().any(|word| said.contains(word));
    let rights = rights::asked_by_admission(right);
    if !by_admission || rights.is_empty() {
        return format!("`{right}`");
    }
    rights.iter().map(|right| format!("`{right}`")).collect::<Vec<_>>().join(" and ")
}

/// The connection was not even made. Where that is not certain, the answer is no: to read once more costs little.
fn never_sent(error: &kube::Error) -> bool {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(cause) = next {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let unreachable = [
            io::ErrorKind::ConnectionRefused,
            io::ErrorKind::HostUnreachable,
            io::ErrorKind::NetworkUnreachable,
            io::ErrorKind::AddrNotAvailable,
        ];
        let not_signed_in = cause.downcast_ref::<NotSignedIn>().is_some();
        if not_signed_in || kind.is_some_and(|kind| unreachable.contains(&kind)) {
            return true;
        }
        next = cause.source();
    }
    false
}

/// An error with its causes. Where a text repeats its cause, the cause is left out.
fn chain(error: &kube::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        next = cause.source();
    }
    cut(&text)
}

pub(crate) fn cut(text: &str) -> String {
    text.chars().take(LONGEST_TEXT).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::rights::PATCH_CLAIM;
    use kube::core::Status;

    fn answered(code: u16, effect: Effect) -> ClusterError {
        let error = kube::Error::Api(Status::failure("the words of the server", "").with_code(code).boxed());
        ClusterError { doing: "changing NodeClaim a".to_owned(), kind: Kind::of(&error, PATCH_CLAIM, effect) }
    }

    fn check(code: u16, effect: Effect, reason: &str, retry: Retry) {
        let error = answered(code, effect);
        assert_eq!((error.reason(), error.retry()), (reason, retry), "{code} {effect:?}");
        assert_eq!(error.failure().message, error.to_string());
    }

    #[test]
    fn every_code_has_a_kind_and_every_kind_says_what_comes_next() {
        check(404, Effect::Writes, "NotFound", Retry::ReadBack);
        check(409, Effect::Writes, "Conflict", Retry::ReadBack);
        check(412, Effect::Writes, "Conflict", Retry::ReadBack);
        check(401, Effect::Reads, "NotAllowed", Retry::Never);
        check(403, Effect::Reads, "NotAllowed", Retry::Never);
        check(422, Effect::Writes, "Invalid", Retry::Never);
        check(400, Effect::Reads, "Invalid", Retry::Never);
        check(429, Effect::Writes, "TooManyRequests", Retry::SameAfter(THROTTLED));
        for code in [0, 410, 500, 502, 503, 504] {
            check(code, Effect::Reads, "Unavailable", Retry::SameAfter(UNAVAILABLE));
            check(code, Effect::Writes, "Uncertain", Retry::ReadBack);
        }
    }

    #[test]
    fn how_long_to_wait_is_what_the_server_said() {
        let details = serde_json::from_value(serde_json::json!({ "retryAfterSeconds": 3 })).unwrap();
        let status = Status::failure("", "TooManyRequests").with_code(429).with_details(details);
        let kind = Kind::of(&kube::Error::Api(status.boxed()), PATCH_CLAIM, Effect::Writes);
        let error = ClusterError { doing: String::new(), kind };
        assert_eq!(error.retry(), Retry::SameAfter(Duration::from_secs(3)));
    }

    #[test]
    fn a_missing_right_is_named() {
        assert_eq!(
            answered(403, Effect::Writes).to_string(),
            "changing NodeClaim a: not allowed: the words of the server. \
             Grant our service account the right to `patch nodeclaims.karpenter.sh`"
        );
    }

    #[test]
    fn where_an_admission_plugin_refuses_an_owner_its_rights_are_named() {
        let check = |right: Right<'_>, words: &str, expected: &str| {
            let error = kube::Error::Api(Status::failure(words, "Forbidden").with_code(403).boxed());
            let text = Kind::of(&error, right, Effect::Writes).to_string();
            assert_eq!(text, format!("not allowed: {words}. Grant our service account the right to {expected}"));
        };
        let no_delete = "nodes \"n\" is forbidden: cannot set an ownerRef on a resource you can't delete: , <nil>";
        let no_finalizers = "nodes \"n\" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a \
                             resource you can't set finalizers on: , <nil>";
        let of_nodes = "`update nodeclaims.karpenter.sh/finalizers` and `delete nodes`";
        check(rights::PATCH_NODE, no_delete, of_nodes);
        check(rights::PATCH_NODE, no_finalizers, of_nodes);
        check(rights::CREATE_CLAIM, no_finalizers, "`update nodepools.karpenter.sh/finalizers`");
        check(rights::PATCH_NODE, "nodes \"n\" is forbidden: User \"u\" cannot patch resource", "`patch nodes`");
    }

    #[test]
    fn a_write_that_never_left_is_not_uncertain() {
        let service = |kind: io::ErrorKind| kube::Error::Service(Box::new(io::Error::from(kind)));
        let kind = |error: io::ErrorKind| Kind::of(&service(error), PATCH_CLAIM, Effect::Writes);
        assert!(matches!(kind(io::ErrorKind::ConnectionRefused), Kind::Unavailable { .. }));
        assert!(matches!(kind(io::ErrorKind::ConnectionReset), Kind::Uncertain { .. }));
    }
}
