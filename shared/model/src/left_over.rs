//! Small things of our own in the cluster that may be left over: Leases, and lines of the stock memory.

use jiff::Timestamp;

use crate::{ResourceVersion, Uid, Unavailable};

/// A Lease of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseSeen {
    pub name: String,
    pub uid: Uid,
    pub version: ResourceVersion,
    /// Who has it, if somebody does.
    pub holder: Option<String>,
    pub of: LeaseOf,
}

/// What a Lease is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseOf {
    /// A machine of a rack; its holder is the UID of a claim.
    Machine {
        machine: String,
        /// Since when the machine is off, where it was given back.
        off_since: Option<Timestamp>,
    },
    /// Whose turn it is; absent where nobody has it.
    Turn { until: Option<Timestamp> },
}

/// A line of the stock memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StockLine {
    pub key: String,
    /// `None` for one that cannot be read.
    pub line: Option<Unavailable>,
}
