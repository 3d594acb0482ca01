//! The state machine of one machine: from what was done and what is seen to what is done next. Pure and total.
//!
//! Off → Booting → Ready → Draining → ShuttingDown → Off, with Failed and Unknown beside them. A command goes out only on
//! a transition. An accepted command proves nothing: only a state that is shown after the settle window does, because a
//! command that is still on its way can undo what is shown now.

use crate::config::Timing;
use crate::holders::NodeSign;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// What a back end shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerState {
    On,
    Off,
    TurningOn,
    TurningOff,
    /// It has no status, or says nothing that we understand.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    On,
    /// By way of the operating system.
    SoftOff,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    Off,
    Booting,
    Ready,
    /// Not wanted any more, and not to be cut yet.
    Draining,
    ShuttingDown,
    /// Did not come up; it is being cut, or has been.
    Failed,
    /// Nothing is known, so nothing is sent.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Want {
    On,
    Off,
}

/// What has been done so far. It is noted beside the machine's holder, so any process can go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub want: Want,
    pub phase: Phase,
    /// Since when we look. A command of somebody before us may have been under way then.
    pub watched_from: Timestamp,
    pub first_sent: Option<Timestamp>,
    pub sent: Option<Sent>,
    /// Raised with every command that is not a repetition; it is a part of the idempotency key.
    pub attempt: u32,
}

/// The last command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    pub command: Command,
    pub at: Timestamp,
    /// Whether the back end took it. It is written down before it is sent, so one that is not answered was sent, or not,
    /// or lost: it is sent again at once, under the same key.
    pub answered: bool,
}

/// What is seen now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    pub power: PowerState,
    pub has_status: bool,
    pub has_soft_off: bool,
    pub node: NodeSign,
    pub now: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub record: Record,
    pub effect: Option<Command>,
    pub reached: Reached,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    Working {
        look_again_seconds: u32,
    },
    On,
    Off,
    /// It did not come up, and it is off as far as that can be known.
    GaveUp,
}

/// The kubelet of a machine that was cut looks Ready for about this long.
const NODE_LAG: SignedDuration = SignedDuration::from_secs(60);

/// What all of it together shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    On,
    Off,
    Changing,
    Nothing,
}

pub fn step(want: Want, before: Option<&Record>, sight: &Sight, timing: &Timing) -> Step {
    let record = begin(want, before, sight.now);
    let at = Place { shown: shown(&record, sight), record, sight, timing };
    match want {
        Want::On if at.record.phase == Phase::Failed => at.after_failing(),
        Want::On => at.towards_on(),
        Want::Off => at.towards_off(),
    }
}

/// Goes on, or begins anew where the wish has changed: then whatever was sent may still take hold.
fn begin(want: Want, before: Option<&Record>, now: Timestamp) -> Record {
    match before {
        Some(record) if record.want == want => record.clone(),
        other => Record { attempt: other.map_or(0, |record| record.attempt), ..Record::fresh(want, now) },
    }
}

/// The status is the first witness, the Node the second.
fn shown(record: &Record, sight: &Sight) -> Shown {
    let was_cut = |at: Timestamp| sight.now.duration_since(at) < NODE_LAG;
    let node_is_up = sight.node.ready == Some(true) && !sight.node.off_since.is_some_and(was_cut);
    match sight.power {
        PowerState::On => Shown::On,
        PowerState::Off => Shown::Off,
        PowerState::TurningOn | PowerState::TurningOff => Shown::Changing,
        PowerState::Unknown if node_is_up => Shown::On,
        PowerState::Unknown if sight.has_status => Shown::Nothing,
        // Without a status, a Node that went away after a command that was taken is all the proof there can be.
        PowerState::Unknown if record.want == Want::Off && record.was_answered() => match sight.node.ready {
            Some(true) => Shown::On,
            Some(false) | None => Shown::Off,
        },
        PowerState::Unknown => Shown::Nothing,
    }
}

impl Record {
    /// A wish that begins now: nothing was done for it.
    pub fn fresh(want: Want, now: Timestamp) -> Self {
        Record { want, phase: Phase::Unknown, watched_from: now, first_sent: None, sent: None, attempt: 0 }
    }

    fn was_answered(&self) -> bool {
        self.sent.is_some_and(|sent| sent.answered)
    }

    fn is_unanswered(&self) -> bool {
        self.sent.is_some_and(|sent| !sent.answered)
    }
}

struct Place<'a> {
    record: Record,
    shown: Shown,
    sight: &'a Sight,
    timing: &'a Timing,
}

impl Place<'_> {
    fn towards_on(self) -> Step {
        let settling = self.seconds_until_quiet();
        match (self.shown, self.record.sent) {
            (Shown::On, _) if settling == 0 => self.reach(Phase::Ready, Reached::On),
            (Shown::On, _) => self.wait(Phase::Booting, settling),
            (Shown::Changing, Some(_)) if self.over_budget() => self.send(Command::Off, Phase::Failed),
            (Shown::Changing, _) => self.wait(Phase::Booting, 5),
            (Shown::Nothing, _) if self.sight.has_status => self.wait(Phase::Unknown, 10),
            (Shown::Off | Shown::Nothing, None) => {
                match self.seconds_left(self.sight.node.off_since, self.timing.cool_down_seconds) {
                    0 => self.send(Command::On, Phase::Booting),
                    left => self.wait(Phase::Off, left),
                }
            }
            (Shown::Nothing, Some(_)) if self.over_budget() => self.send(Command::Off, Phase::Failed),
            (Shown::Off | Shown::Nothing, Some(sent)) => self.again(sent),
        }
    }

    /// Power was asked for and does not show.
    fn again(self, sent: Sent) -> Step {
        let left = self.seconds_left(Some(sent.at), self.resend_seconds());
        let spent = self.record.attempt >= self.timing.most_attempts || self.over_budget();
        match (left, spent, self.shown) {
            _ if !sent.answered && !self.over_budget() => self.send(Command::On, Phase::Booting),
            (1.., _, _) => self.wait(Phase::Booting, left.min(10)),
            (0, false, _) => self.send(Command::On, Phase::Booting),
            (0, true, Shown::Off) => self.reach(Phase::Failed, Reached::GaveUp),
            // Nothing shows, so it may yet come up within its budget.
            (0, true, _) => self.wait(Phase::Booting, 10),
        }
    }

    /// The next offering is tried only when this machine cannot come up behind its back.
    fn after_failing(self) -> Step {
        let left = self.record.sent.map_or(0, |sent| self.seconds_left(Some(sent.at), self.resend_seconds()));
        let unanswered = self.record.is_unanswered();
        match self.sight.power {
            PowerState::Off if self.seconds_until_quiet() == 0 => self.reach(Phase::Failed, Reached::GaveUp),
            PowerState::On | PowerState::TurningOn if left == 0 || unanswered => self.send(Command::Off, Phase::Failed),
            _ if self.sight.has_status => self.wait(Phase::Failed, left.clamp(1, 10)),
            _ if unanswered => self.send(Command::Off, Phase::Failed),
            _ => self.reach(Phase::Failed, Reached::GaveUp),
        }
    }

    fn towards_off(self) -> Step {
        let settling = self.seconds_until_quiet();
        match (self.shown, self.record.sent) {
            (Shown::Off, _) if settling == 0 => self.reach(Phase::Off, Reached::Off),
            (Shown::Off, _) => self.wait(Phase::ShuttingDown, settling),
            (Shown::Changing, _) => self.wait(Phase::ShuttingDown, 5),
            (Shown::Nothing, _) if self.sight.has_status => self.wait(Phase::Unknown, 10),
            (Shown::On | Shown::Nothing, None) => {
                match self.seconds_left(self.sight.node.on_since, self.timing.minimum_on_seconds) {
                    0 => {
                        let first = if self.sight.has_soft_off { Command::SoftOff } else { Command::Off };
                        self.send(first, Phase::ShuttingDown)
                    }
                    left => self.wait(Phase::Draining, left),
                }
            }
            (Shown::On | Shown::Nothing, Some(sent)) => self.still_on(sent),
        }
    }

    fn still_on(self, sent: Sent) -> Step {
        let soft = sent.command == Command::SoftOff;
        let by_force = soft && self.timing.force_off;
        // Force comes when the operating system has had its time, however often it had to be told.
        let (since, patience) = match (soft, by_force) {
            (true, true) => (self.record.first_sent, self.timing.soft_off_seconds),
            (true, false) => (Some(sent.at), self.timing.soft_off_seconds),
            (false, _) => (Some(sent.at), self.resend_seconds()),
        };
        match self.seconds_left(since, patience) {
            0 if by_force => self.send(Command::Off, Phase::ShuttingDown),
            left if left == 0 || !sent.answered => {
                self.send(if soft { Command::SoftOff } else { Command::Off }, Phase::ShuttingDown)
            }
            left => self.wait(Phase::ShuttingDown, left.min(15)),
        }
    }

    fn send(mut self, command: Command, phase: Phase) -> Step {
        let now = self.sight.now;
        if !self.record.sent.is_some_and(|sent| sent.command == command && !sent.answered) {
            self.record.attempt = self.record.attempt.saturating_add(1);
        }
        self.record.sent = Some(Sent { command, at: now, answered: false });
        self.record.first_sent = self.record.first_sent.or(Some(now));
        let look_again_seconds = self.settle_seconds().clamp(2, 15);
        self.record.phase = phase;
        Step { record: self.record, effect: Some(command), reached: Reached::Working { look_again_seconds } }
    }

    fn wait(mut self, phase: Phase, seconds: u32) -> Step {
        self.record.phase = phase;
        let reached = Reached::Working { look_again_seconds: seconds.max(1) };
        Step { record: self.record, effect: None, reached }
    }

    fn reach(mut self, phase: Phase, reached: Reached) -> Step {
        self.record.phase = phase;
        Step { record: self.record, effect: None, reached }
    }

    /// Until nothing that was sent, by us or before us, can change what is shown.
    fn seconds_until_quiet(&self) -> u32 {
        let from = self.record.sent.map_or(self.record.watched_from, |sent| sent.at.max(self.record.watched_from));
        self.seconds_left(Some(from), self.settle_seconds())
    }

    /// A checked machine has one; see [`crate::Machine`].
    fn settle_seconds(&self) -> u32 {
        self.timing.settle_seconds.unwrap_or_default()
    }

    /// Without a status only the Node can answer, and a Node takes its time.
    fn resend_seconds(&self) -> u32 {
        let seconds = match self.sight.has_status {
            true => self.timing.resend_seconds,
            false => self.timing.boot_budget_seconds / self.timing.most_attempts.max(1),
        };
        seconds.max(self.settle_seconds()).max(1)
    }

    fn over_budget(&self) -> bool {
        let first = self.record.first_sent;
        first.is_some() && self.seconds_left(first, self.timing.boot_budget_seconds) == 0
    }

    /// What is left of a span that began then; nothing if nobody knows when. Rounded up: early is wrong, late is not.
    fn seconds_left(&self, from: Option<Timestamp>, span: u32) -> u32 {
        let Some(from) = from else { return 0 };
        let passed = self.sight.now.duration_since(from).as_millis().max(0);
        let left = i128::from(span) * 1000 - passed;
        u32::try_from((left + 999).max(0) / 1000).unwrap_or(span)
    }
}
