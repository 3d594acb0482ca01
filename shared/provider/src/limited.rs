//! Keeps to what a cloud can bear: one bucket and one breaker for each operation of a provider.
//!
//! Nothing is repeated here. A call waits a little for its turn, or is told when to come again. The limits are those of one
//! process: the cloud's own answers (`Throttled`) are what many processes have in common, and they are obeyed.

mod breaker;
mod bucket;

use core::{future::Future, time::Duration};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

use crate::chance::{Chance, up_to};
use crate::{Around, Call, PerOperation, ProviderError, Wrapped};
use breaker::Breaker;
use bucket::{Bucket, Turn};

const HELD_BACK: &str = "pilotlight_provider_held_back_total";

/// A provider that is not asked more than it can bear.
pub type Limited<P> = Wrapped<P, Limiter>;

/// How much may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub rate: PerOperation<Rate>,
    /// Waiting for a turn longer than this is the caller's business: a function that waits costs money.
    pub longest_wait: Duration,
    /// For a cloud that says "too often" and not how long: random between nothing and the first, twice that, ... the last.
    pub backoff: (Duration, Duration),
    /// This many `Unavailable` in a row open the breaker,
    pub unavailable_in_a_row: u32,
    /// for this long; then one call may try.
    pub open_for: Duration,
}

/// One call each `every`, or `burst` of them at once after a rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub every: Duration,
    pub burst: u32,
}

impl Default for Limits {
    fn default() -> Self {
        let rate = |millis, burst| Rate { every: Duration::from_millis(millis), burst };
        Limits {
            rate: PerOperation {
                offerings: rate(1000, 5),
                observe: rate(50, 50),
                owned: rate(500, 5),
                // Azure lets 200 changes through at once and ten more each second, and more than twice that of looks. Whoever
                // allows less says so, and is asked less. A machine that is asked for never waits behind looks at others.
                ensure: rate(100, 100),
                ensure_gone: rate(100, 100),
                go_on: rate(40, 100),
                reboot: rate(500, 5),
            },
            longest_wait: Duration::from_secs(5),
            backoff: (Duration::from_secs(2), Duration::from_secs(60)),
            unavailable_in_a_row: 5,
            open_for: Duration::from_secs(30),
        }
    }
}

/// The state behind the limits of one provider.
pub struct Limiter {
    limits: Limits,
    chance: Arc<dyn Chance>,
    gates: PerOperation<Mutex<Gate>>,
}

/// Each operation has its own, so that a price list that is down does not keep us from deleting.
struct Gate {
    bucket: Bucket,
    breaker: Breaker,
    throttled_in_a_row: u32,
}

impl Limiter {
    /// Time is tokio's, so that a test can pause it.
    pub fn new(limits: Limits, chance: Arc<dyn Chance>) -> Self {
        metrics::describe_counter!(HELD_BACK, "Calls turned away before they reached a provider, by reason.");
        let now = Instant::now();
        let gates = PerOperation::from_fn(|operation| {
            let bucket = Bucket::full(*limits.rate.of(operation), now);
            let breaker = Breaker::closed(limits.unavailable_in_a_row, limits.open_for);
            Mutex::new(Gate { bucket, breaker, throttled_in_a_row: 0 })
        });
        Limiter { limits, chance, gates }
    }

    fn gate(&self, call: Call<'_>) -> MutexGuard<'_, Gate> {
        self.gates.of(call.operation).lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn, or says why there is none.
    async fn before(&self, call: Call<'_>) -> Result<(), ProviderError> {
        // Before waiting for a turn, so that nobody waits in vain; and again after it, because much may have happened.
        if let Some(wait) = self.gate(call).breaker.closed_to_calls(Instant::now()) {
            return Err(resting(call, wait));
        }
        loop {
            let turn = self.gate(call).bucket.take(Instant::now(), self.limits.longest_wait);
            match turn {
                Turn::Now => break,
                // The cloud may have said "too often" meanwhile: then the turn was lost, and is asked for again.
                Turn::After(wait) => {
                    tokio::time::sleep(wait).await;
                    if !self.gate(call).bucket.is_paused(Instant::now()) {
                        break;
                    }
                }
                Turn::TooLate(wait) => {
                    held_back(call, "Throttled");
                    // All who are turned away now would come back together.
                    let retry_after = Some(wait + up_to(&*self.chance, self.limits.backoff.0));
                    return Err(ProviderError::Throttled { doing: call.to_string(), retry_after });
                }
            }
        }
        self.gate(call).breaker.pass(Instant::now()).map_err(|wait| resting(call, wait))
    }

    /// Learns from a result; a throttled caller is told the pause that was decided on.
    fn after<T>(&self, call: Call<'_>, sent: Instant, result: Result<T, ProviderError>) -> Result<T, ProviderError> {
        let now = Instant::now();
        let mut gate = self.gate(call);
        gate.breaker.learn(result.as_ref().err(), now);
        let Err(ProviderError::Throttled { doing, retry_after }) = result else {
            // Uncertain and unavailable say nothing about how often we may ask.
            if !matches!(result, Err(ProviderError::Uncertain { .. } | ProviderError::Unavailable { .. })) {
                gate.throttled_in_a_row = 0;
                gate.bucket.speed_up();
            }
            return result;
        };
        if gate.bucket.slow_down(sent, now) {
            gate.throttled_in_a_row = gate.throttled_in_a_row.saturating_add(1);
        }
        let pause = self.pause(retry_after, gate.throttled_in_a_row);
        gate.bucket.pause_until(now + pause);
        Err(ProviderError::Throttled { doing, retry_after: Some(pause) })
    }

    fn pause(&self, asked_for: Option<Duration>, in_a_row: u32) -> Duration {
        let (first, most) = self.limits.backoff;
        match asked_for {
            // Never earlier than asked for, and not all processes at the same moment.
            Some(least) => least + up_to(&*self.chance, first),
            None => {
                let doubled = first.saturating_mul(1_u32.checked_shl(in_a_row.saturating_sub(1)).unwrap_or(u32::MAX));
                up_to(&*self.chance, doubled.min(most))
            }
        }
    }
}

impl Around for Limiter {
    async fn around<T: Send>(
        &self,
        call: Call<'_>,
        work: impl Future<Output = Result<T, ProviderError>> + Send,
    ) -> Result<T, ProviderError> {
        self.before(call).await?;
        let sent = Instant::now();
        let result = work.await;
        self.after(call, sent, result)
    }
}

fn resting(call: Call<'_>, wait: Duration) -> ProviderError {
    held_back(call, "Unavailable");
    let why = format!("it was not available lately, and is tried again in {} s", wait.as_secs().max(1));
    ProviderError::Unavailable { doing: call.to_string(), why }
}

fn held_back(call: Call<'_>, reason: &'static str) {
    let (provider, operation) = (call.provider, call.operation.as_str());
    metrics::counter!(HELD_BACK, "provider" => provider, "operation" => operation, "reason" => reason).increment(1);
}
