//! A thousand claims at once before clouds that answer 429: how much more is asked than without.

use model::{Ensured, InstanceRequest};
use provider::{Provider, Retry, Settings, dressed};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

use super::clouds::Stage;
use super::wire::Counts;
use crate::Result;

/// What a burst took.
pub struct Burst {
    pub counts: Counts,
    /// Of simulated time.
    pub took: Duration,
}

/// Brings every claim of a stage to life at the same time, by way of the dressed provider, as its caller would.
pub async fn run(stage: Stage) -> Result<Burst> {
    let Stage { world: _world, wire, provider, requests } = stage;
    let provider = dressed(provider, Settings { chance: Arc::new(chance()), ..Settings::default() });
    let (began, before) = (Instant::now(), wire.counts());
    let callers: Vec<_> = requests.into_iter().map(|request| tokio::spawn(drive(provider.clone(), request))).collect();
    for caller in callers {
        caller.await??;
    }
    let after = wire.counts();
    let counts = Counts { requests: after.requests - before.requests, throttled: after.throttled - before.throttled };
    Ok(Burst { counts, took: began.elapsed() })
}

async fn drive(provider: Arc<dyn Provider>, request: InstanceRequest) -> std::result::Result<(), String> {
    let mut progress = None;
    loop {
        match provider.ensure(&request, progress.as_ref()).await {
            Ok(Ensured::Running(_)) => return Ok(()),
            Ok(Ensured::InProgress { progress: now, look_again_seconds }) => {
                progress = Some(now);
                tokio::time::sleep(Duration::from_secs(u64::from(look_again_seconds))).await;
            }
            Err(error) => match error.retry() {
                Retry::SameAfter(wait) => tokio::time::sleep(wait).await,
                Retry::ReadBack => tokio::time::sleep(Duration::from_secs(1)).await,
                Retry::NextOffering | Retry::Never => return Err(error.to_string()),
            },
        }
    }
}

/// The same numbers in every run, so that the same requests are counted.
fn chance() -> impl Fn() -> u64 + Send + Sync {
    let last = std::sync::atomic::AtomicU64::new(0);
    move || {
        // SplitMix64.
        let step = 0x9e37_79b9_7f4a_7c15_u64;
        let mut number = last.fetch_add(step, std::sync::atomic::Ordering::Relaxed).wrapping_add(step);
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }
}
