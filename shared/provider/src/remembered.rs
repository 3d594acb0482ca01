//! What is sold, remembered for a moment: every decision and every claim asks for it, and the answer is the same for all of them.

use async_trait::async_trait;
use core::time::Duration;
use futures_util::future::{BoxFuture, FutureExt as _, Shared};
use model::{Ensured, Gone, Instance, InstanceKey, InstanceRequest, Offering, Owned, Progress, Rebooted};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::{Change, Look, Provider, ProviderError};

/// A list that was not renewed for so long is not worth having.
const LONGEST: Duration = Duration::from_secs(600);

type Sold = Result<Vec<Offering>, ProviderError>;

/// A provider that is not asked twice at a time, nor again within a moment, what it sells. Everything else passes.
pub struct Remembered<P> {
    inner: Arc<P>,
    fresh_for: Duration,
    memory: Arc<Mutex<Memory>>,
}

#[derive(Default)]
struct Memory {
    last: Option<(Instant, Vec<Offering>)>,
    /// While the provider is asked: whoever comes meanwhile gets the same answer.
    asking: Option<Shared<BoxFuture<'static, Sold>>>,
}

impl<P> Remembered<P> {
    pub fn new(inner: P, fresh_for: Duration) -> Self {
        Remembered { inner: Arc::new(inner), fresh_for, memory: Arc::default() }
    }
}

impl Memory {
    fn known(&self, longest: Duration) -> Option<Vec<Offering>> {
        self.last.as_ref().filter(|(at, _)| at.elapsed() < longest).map(|(_, offerings)| offerings.clone())
    }
}

fn locked(memory: &Mutex<Memory>) -> MutexGuard<'_, Memory> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<P: Provider + 'static> Remembered<P> {
    /// The question that is under way, or a new one. It goes on when nobody waits for it any more: what comes late serves whoever
    /// asks next.
    fn ask(&self, memory: &mut Memory) -> Shared<BoxFuture<'static, Sold>> {
        if let Some(asking) = memory.asking.as_ref().filter(|asking| asking.peek().is_none()) {
            return asking.clone();
        }
        let (inner, shared) = (self.inner.clone(), self.memory.clone());
        let question = tokio::spawn(async move { ask_and_remember(&*inner, &shared).await }.in_current_span());
        let name = self.inner.name();
        let asking = async move {
            question.await.unwrap_or_else(|error| {
                Err(ProviderError::Unavailable {
                    doing: format!("asking {name} what it offers"),
                    why: error.to_string(),
                })
            })
        };
        let asking = asking.boxed().shared();
        memory.asking = Some(asking.clone());
        asking
    }
}

async fn ask_and_remember(inner: &impl Provider, memory: &Mutex<Memory>) -> Sold {
    match inner.offerings().await {
        Ok(offerings) => {
            locked(memory).last = Some((Instant::now(), offerings.clone()));
            Ok(offerings)
        }
        // What was sold a few minutes ago is better than nothing: nobody can be asked for a machine by no name.
        Err(error @ (ProviderError::Throttled { .. } | ProviderError::Unavailable { .. })) => {
            locked(memory).known(LONGEST).ok_or(error)
        }
        Err(error) => Err(error),
    }
}

#[async_trait]
impl<P: Provider + 'static> Look for Remembered<P> {
    async fn offerings(&self) -> Sold {
        if self.fresh_for.is_zero() {
            return self.inner.offerings().await;
        }
        let asking = {
            let mut memory = locked(&self.memory);
            if let Some(fresh) = memory.known(self.fresh_for) {
                return Ok(fresh);
            }
            self.ask(&mut memory)
        };
        asking.await
    }

    async fn observe(&self, key: &InstanceKey) -> Result<Option<Instance>, ProviderError> {
        self.inner.observe(key).await
    }

    async fn owned(&self) -> Result<Vec<Owned>, ProviderError> {
        self.inner.owned().await
    }
}

#[async_trait]
impl<P: Provider + 'static> Change for Remembered<P> {
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

impl<P: Provider + 'static> Provider for Remembered<P> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn can_reboot(&self) -> bool {
        self.inner.can_reboot()
    }
}
