//! A circuit breaker: after several `Unavailable` in a row nobody asks for a while, then one may try.

use core::time::Duration;
use tokio::time::Instant;

use crate::ProviderError;

#[derive(Debug)]
pub(super) struct Breaker {
    opens_after: u32,
    open_for: Duration,
    state: State,
}

#[derive(Debug)]
enum State {
    Closed {
        unavailable_in_a_row: u32,
    },
    Open {
        until: Instant,
    },
    /// One call is out to try. Its caller may die, so the next may try when its time is over.
    HalfOpen {
        until: Instant,
    },
}

impl Breaker {
    pub(super) fn closed(opens_after: u32, open_for: Duration) -> Self {
        Breaker { opens_after: opens_after.max(1), open_for, state: State::Closed { unavailable_in_a_row: 0 } }
    }

    /// How long no call may go.
    pub(super) fn closed_to_calls(&self, now: Instant) -> Option<Duration> {
        match self.state {
            State::Open { until } | State::HalfOpen { until } if now < until => Some(until - now),
            State::Closed { .. } | State::Open { .. } | State::HalfOpen { .. } => None,
        }
    }

    /// Lets a call go that may; after a time of rest, it is the one that tries.
    pub(super) fn pass(&mut self, now: Instant) -> Result<(), Duration> {
        match (self.closed_to_calls(now), &self.state) {
            (Some(wait), _) => return Err(wait),
            (None, State::Closed { .. }) => {}
            (None, State::Open { .. } | State::HalfOpen { .. }) => {
                self.state = State::HalfOpen { until: now + self.open_for };
            }
        }
        Ok(())
    }

    pub(super) fn learn(&mut self, error: Option<&ProviderError>, now: Instant) {
        let open = State::Open { until: now + self.open_for };
        match (error, &mut self.state) {
            (Some(ProviderError::Unavailable { .. }), State::Closed { unavailable_in_a_row }) => {
                *unavailable_in_a_row += 1;
                if *unavailable_in_a_row >= self.opens_after {
                    self.state = open;
                }
            }
            // No proof that the cloud is back, and none that it is away.
            (Some(ProviderError::Uncertain { .. }), State::Closed { .. }) => {}
            (
                Some(ProviderError::Unavailable { .. } | ProviderError::Uncertain { .. }),
                State::HalfOpen { .. } | State::Open { .. },
            ) => self.state = open,
            // An answer, even a refusal, is a cloud that is there.
            (_, _) => self.state = State::Closed { unavailable_in_a_row: 0 },
        }
    }
}
