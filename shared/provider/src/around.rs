//! What all decorators share: one call of a provider, and a wrapper that puts something around each of them.

use async_trait::async_trait;
use core::{fmt, future::Future};
use model::{Ensured, Gone, Instance, InstanceKey, InstanceRequest, Offering, Owned, Progress, Rebooted};
use std::sync::Arc;

use crate::{Change, Look, Provider, ProviderError};

/// The methods of the port, as data: limits, time-outs and metrics go by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    Offerings,
    Observe,
    Owned,
    /// The first call for a machine.
    Ensure,
    /// The first call for its end.
    EnsureGone,
    /// Every later call of both: most of these only look how far a machine has come.
    GoOn,
    Reboot,
}

impl Operation {
    pub const ALL: [Operation; 7] = [
        Operation::Offerings,
        Operation::Observe,
        Operation::Owned,
        Operation::Ensure,
        Operation::EnsureGone,
        Operation::GoOn,
        Operation::Reboot,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Offerings => "offerings",
            Operation::Observe => "observe",
            Operation::Owned => "owned",
            Operation::Ensure => "ensure",
            Operation::EnsureGone => "ensure_gone",
            Operation::GoOn => "go_on",
            Operation::Reboot => "reboot",
        }
    }

    /// Whether a call that got no answer may have done something.
    pub fn changes(self) -> bool {
        match self {
            Operation::Offerings | Operation::Observe | Operation::Owned => false,
            Operation::Ensure | Operation::EnsureGone | Operation::GoOn | Operation::Reboot => true,
        }
    }
}

/// One value for each operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerOperation<T> {
    pub offerings: T,
    pub observe: T,
    pub owned: T,
    pub ensure: T,
    pub ensure_gone: T,
    pub go_on: T,
    pub reboot: T,
}

impl<T> PerOperation<T> {
    pub fn from_fn(mut make: impl FnMut(Operation) -> T) -> Self {
        PerOperation {
            offerings: make(Operation::Offerings),
            observe: make(Operation::Observe),
            owned: make(Operation::Owned),
            ensure: make(Operation::Ensure),
            ensure_gone: make(Operation::EnsureGone),
            go_on: make(Operation::GoOn),
            reboot: make(Operation::Reboot),
        }
    }

    pub fn of(&self, operation: Operation) -> &T {
        match operation {
            Operation::Offerings => &self.offerings,
            Operation::Observe => &self.observe,
            Operation::Owned => &self.owned,
            Operation::Ensure => &self.ensure,
            Operation::EnsureGone => &self.ensure_gone,
            Operation::GoOn => &self.go_on,
            Operation::Reboot => &self.reboot,
        }
    }
}

/// One call, as far as a decorator looks at it. Requests and progress are absent on purpose: they may hold what must not
/// be logged.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    pub provider: &'static str,
    pub operation: Operation,
    pub key: Option<&'a InstanceKey>,
}

/// As the `doing` of an error: `ensure train-0 at aks`.
impl fmt::Display for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key {
            Some(key) => write!(f, "{} {} at {}", self.operation.as_str(), key.name, self.provider),
            None => write!(f, "{} at {}", self.operation.as_str(), self.provider),
        }
    }
}

/// What a decorator does around a call. It runs `work` once or not at all: repeating is the caller's business.
pub trait Around: Send + Sync {
    fn around<T: Send>(
        &self,
        call: Call<'_>,
        work: impl Future<Output = Result<T, ProviderError>> + Send,
    ) -> impl Future<Output = Result<T, ProviderError>> + Send;
}

/// A provider with something around it; itself a provider.
#[derive(Debug, Clone)]
pub struct Wrapped<P, A> {
    inner: P,
    around: A,
}

impl<P: Provider, A: Around> Wrapped<P, A> {
    pub fn new(inner: P, around: A) -> Self {
        Wrapped { inner, around }
    }

    fn call<'a>(&self, operation: Operation, key: Option<&'a InstanceKey>) -> Call<'a> {
        Call { provider: self.inner.name(), operation, key }
    }
}

#[async_trait]
impl<P: Provider, A: Around> Look for Wrapped<P, A> {
    async fn offerings(&self) -> Result<Vec<Offering>, ProviderError> {
        self.around.around(self.call(Operation::Offerings, None), self.inner.offerings()).await
    }

    async fn observe(&self, key: &InstanceKey) -> Result<Option<Instance>, ProviderError> {
        self.around.around(self.call(Operation::Observe, Some(key)), self.inner.observe(key)).await
    }

    async fn owned(&self) -> Result<Vec<Owned>, ProviderError> {
        self.around.around(self.call(Operation::Owned, None), self.inner.owned()).await
    }
}

#[async_trait]
impl<P: Provider, A: Around> Change for Wrapped<P, A> {
    async fn ensure(&self, request: &InstanceRequest, progress: Option<&Progress>) -> Result<Ensured, ProviderError> {
        let operation = progress.map_or(Operation::Ensure, |_| Operation::GoOn);
        let call = self.call(operation, Some(&request.key));
        self.around.around(call, self.inner.ensure(request, progress)).await
    }

    async fn ensure_gone(&self, key: &InstanceKey, progress: Option<&Progress>) -> Result<Gone, ProviderError> {
        let operation = progress.map_or(Operation::EnsureGone, |_| Operation::GoOn);
        let call = self.call(operation, Some(key));
        self.around.around(call, self.inner.ensure_gone(key, progress)).await
    }

    async fn reboot(&self, key: &InstanceKey, operation: &str) -> Result<Rebooted, ProviderError> {
        let call = self.call(Operation::Reboot, Some(key));
        self.around.around(call, self.inner.reboot(key, operation)).await
    }
}

impl<P: Provider, A: Around> Provider for Wrapped<P, A> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn can_reboot(&self) -> bool {
        self.inner.can_reboot()
    }
}

// So that an `Arc<dyn Provider>` can be wrapped like any other.

#[async_trait]
impl<P: Look + ?Sized> Look for Arc<P> {
    async fn offerings(&self) -> Result<Vec<Offering>, ProviderError> {
        (**self).offerings().await
    }

    async fn observe(&self, key: &InstanceKey) -> Result<Option<Instance>, ProviderError> {
        (**self).observe(key).await
    }

    async fn owned(&self) -> Result<Vec<Owned>, ProviderError> {
        (**self).owned().await
    }
}

#[async_trait]
impl<P: Change + ?Sized> Change for Arc<P> {
    async fn ensure(&self, request: &InstanceRequest, progress: Option<&Progress>) -> Result<Ensured, ProviderError> {
        (**self).ensure(request, progress).await
    }

    async fn ensure_gone(&self, key: &InstanceKey, progress: Option<&Progress>) -> Result<Gone, ProviderError> {
        (**self).ensure_gone(key, progress).await
    }

    async fn reboot(&self, key: &InstanceKey, operation: &str) -> Result<Rebooted, ProviderError> {
        (**self).reboot(key, operation).await
    }
}

impl<P: Provider + ?Sized> Provider for Arc<P> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn can_reboot(&self) -> bool {
        (**self).can_reboot()
    }
}
