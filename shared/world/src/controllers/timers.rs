//! What will happen later: one queue of timers in virtual time, in a fixed order.

use jiff::{SignedDuration, Timestamp};
use std::{collections::BTreeMap, time::Duration};

use super::kinds::Kind;
use crate::{api::store::ObjectKey, clock::Clock};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Alarm {
    /// All kubelets renew their Leases.
    Heartbeat,
    /// All kubelets report their Nodes.
    Report,
    NodeReady {
        node: String,
        boot: String,
    },
    Accelerator {
        node: String,
        boot: String,
    },
    /// A pod on a machine goes on to its next step; `turn` tells an outdated timer.
    PodStep {
        pod: ObjectKey,
        uid: String,
        turn: u64,
    },
    /// Some Node may have been silent for too long.
    Monitor,
    /// The cloud's node controller looks around.
    CloudNodes,
    /// A toleration may have run out.
    Tolerated {
        pod: ObjectKey,
        uid: String,
    },
    /// Pods may have named a missing Node for too long.
    Quarantine {
        node: String,
    },
    /// The scheduler's back-offs.
    Schedule,
    /// Look at this object again.
    Again {
        kind: Kind,
        key: ObjectKey,
    },
}

#[derive(Debug, Default)]
pub(super) struct Timers {
    queue: BTreeMap<(Timestamp, u64), Alarm>,
    count: u64,
}

impl Timers {
    pub(super) fn set(&mut self, at: Timestamp, alarm: Alarm) {
        self.count += 1;
        self.queue.insert((at, self.count), alarm);
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        self.queue.first_key_value().map(|((at, _), _)| *at)
    }

    /// Takes the first timer that is due, if any.
    pub(super) fn due(&mut self, now: Timestamp) -> Option<Alarm> {
        let first = self.queue.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}

/// Waits for a moment; for ever, if there is none.
pub(super) async fn wait_until(clock: Clock, at: Option<Timestamp>) {
    match at {
        Some(at) => clock.sleep(span(clock.now(), at)).await,
        None => std::future::pending().await,
    }
}

/// From one moment to a later one; nothing if it is not later.
pub(super) fn span(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

pub(super) fn later(from: Timestamp, span: Duration) -> Timestamp {
    let span = SignedDuration::try_from(span).unwrap_or(SignedDuration::MAX);
    from.checked_add(span).unwrap_or(Timestamp::MAX)
}
