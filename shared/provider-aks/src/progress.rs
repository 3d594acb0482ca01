//! Where an operation stands, as small JSON text that any machine can go on from.

use core::time::Duration;
use model::Progress;
use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;

/// What the last call was about, and for which attempt: another offering is another epoch, and the last one's failure is not its
/// own. A text that is not ours, or of another version, counts as nothing: the key is enough.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "camelCase")]
pub(crate) enum Step {
    /// The pool is being made; without an address only the pool itself tells how far it is.
    Creating { epoch: u32, operation: Option<String> },
    /// What a failed attempt left is being deleted; then the failure is reported, or, where its cause is unknown, it is
    /// tried again.
    Clearing { epoch: u32, operation: Option<String>, cause: Option<Refusal> },
    /// The pool is being deleted.
    Deleting { operation: Option<String> },
}

/// How soon to look again where Azure does not say.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_secs(10);

impl Step {
    pub fn read(progress: Option<&Progress>) -> Option<Step> {
        serde_json::from_str(&progress?.0).ok()
    }

    /// A deletion has no epoch: it is of the claim as a whole.
    pub fn is_of(&self, attempt: u32) -> bool {
        match self {
            Step::Creating { epoch, .. } | Step::Clearing { epoch, .. } => *epoch == attempt,
            Step::Deleting { .. } => true,
        }
    }

    pub fn write(&self) -> Progress {
        // These types always serialise; the empty text would be read as "by the key".
        Progress(serde_json::to_string(self).unwrap_or_default())
    }
}

/// Whole seconds, at least one, at most an hour.
pub(crate) fn seconds(after: Option<Duration>) -> u32 {
    let seconds = after.unwrap_or(LOOK_AGAIN).as_secs().clamp(1, 3600);
    u32::try_from(seconds).unwrap_or(3600)
}
