//! The fake cloud under the contract suite: what a real provider's test does over the world's double of its cloud.

use async_trait::async_trait;
use core::time::Duration;
use model::{InstanceKey, Offering};
use std::sync::Arc;

use super::cloud::{FakeCloud, Kind, offering, scope_of_refusal};
use super::{Fake, Thing};
use crate::Provider;
use crate::contract::{Fault, Foreign, Request, Subject, Unobtainable, key};

#[async_trait]
impl Subject for FakeCloud {
    async fn provider(&self) -> Arc<dyn Provider> {
        Arc::new(Fake::new(self.clone()))
    }

    fn fresh_key(&self) -> InstanceKey {
        let mut state = self.state();
        state.numbers += 1;
        key(state.numbers)
    }

    fn obtainable(&self) -> Offering {
        offering("small")
    }

    fn without_stock(&self) -> Option<Unobtainable> {
        unobtainable("empty")
    }

    fn over_quota(&self) -> Option<Unobtainable> {
        unobtainable("large")
    }

    async fn advance(&self, by: Duration) {
        tokio::time::sleep(by).await;
    }

    async fn live(&self, key: &InstanceKey) -> usize {
        self.things().iter().filter(|thing| thing.kind == Kind::Server && thing.is_of(key)).count()
    }

    async fn boots(&self, key: &InstanceKey) -> Option<u32> {
        self.things().iter().find(|thing| thing.kind == Kind::Server && thing.is_of(key)).map(|server| server.boots)
    }

    async fn billed(&self, key: &InstanceKey) -> Vec<String> {
        self.things().iter().filter(|thing| thing.is_of(key)).map(Thing::to_string).collect()
    }

    async fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    async fn inject(&self, fault: Fault) {
        self.state().faults.push(fault);
    }

    async fn plant_foreign(&self, key: &InstanceKey) -> Foreign {
        let id = offering("small").id;
        self.state().add(Kind::Server, key.name.as_str(), None, Some(id));
        Foreign::TakesTheName
    }

    async fn foreign(&self, key: &InstanceKey) -> String {
        let things = self.things();
        let foreign = things.iter().filter(|thing| thing.owner.is_none() && thing.name == key.name.as_str());
        format!("{:?}", foreign.collect::<Vec<_>>())
    }
}

fn unobtainable(size: &str) -> Option<Unobtainable> {
    let offering = offering(size);
    Some(Unobtainable { scope: scope_of_refusal(&offering.id)?, offering })
}
