//! What is sold, remembered for a moment: every decision and every claim asks for it, and the answer is the same for all of them.

use async_trait::async_trait;
use core::time::Duration;
use model::{Ensured, Gone, Instance, InstanceKey, InstanceRequest, Offering, Owned, Progress, Rebooted};
use tokio::{sync::Mutex, time::Instant};

use crate::{Change, Look, Provider, ProviderError};

/// A list that was not renewed for so long is not worth having.
const LONGEST: Duration = Duration::from_secs(600);

/// A provider that is not asked twice at a time, nor again within a moment, what it sells. Everything else passes.
pub struct Remembered<P> {
    inner: P,
    fresh_for: Duration,
    /// Held while the provider is asked: whoever comes meanwhile gets the same answer.
    last: Mutex<Option<(Instant, Vec<Offering>)>>,
}

impl<P> Remembered<P> {
    pub fn new(inner: P, fresh_for: Duration) -> Self {
        Remembered { inner, fresh_for, last: Mutex::new(None) }
    }
}

fn known(last: &Option<(Instant, Vec<Offering>)>, longest: Duration) -> Option<Vec<Offering>> {
    last.as_ref().filter(|(at, _)| at.elapsed() < longest).map(|(_, offerings)| offerings.clone())
}

#[async_trait]
impl<P: Provider> Look for Remembered<P> {
    async fn offerings(&self) -> Result<Vec<Offering>, ProviderError> {
        let mut last = self.last.lock().await;
        if let Some(fresh) = known(&last, self.fresh_for) {
            return Ok(fresh);
        }
        match self.inner.offerings().await {
            Ok(offerings) => {
                *last = Some((Instant::now(), offerings.clone()));
                Ok(offerings)
            }
            // What was sold a few minutes ago is better than nothing: nobody can be asked for a machine by no name.
            Err(error @ (ProviderError::Throttled { .. } | ProviderError::Unavailable { .. })) => {
                known(&last, LONGEST).ok_or(error)
            }
            Err(error) => Err(error),
        }
    }

    async fn observe(&self, key: &InstanceKey) -> Result<Option<Instance>, ProviderError> {
        self.inner.observe(key).await
    }

    async fn owned(&self) -> Result<Vec<Owned>, ProviderError> {
        self.inner.owned().await
    }
}

#[async_trait]
impl<P: Provider> Change for Remembered<P> {
    async fn ensure(&self, request: &InstanceRequest, progress: Option<&Progress>) -> Result<Ensured, ProviderError> {
        self.inner.ensure(request, progress).await
    }

    async fn ensure_gone(&self, key: &InstanceKey, progress: Option<&Progress>) -> Result<Gone, ProviderError> {
        self.inner.ensure_gone(key, progress).await
    }

    async fn reboot(&self, key: &InstanceKey, operation: &str) -> Result<Rebooted, ProviderError> {
        self.inner.reboot(key, operation).await
    }
}

impl<P: Provider> Provider for Remembered<P> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn can_reboot(&self) -> bool {
        self.inner.can_reboot()
    }
}
