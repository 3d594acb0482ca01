//! When a drain stops asking: the annotation on the claim, which anybody may write, and which we write once.

use jiff::Timestamp;
use model::{Claim, ClaimChange, names};

use super::later;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deadline {
    pub at: Option<Timestamp>,
    /// It has to be written first.
    pub is_new: bool,
    /// Something stands there that is no time.
    pub unreadable: bool,
}

impl Deadline {
    /// A value that stands there is kept, whoever wrote it: a deadline never moves.
    pub(super) fn of(claim: &Claim) -> Deadline {
        let written = claim.annotations.get(names::TERMINATION_TIMESTAMP);
        let read = written.and_then(|text| text.parse().ok());
        let unreadable = written.is_some() && read.is_none();
        let granted = claim.deleted_at.zip(claim.termination_grace).map(|(asked, grace)| later(asked, grace));
        Deadline { at: read.or(granted), is_new: read.is_none() && granted.is_some(), unreadable }
    }

    pub(super) fn passed(&self, now: Timestamp) -> bool {
        self.at.is_some_and(|at| now >= at)
    }

    pub(super) fn change(&self) -> Option<ClaimChange> {
        let at = self.at.filter(|_| self.is_new)?;
        let annotations = [(names::TERMINATION_TIMESTAMP.to_owned(), Some(at.to_string()))].into();
        Some(ClaimChange { annotations, ..ClaimChange::default() })
    }
}
