//! What was asked, and what exists: the lists that tests check.

use super::{machine::Machine, options::BackEnd};
use jiff::Timestamp;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    On,
    /// By way of the operating system.
    SoftOff,
    Off,
    Restart,
    Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The machine changes, now or after settling.
    Changes,
    /// It already was as asked; the call was needless, or came too early and was forgotten.
    AlreadySo,
    /// Answered with success, and not done.
    Ignored,
    /// Answered with an error.
    Refused,
    /// A reading.
    Read,
}

/// One call on one machine.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerCall {
    pub at: Timestamp,
    pub machine: String,
    pub back_end: BackEnd,
    pub verb: Verb,
    pub effect: Effect,
    pub status: u16,
    /// From `Idempotency-Key` or `webhook-id`.
    pub idempotency_key: Option<String>,
    /// The key came before.
    pub repeated: bool,
    pub body: String,
}

/// A machine now, and what it has used.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineRecord {
    pub name: String,
    pub node: String,
    pub back_end: BackEnd,
    pub gpus: u64,
    pub on: bool,
    /// A command has been accepted and has not taken hold yet.
    pub settling: bool,
    pub joined: bool,
    pub boots: u32,
    pub since: Timestamp,
    pub on_for: Duration,
    pub watts: f64,
    pub watt_hours: f64,
}

impl Machine {
    pub(super) fn watts(&self) -> f64 {
        if self.on { self.options.watts_on } else { self.options.watts_off }
    }

    pub(super) fn record(&self, now: Timestamp) -> MachineRecord {
        let passed = Duration::try_from(now.duration_since(self.since)).unwrap_or_default();
        MachineRecord {
            name: self.options.name.clone(),
            node: self.node().to_owned(),
            back_end: self.options.back_end,
            gpus: self.options.accelerator.as_ref().map_or(0, |(_, count)| *count),
            on: self.on,
            settling: self.pending.is_some(),
            joined: self.joined,
            boots: self.boots,
            since: self.since,
            on_for: self.on_before + if self.on { passed } else { Duration::ZERO },
            watts: self.watts(),
            watt_hours: (self.watt_seconds + self.watts() * passed.as_secs_f64()) / 3600.0,
        }
    }
}
