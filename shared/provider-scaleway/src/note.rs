//! Where an operation stands, as it travels in an annotation. A note that cannot be read is as good as none.

use jiff::Timestamp;
use model::{OfferingId, Progress};
use provider::{ProviderError, Scope};
use serde::{Deserialize, Serialize};

use crate::PROVIDER;
use crate::names::{is_uuid, is_zone};

/// What the last call knew. Everything in it can be found again by the key, except why an attempt was given up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Note {
    pub zone: String,
    pub server: String,
    /// Block volumes of the server: found by ID even if their tags were never written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<String>,
    /// When it was powered on, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub powered_on: Option<i64>,
    /// Others of the same key were there, and what they left may still be to be removed.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub others: bool,
    /// The attempt has failed, and what it left is being removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given_up: Option<Cause>,
}

/// Why an attempt was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Cause {
    NoStock,
    QuotaOfType {
        limit: u64,
        used: u64,
    },
    QuotaOfAll {
        limit: u64,
        used: u64,
    },
    /// A right is missing; what a person can do is in the text.
    Denied {
        why: String,
    },
    /// It can never work; what to change is in the text.
    Invalid {
        why: String,
    },
}

/// As much of a reason as goes into an annotation.
const LONGEST_WHY: usize = 500;

impl Note {
    pub fn read(progress: Option<&Progress>) -> Option<Note> {
        let note: Note = serde_json::from_str(&progress?.0).ok()?;
        // What is in it ends in a path, so it must be what it says.
        let ids = || core::iter::once(&note.server).chain(&note.volumes).all(|id| id.is_empty() || is_uuid(id));
        ((note.zone.is_empty() || is_zone(&note.zone)) && ids()).then_some(note)
    }

    pub fn write(&self) -> Progress {
        // A struct of texts and numbers always becomes JSON; an empty note would be found out by the key.
        Progress(serde_json::to_string(self).unwrap_or_default())
    }

    pub fn powered_on_at(&self) -> Option<Timestamp> {
        self.powered_on.and_then(|seconds| Timestamp::from_second(seconds).ok())
    }
}

impl Cause {
    /// The cause of a failure after which nobody comes again with the same request; others do not end an attempt.
    pub fn of(error: &ProviderError) -> Option<Cause> {
        match error {
            ProviderError::InsufficientCapacity { .. } => Some(Cause::NoStock),
            ProviderError::QuotaExceeded { scope: Scope::InstanceType { .. }, limit, used, .. } => {
                Some(Cause::QuotaOfType { limit: *limit, used: *used })
            }
            ProviderError::QuotaExceeded { limit, used, .. } => Some(Cause::QuotaOfAll { limit: *limit, used: *used }),
            ProviderError::Unauthorized { why, .. } => Some(Cause::Denied { why: cut(why) }),
            ProviderError::InvalidRequest { why, .. } => Some(Cause::Invalid { why: cut(why) }),
            // Somebody else's is not touched, and the rest is asked for again.
            ProviderError::Conflict { .. }
            | ProviderError::Throttled { .. }
            | ProviderError::Busy { .. }
            | ProviderError::Unavailable { .. }
            | ProviderError::Uncertain { .. } => None,
        }
    }

    pub fn into_error(self, doing: String, offering: &OfferingId) -> ProviderError {
        let (provider, instance_type) = (PROVIDER.to_owned(), offering.instance_type.clone());
        match self {
            Cause::NoStock => ProviderError::InsufficientCapacity { doing, scope: Scope::Offering(offering.clone()) },
            Cause::QuotaOfType { limit, used } => {
                let scope = Scope::InstanceType { provider, instance_type };
                ProviderError::QuotaExceeded { doing, scope, limit, used }
            }
            Cause::QuotaOfAll { limit, used } => {
                ProviderError::QuotaExceeded { doing, scope: Scope::Provider { provider }, limit, used }
            }
            Cause::Denied { why } => ProviderError::Unauthorized { doing, why },
            Cause::Invalid { why } => ProviderError::InvalidRequest { doing, why },
        }
    }
}

fn cut(why: &str) -> String {
    why.chars().take(LONGEST_WHY).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_survives_its_journey_and_nonsense_is_no_note() {
        let note = Note {
            zone: "fr-par-2".to_owned(),
            server: "6f1c0d3e-1111-4222-8333-944444444444".to_owned(),
            volumes: vec!["6f1c0d3e-1111-4222-8333-944444444445".to_owned()],
            powered_on: Some(7),
            others: true,
            given_up: Some(Cause::QuotaOfType { limit: 1, used: 1 }),
        };
        assert_eq!(Note::read(Some(&note.write())), Some(note));
        for nonsense in ["", "null", "{", r#"{"zone":"../../evil"}"#, r#"{"server":"../x"}"#] {
            assert_eq!(Note::read(Some(&Progress(nonsense.to_owned()))), None, "{nonsense}");
        }
    }
}
