//! What travels between two calls, as the opaque text of the port.

use crate::step::Record;
use model::Progress;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Told {
    pub machine: String,
    pub epoch: u32,
    pub record: Record,
}

impl Told {
    /// A text that is not ours is none: everything can be found out again, only later.
    pub fn parse(progress: Option<&Progress>) -> Option<Self> {
        serde_json::from_str(&progress?.0).ok()
    }

    pub fn write(&self) -> Progress {
        Progress(serde_json::to_string(self).unwrap_or_default())
    }
}

/// The machine that a progress of ours is about.
pub fn machine_of(progress: &Progress) -> Option<String> {
    Told::parse(Some(progress)).map(|told| told.machine)
}
