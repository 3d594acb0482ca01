//! A command: nodes that are taken away or started anew, as it stands on their claims. Any invocation goes on from it.

use jiff::{SignedDuration, Timestamp};

use crate::{InstanceKey, ObjectName, Uid, disruption::Reason};

/// What the annotation `pilotlight.dev/disruption` says. The first candidate's is the command; those of the others only
/// say which it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRecord {
    /// Ten hexadecimal digits, of this command alone.
    pub id: String,
    pub reason: Reason,
    pub work: CommandWork,
    pub order: CommandOrder,
    /// All claims that it is about.
    pub candidates: Vec<InstanceKey>,
    /// Pods that were on all of their nodes when it was decided. Any other that comes ends the command. Only on the first
    /// candidate, as is `make`.
    pub pods: Vec<Uid>,
    /// Claims that have to be usable before the candidates go.
    pub replacements: Vec<ObjectName>,
    /// The same, whole.
    pub make: Vec<Manifest>,
    /// How long the drain may take before pods go without being asked: absent, what the claim says.
    pub drain_within: Option<SignedDuration>,
    pub phase: CommandPhase,
    /// Since when it is in this phase.
    pub since: Timestamp,
    pub begun_at: Timestamp,
    /// In words for a person.
    pub why: String,
}

/// A NodeClaim to be made, as text for the API server. Only whoever talks to that reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest(pub String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommandWork {
    /// The claims are deleted.
    Delete,
    /// The machine is drained and started anew; its claim stays.
    Reboot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommandOrder {
    /// Replacements are usable before the candidates go.
    ReplaceFirst,
    /// There is no room for a replacement while the candidate is there.
    TerminateFirst,
    /// The machine goes anyway, and soon: replacements are ordered, and nobody waits for them.
    AtOnce,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandPhase {
    /// Written down; the nodes are being closed.
    Recorded,
    /// All nodes were seen closed: whoever chose one of them before has by now said so.
    Tainted,
    /// Nobody came. Replacements are being made.
    Making,
    /// Replacements are coming.
    Waiting,
    /// There is no way back: the claims are deleted.
    Deleting,
    /// Pods are asked to leave, so that the machine can be started anew.
    Draining,
    /// The machine is told to start anew.
    Rebooting,
    /// It was told, and has to come back.
    Rebooted,
    /// Everything is put back as it was. `failed`: because replacements did not come.
    Undoing { why: String, failed: bool },
}

impl CommandRecord {
    /// The claim that the command itself stands on.
    pub fn leader(&self) -> Option<&InstanceKey> {
        self.candidates.first()
    }
}

impl CommandPhase {
    pub fn as_str(&self) -> &'static str {
        match self {
            CommandPhase::Recorded => "Recorded",
            CommandPhase::Tainted => "Tainted",
            CommandPhase::Making => "Making",
            CommandPhase::Waiting => "Waiting",
            CommandPhase::Deleting => "Deleting",
            CommandPhase::Draining => "Draining",
            CommandPhase::Rebooting => "Rebooting",
            CommandPhase::Rebooted => "Rebooted",
            CommandPhase::Undoing { .. } => "Undoing",
        }
    }
}
