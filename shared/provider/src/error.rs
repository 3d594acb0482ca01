//! What can go wrong with a cloud, as types. A caller decides by type, never by text.

use core::time::Duration;
use model::{Failure, Retry, Scope};

/// Why a provider could not do what it was asked. Each says what was being done and to what.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The cloud has none of these now. The next offering may be tried at once.
    #[error("{doing}: no capacity for {scope}")]
    InsufficientCapacity { doing: String, scope: Scope },
    /// The account may not have more of these.
    #[error("{doing}: the quota for {scope} is used up ({used} of {limit})")]
    QuotaExceeded { doing: String, scope: Scope, limit: u64, used: u64 },
    /// Asked too often.
    #[error("{doing}: the cloud asks to be called less often")]
    Throttled { doing: String, retry_after: Option<Duration> },
    /// Something else is being done there, and it takes one thing at a time. Nobody asked too often: only this call waits.
    #[error("{doing}: it is busy with something else")]
    Busy { doing: String, retry_after: Duration },
    /// The identity is wrong or lacks a right. What to do is in the text.
    #[error("{doing}: not allowed: {why}")]
    Unauthorized { doing: String, why: String },
    /// The request can never work. What to change is in the text.
    #[error("{doing}: {why}")]
    InvalidRequest { doing: String, why: String },
    /// Something of that name exists and is not ours. It was not touched.
    #[error("{doing}: {what} exists and belongs to somebody else")]
    Conflict { doing: String, what: String },
    /// The request was sent and no answer came: it may have been done. Read back by the key before anything else.
    #[error("{doing}: no answer came, so it may or may not have been done: {why}")]
    Uncertain { doing: String, why: String },
    /// The cloud is not there or answers nonsense. Nothing was done.
    #[error("{doing}: the cloud is not available: {why}")]
    Unavailable { doing: String, why: String },
}

impl ProviderError {
    pub fn retry(&self) -> Retry {
        match self {
            ProviderError::InsufficientCapacity { .. } | ProviderError::QuotaExceeded { .. } => Retry::NextOffering,
            ProviderError::Throttled { retry_after, .. } => {
                Retry::SameAfter(retry_after.unwrap_or(Duration::from_secs(10)))
            }
            ProviderError::Busy { retry_after, .. } => Retry::SameAfter(*retry_after),
            ProviderError::Unavailable { .. } => Retry::SameAfter(Duration::from_secs(10)),
            ProviderError::Uncertain { .. } => Retry::ReadBack,
            ProviderError::Unauthorized { .. }
            | ProviderError::InvalidRequest { .. }
            | ProviderError::Conflict { .. } => Retry::Never,
        }
    }

    /// Few, static, PascalCase: for conditions, events and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            ProviderError::InsufficientCapacity { .. } => "InsufficientCapacity",
            ProviderError::QuotaExceeded { .. } => "QuotaExceeded",
            ProviderError::Throttled { .. } => "Throttled",
            ProviderError::Busy { .. } => "Busy",
            ProviderError::Unauthorized { .. } => "Unauthorized",
            ProviderError::InvalidRequest { .. } => "InvalidRequest",
            ProviderError::Conflict { .. } => "Conflict",
            ProviderError::Uncertain { .. } => "Uncertain",
            ProviderError::Unavailable { .. } => "Unavailable",
        }
    }

    /// As far as a decision needs it.
    pub fn failure(&self) -> Failure {
        let (scope, limit) = match self {
            ProviderError::InsufficientCapacity { scope, .. } => (Some(scope.clone()), None),
            ProviderError::QuotaExceeded { scope, limit, .. } => (Some(scope.clone()), Some(*limit)),
            _ => (None, None),
        };
        Failure { reason: self.reason(), message: self.to_string(), retry: self.retry(), scope, limit }
    }
}
