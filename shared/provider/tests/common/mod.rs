//! A provider that answers what the test says.

#![allow(dead_code, reason = "no test needs all of it")]

use async_trait::async_trait;
use core::time::Duration;
use model::{Ensured, Gone, Instance, InstanceKey, InstanceRequest, Offering, Owned, Progress, Rebooted};
use provider::{Change, Look, Provider, ProviderError};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};
use tokio::time::Instant;

/// Answers `observe` and `ensure_gone` from a list, then with success; remembers when it was asked.
#[derive(Clone, Default)]
pub struct Scripted {
    pub errors: Arc<Mutex<VecDeque<ProviderError>>>,
    pub asked: Arc<Mutex<Vec<Instant>>>,
    pub takes: Duration,
}

impl Scripted {
    pub fn new(errors: impl IntoIterator<Item = ProviderError>) -> Self {
        Scripted { errors: Arc::new(Mutex::new(errors.into_iter().collect())), ..Scripted::default() }
    }

    async fn answer<T>(&self, success: T) -> Result<T, ProviderError> {
        self.asked.lock().unwrap().push(Instant::now());
        tokio::time::sleep(self.takes).await;
        self.errors.lock().unwrap().pop_front().map_or(Ok(success), Err)
    }

    pub fn times_asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    pub fn seconds_since(&self, began: Instant) -> Vec<u64> {
        self.asked.lock().unwrap().iter().map(|at| at.duration_since(began).as_secs()).collect()
    }
}

#[async_trait]
impl Look for Scripted {
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
impl Change for Scripted {
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

impl Provider for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }
}

pub fn unavailable() -> ProviderError {
    ProviderError::Unavailable { doing: "x".into(), why: "down".into() }
}

pub fn throttled(seconds: Option<u64>) -> ProviderError {
    ProviderError::Throttled { doing: "x".into(), retry_after: seconds.map(Duration::from_secs) }
}
