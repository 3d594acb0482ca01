//! Many callers at once before a cloud that allows less than the limits do: nobody is forgotten, and little is asked twice.

#![allow(clippy::unwrap_used)]

use async_trait::async_trait;
use core::time::Duration;
use model::{Ensured, Gone, Instance, InstanceKey, InstanceRequest, Offering, Owned, Progress, Rebooted};
use provider::contract::key;
use provider::{Change, Look, Provider, ProviderError, Retry, Settings, dressed};
use std::sync::{Arc, Mutex};
use tokio::time::Instant;

const CALLERS: u64 = 1000;

/// Counts requests, as clouds do: so many a second, and twenty at once. Who asks more often is told to wait.
#[derive(Clone)]
struct Narrow {
    /// A call is one request or a dozen, and one that is refused in the middle begins again.
    requests_a_call: u64,
    a_second: f64,
    retry_after: Option<Duration>,
    state: Arc<Mutex<State>>,
}

struct State {
    asked: u64,
    tokens: f64,
    at: Instant,
}

impl Narrow {
    fn new(requests_a_call: u64, a_second: f64, retry_after: Option<Duration>) -> Self {
        let state = State { asked: 0, tokens: 20.0, at: Instant::now() };
        Narrow { requests_a_call, a_second, retry_after, state: Arc::new(Mutex::new(state)) }
    }

    async fn answer<T>(&self, success: T) -> Result<T, ProviderError> {
        for _ in 0..self.requests_a_call {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let mut state = self.state.lock().unwrap();
            state.asked += 1;
            state.tokens = (state.tokens + state.at.elapsed().as_secs_f64() * self.a_second).min(20.0);
            state.at = Instant::now();
            if state.tokens < 1.0 {
                return Err(ProviderError::Throttled { doing: "x".into(), retry_after: self.retry_after });
            }
            state.tokens -= 1.0;
        }
        Ok(success)
    }
}

#[async_trait]
impl Look for Narrow {
    async fn offerings(&self) -> Result<Vec<Offering>, ProviderError> {
        self.answer(vec![]).await
    }

    async fn observe(&self, _: &InstanceKey) -> Result<Option<Instance>, ProviderError> {
        self.answer(None).await
    }

    async fn owned(&self) -> Result<Vec<Owned>, ProviderError> {
        self.answer(vec![]).await
    }
}

#[async_trait]
impl Change for Narrow {
    async fn ensure(&self, _: &InstanceRequest, _: Option<&Progress>) -> Result<Ensured, ProviderError> {
        self.answer(Ensured::InProgress { progress: Progress("p".into()), look_again_seconds: 1 }).await
    }

    async fn ensure_gone(&self, _: &InstanceKey, _: Option<&Progress>) -> Result<Gone, ProviderError> {
        self.answer(Gone::Confirmed).await
    }

    async fn reboot(&self, _: &InstanceKey, _: &str) -> Result<Rebooted, ProviderError> {
        self.answer(Rebooted::Issued).await
    }
}

impl Provider for Narrow {
    fn name(&self) -> &'static str {
        "narrow"
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_callers_under_throttling_cost_at_most_a_fifth_more_requests_than_callers() {
    // The cloud itself needs 196 s for them.
    check(Narrow::new(1, 5.0, Some(Duration::from_secs(10))), 600).await;
}

#[tokio::test(start_paused = true)]
async fn calls_of_many_requests_get_through_where_only_some_of_them_fit_at_the_same_time() {
    // The cloud itself needs 600 s for them, and does not say how long to wait.
    check(Narrow::new(12, 20.0, None), 1800).await;
}

/// All callers at once, each until it is served. It may cost a fifth more requests than without throttling, and so many seconds.
async fn check(narrow: Narrow, most_seconds: u64) {
    let least = CALLERS * narrow.requests_a_call;
    let state = narrow.state.clone();
    let numbers = Mutex::new(0x9e37_79b9_7f4a_7c15_u64);
    let chance = Arc::new(move || {
        let mut number = numbers.lock().unwrap();
        *number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *number >> 11
    });
    let dressed = dressed(narrow, Settings { chance, ..Settings::default() });
    let began = Instant::now();
    let callers: Vec<_> = (0..CALLERS)
        .map(|number| {
            let dressed = dressed.clone();
            tokio::spawn(async move {
                while let Err(error) = dressed.ensure_gone(&key(number), None).await {
                    match error.retry() {
                        Retry::SameAfter(wait) => tokio::time::sleep(wait).await,
                        other => return Err(format!("{other:?} after {error}")),
                    }
                }
                Ok(())
            })
        })
        .collect();
    for caller in callers {
        assert_eq!(caller.await.unwrap(), Ok(()));
    }
    let asked = state.lock().unwrap().asked;
    println!("{asked} requests in {:?}", began.elapsed());
    assert!(asked * 5 <= least * 6, "{asked} requests where {least} are enough");
    assert!(began.elapsed() < Duration::from_secs(most_seconds), "it took {:?}", began.elapsed());
}
