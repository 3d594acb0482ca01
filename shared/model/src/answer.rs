//! What a function says when it is finished: one of five outcomes, always with a reason.

use core::time::Duration;

/// How long a sender waits after `failed` when the function has nothing better to say.
pub const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(30);

/// The one answer type. Every platform maps it to its own idiom and adds nothing to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The world is now as the event asked for.
    Done { reason: String },
    /// There was nothing to do; the reason says why.
    Nothing { reason: String },
    /// Work is under way elsewhere: call again after this long.
    Later { reason: String, after: Duration },
    /// The event can never be carried out. Sending it again is useless.
    Refused { reason: String },
    /// It did not work this time. Send the same event again after this long.
    Failed { reason: String, after: Duration },
}

/// The outcome alone, as people read and script it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    Done,
    Nothing,
    Later,
    Refused,
    Failed,
}

impl Outcome {
    pub const ALL: [Outcome; 5] = [Outcome::Done, Outcome::Nothing, Outcome::Later, Outcome::Refused, Outcome::Failed];

    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Nothing => "nothing",
            Outcome::Later => "later",
            Outcome::Refused => "refused",
            Outcome::Failed => "failed",
        }
    }
}

impl Answer {
    pub fn nothing(reason: impl Into<String>) -> Self {
        Answer::Nothing { reason: reason.into() }
    }

    pub fn refused(reason: impl Into<String>) -> Self {
        Answer::Refused { reason: reason.into() }
    }

    pub fn failed(reason: impl Into<String>) -> Self {
        Answer::Failed { reason: reason.into(), after: DEFAULT_RETRY_AFTER }
    }

    pub fn outcome(&self) -> Outcome {
        match self {
            Answer::Done { .. } => Outcome::Done,
            Answer::Nothing { .. } => Outcome::Nothing,
            Answer::Later { .. } => Outcome::Later,
            Answer::Refused { .. } => Outcome::Refused,
            Answer::Failed { .. } => Outcome::Failed,
        }
    }

    pub fn reason(&self) -> &str {
        match self {
            Answer::Done { reason }
            | Answer::Nothing { reason }
            | Answer::Later { reason, .. }
            | Answer::Refused { reason }
            | Answer::Failed { reason, .. } => reason,
        }
    }

    /// When to call again: only `later` and `failed` have an opinion.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Answer::Later { after, .. } | Answer::Failed { after, .. } => Some(*after),
            Answer::Done { .. } | Answer::Nothing { .. } | Answer::Refused { .. } => None,
        }
    }
}
