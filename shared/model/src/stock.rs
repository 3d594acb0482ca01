//! What is known to be unavailable, and until when: so that nobody asks a cloud again for what it just refused.

use core::fmt;
use jiff::Timestamp;

use crate::{Offering, OfferingId};

/// What a capacity failure is about, from narrow to wide: stock memory remembers just this.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    Offering(OfferingId),
    /// An instance type everywhere.
    InstanceType {
        provider: String,
        instance_type: String,
    },
    /// A family of types that share a quota.
    Family {
        provider: String,
        family: String,
    },
    /// The whole region or account.
    Provider {
        provider: String,
    },
}

/// One line of the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable {
    pub scope: Scope,
    pub until: Timestamp,
    /// PascalCase: `InsufficientCapacity`, `QuotaExceeded`.
    pub reason: String,
}

/// All of them. Lines whose time has passed say nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StockMemory {
    pub lines: Vec<Unavailable>,
}

/// The label with which an offering says which quota it counts against.
pub const QUOTA_FAMILY: &str = "pilotlight.dev/quota-family";

impl StockMemory {
    /// The line that stands longest against an offering, if one does.
    pub fn against(&self, offering: &Offering, now: Timestamp) -> Option<&Unavailable> {
        let lines = self.lines.iter().filter(|line| line.until > now && line.scope.covers(offering));
        lines.max_by_key(|line| line.until)
    }
}

impl Scope {
    pub fn covers(&self, offering: &Offering) -> bool {
        let id = &offering.id;
        match self {
            Scope::Offering(own) => own == id,
            Scope::InstanceType { provider, instance_type } => {
                *provider == id.provider && *instance_type == id.instance_type
            }
            Scope::Family { provider, family } => {
                *provider == id.provider && offering.labels.get(QUOTA_FAMILY) == Some(family)
            }
            Scope::Provider { provider } => *provider == id.provider,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Offering(id) => write!(f, "{id}"),
            Scope::InstanceType { provider, instance_type } => write!(f, "{provider}/{instance_type} in any zone"),
            Scope::Family { provider, family } => write!(f, "{provider} family {family}"),
            Scope::Provider { provider } => write!(f, "all of {provider}"),
        }
    }
}
