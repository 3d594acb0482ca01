//! How far a machine has come, as the note of its hold: any process goes on from it.

use crate::step::Record;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// Which attempt of the claim it is about. What an earlier one did says nothing about this one.
    pub epoch: u32,
    pub record: Record,
    /// The last time that it was started anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reboot: Option<RebootNote>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RebootNote {
    pub operation: String,
    pub stage: RebootStage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RebootStage {
    /// Its controller is told to restart it, in one command.
    Restarting,
    /// Off first,
    GoingOff,
    /// then on.
    ComingOn,
    Issued,
}

impl Note {
    /// A text that is not ours is none: everything can be found out again, only later.
    pub fn parse(text: Option<&str>) -> Option<Self> {
        serde_json::from_str(text?).ok()
    }

    pub fn write(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
