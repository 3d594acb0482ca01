//! A token bucket, kept as one moment: when the bucket would be full again. No timer has to fill it.

use core::time::Duration;
use tokio::time::Instant;

use super::Rate;

#[derive(Debug)]
pub(super) struct Bucket {
    rate: Rate,
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
        Bucket { rate, full_again: now, paused_until: None }
    }

    pub(super) fn take(&mut self, now: Instant, longest_wait: Duration) -> Turn {
        let wait = self.next_turn().saturating_duration_since(now);
        if wait > longest_wait {
            return Turn::TooLate(wait);
        }
        self.full_again = self.full_again.max(now) + self.rate.every;
        if wait.is_zero() { Turn::Now } else { Turn::After(wait) }
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
        let by_tokens = self.full_again.checked_sub(self.headroom()).unwrap_or(self.full_again);
        self.paused_until.map_or(by_tokens, |until| by_tokens.max(until))
    }

    /// How far the bucket may be from full while there is still a token in it.
    fn headroom(&self) -> Duration {
        self.rate.every.saturating_mul(self.rate.burst.saturating_sub(1))
    }
}
