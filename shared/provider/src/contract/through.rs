//! The same subject with something around its provider: the suite over decorators, or over a provider made worse.

use async_trait::async_trait;
use core::time::Duration;
use model::{InstanceKey, InstanceRequest, Offering};
use std::sync::Arc;

use super::{Fault, Foreign, Mishap, Request, Subject, Unobtainable};
use crate::Provider;

/// `around` is put around every provider that `subject` makes.
pub struct Through<S, F> {
    pub subject: S,
    pub around: F,
}

#[async_trait]
impl<S: Subject, F: Fn(Arc<dyn Provider>) -> Arc<dyn Provider> + Send + Sync> Subject for Through<S, F> {
    async fn provider(&self) -> Arc<dyn Provider> {
        (self.around)(self.subject.provider().await)
    }

    fn fresh_key(&self) -> InstanceKey {
        self.subject.fresh_key()
    }

    fn obtainable(&self) -> Offering {
        self.subject.obtainable()
    }

    fn without_stock(&self) -> Option<Unobtainable> {
        self.subject.without_stock()
    }

    fn over_quota(&self) -> Option<Unobtainable> {
        self.subject.over_quota()
    }

    fn request(&self, key: InstanceKey, offering: Offering, epoch: u32) -> InstanceRequest {
        self.subject.request(key, offering, epoch)
    }

    async fn advance(&self, by: Duration) {
        self.subject.advance(by).await;
    }

    async fn live(&self, key: &InstanceKey) -> usize {
        self.subject.live(key).await
    }

    async fn boots(&self, key: &InstanceKey) -> Option<u32> {
        self.subject.boots(key).await
    }

    async fn billed(&self, key: &InstanceKey) -> Vec<String> {
        self.subject.billed(key).await
    }

    async fn requests(&self) -> Vec<Request> {
        self.subject.requests().await
    }

    async fn inject(&self, fault: Fault) {
        self.subject.inject(fault).await;
    }

    async fn plant_foreign(&self, key: &InstanceKey) -> Foreign {
        self.subject.plant_foreign(key).await
    }

    async fn foreign(&self, key: &InstanceKey) -> String {
        self.subject.foreign(key).await
    }

    fn mishaps(&self) -> Vec<Mishap> {
        self.subject.mishaps()
    }

    fn crowd(&self) -> usize {
        self.subject.crowd()
    }
}
