//! The world's time. It starts at a date that is given and runs at a chosen speed; nothing here reads the time of day.

use jiff::{SignedDuration, Timestamp};
use std::time::Duration;
use tokio::time::Instant;

/// Every world in process begins here, so that the same seed gives the same timestamps.
pub const BEGINNING: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// Virtual time over tokio's clock. Under `tokio::time::pause` it jumps from event to event: as fast as possible.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    beginning: Timestamp,
    started: Instant,
    speed: f64,
}

impl Clock {
    /// `speed` virtual seconds pass in one second of tokio's time. Must be called inside a runtime.
    pub fn start(speed: f64) -> Self {
        Clock::start_at(BEGINNING, speed)
    }

    /// The same from another date: programs beside a world have the time of day, and compare it with what they read here.
    pub fn start_at(beginning: Timestamp, speed: f64) -> Self {
        Clock { beginning, started: Instant::now(), speed }
    }

    pub fn now(&self) -> Timestamp {
        let passed = self.started.elapsed().mul_f64(self.speed);
        self.beginning + SignedDuration::try_from(passed).unwrap_or(SignedDuration::MAX)
    }

    /// Waits for a span of virtual time.
    pub async fn sleep(&self, span: Duration) {
        tokio::time::sleep(span.div_f64(self.speed)).await;
    }
}
