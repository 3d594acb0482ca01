//! A token bucket, kept as one moment: when the bucket would be full again. No timer has to fill it.
//!
//! Its pace is learned. A call may be one request to a cloud or a dozen, and a cloud counts requests, so no fixed pace is right:
//! each "too often" halves it, and each good answer brings a little of it back.

use core::time::Duration;
use tokio::time::Instant;

use super::Rate;

/// How many times slower than its rate a bucket may become: a cloud that bears less than that is waited for by its pauses.
const SLOWEST: u32 = 64;

/// As long as no complaint comes, the pace doubles in about two thirds of this: whoever is at a cloud's limit meets it about
/// twice a minute, however slow that limit is.
const RECOVERY: Duration = Duration::from_secs(40);

#[derive(Debug)]
pub(super) struct Bucket {
    rate: Rate,
    /// Between two calls at present; the rate's own unless the cloud has complained.
    every: Duration,
    /// Calls sent before this were sent at the pace that was complained about.
    slowed_at: Option<Instant>,
    full_again: Instant,
    paused_until: Option<Instant>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Now,
    /// A turn is reserved for after this long.
    After(Duration),
    /// Nothing is reserved: it would have been this long.
    TooLate(Duration),
}

impl Bucket {
    pub(super) fn full(rate: Rate, now: Instant) -> Self {
        Bucket { rate, every: rate.every, slowed_at: None, full_again: now, paused_until: None }
    }

    pub(super) fn take(&mut self, now: Instant, longest_wait: Duration) -> Turn {
        let wait = self.next_turn().saturating_duration_since(now);
        if wait > longest_wait {
            return Turn::TooLate(wait);
        }
        self.full_again = self.full_again.max(now) + self.every;
        if wait.is_zero() { Turn::Now } else { Turn::After(wait) }
    }

    /// The cloud complained of a call that was sent then. Says whether that was news: calls that were on their way together
    /// are refused together, and only the first of them tells anything about the pace.
    pub(super) fn slow_down(&mut self, sent: Instant, now: Instant) -> bool {
        if self.slowed_at.is_some_and(|at| sent < at) {
            return false;
        }
        self.slowed_at = Some(now);
        self.change_pace(self.every.saturating_mul(2).min(self.rate.every.saturating_mul(SLOWEST)));
        true
    }

    /// The cloud had no complaint.
    pub(super) fn speed_up(&mut self) {
        let regained = self.every.mul_f64((self.every.as_secs_f64() / RECOVERY.as_secs_f64()).min(0.5));
        self.change_pace(self.every.saturating_sub(regained).max(self.rate.every));
    }

    /// The next turn stays where it is; only those after it come closer or move apart.
    fn change_pace(&mut self, every: Duration) {
        let next = self.next_token();
        self.every = every;
        self.full_again = next + self.headroom();
    }

    /// Nobody goes before `until`. Then the bucket is empty, so that those who waited come one by one, not as a herd.
    pub(super) fn pause_until(&mut self, until: Instant) {
        self.paused_until = Some(self.paused_until.map_or(until, |before| before.max(until)));
        // The turns of those who wait are lost: they ask again, and are counted again then.
        self.full_again = until + self.headroom();
    }

    pub(super) fn is_paused(&self, now: Instant) -> bool {
        self.paused_until.is_some_and(|until| now < until)
    }

    fn next_turn(&self) -> Instant {
        let by_tokens = self.next_token();
        self.paused_until.map_or(by_tokens, |until| by_tokens.max(until))
    }

    /// When there is a token; long ago if there are several.
    fn next_token(&self) -> Instant {
        self.full_again.checked_sub(self.headroom()).unwrap_or(self.full_again)
    }

    /// How far the bucket may be from full while there is still a token in it.
    fn headroom(&self) -> Duration {
        self.every.saturating_mul(self.rate.burst.saturating_sub(1))
    }
}
