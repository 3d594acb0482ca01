//! The suite sees what it is for: each provider here has one bad habit, most of them known from other controllers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use async_trait::async_trait;
use model::{
    Ensured, Gone, Instance, InstanceKey, InstanceRequest, InstanceState, Offering, Owned, Progress, Rebooted,
};
use provider::contract::{Case, Failures, Through, run};
use provider::fake::{FakeCloud, Kind, Thing};
use provider::{Change, Look, Provider, ProviderError, Scope};
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Habit {
    /// Makes one whenever it has no progress to go by.
    CreatesTwice,
    AdoptsForeign,
    DeletesForeign,
    ForgetsAVolume,
    LeavesAVolumeOnCapacityFailure,
    WrongScope,
    TreatsUncertainAsNoStock,
    TreatsUncertainAsNothingDone,
    ConfirmsGoneTooEarly,
    /// Does not know what another handle began.
    NeedsItsMemory,
    /// Answers with whatever runs.
    SharesWhatRuns,
    CannotFindToObserve,
    ForgetsTheLastPage,
    OwnsEverything,
    OwnsOnlyInstances,
    RepeatsWhenThrottled,
    ForgetsHowLongItIsThrottled,
    TellsNoOfferings,
    RebootsEveryTime,
    SaysThatItReboots,
    MakesAnyType,
}

struct Broken {
    inner: Arc<dyn Provider>,
    cloud: FakeCloud,
    habit: Habit,
    calls: AtomicU32,
}

impl Broken {
    fn servers(&self) -> Vec<Thing> {
        self.cloud.things().into_iter().filter(|thing| thing.kind == Kind::Server).collect()
    }

    fn foreign(&self, key: &InstanceKey) -> Option<Thing> {
        self.servers().into_iter().find(|server| server.owner.is_none() && server.name == key.name.as_str())
    }
}

#[async_trait]
impl Look for Broken {
    async fn offerings(&self) -> Result<Vec<Offering>, ProviderError> {
        let offerings = self.inner.offerings().await?;
        Ok(if self.habit == Habit::TellsNoOfferings { vec![] } else { offerings })
    }

    async fn observe(&self, key: &InstanceKey) -> Result<Option<Instance>, ProviderError> {
        match self.inner.observe(key).await {
            Err(_) if self.habit == Habit::CannotFindToObserve => Ok(None),
            result => result,
        }
    }

    async fn owned(&self) -> Result<Vec<Owned>, ProviderError> {
        match (self.habit, self.inner.owned().await) {
            (Habit::ForgetsTheLastPage, Ok(mut owned)) => {
                owned.truncate(owned.len().saturating_sub(3));
                Ok(owned)
            }
            (Habit::OwnsEverything, Ok(mut owned)) => {
                let strange = self.servers().into_iter().filter(|server| server.owner.is_none());
                let key = provider::contract::key(999);
                owned.extend(strange.map(|it| Owned {
                    key: key.clone(),
                    instance: None,
                    what: it.to_string(),
                    is_of_this_cluster: true,
                }));
                Ok(owned)
            }
            (Habit::OwnsOnlyInstances, Ok(owned)) => {
                Ok(owned.into_iter().filter(|owned| owned.instance.is_some()).collect())
            }
            (_, result) => result,
        }
    }
}

#[async_trait]
impl Change for Broken {
    async fn ensure(&self, request: &InstanceRequest, progress: Option<&Progress>) -> Result<Ensured, ProviderError> {
        let key = &request.key;
        let first_call = self.calls.fetch_add(1, Ordering::SeqCst) == 0;
        let runs = self.servers().into_iter().find(|server| server.owner.is_some() && !server.is_of(key));
        if let (Habit::SharesWhatRuns, Some(server)) = (self.habit, runs) {
            return Ok(Ensured::Running(Instance { state: InstanceState::Running, ..server.instance() }));
        }
        let again = match self.habit {
            Habit::CreatesTwice => progress.is_none(),
            Habit::NeedsItsMemory => first_call,
            _ => false,
        };
        if again && !self.servers().is_empty() {
            let name = format!("{}-{}", key.name, self.servers().len());
            self.cloud.create_server_named(&name, key, &request.offering.id)?;
        }
        let mut request = request.clone();
        if self.habit == Habit::MakesAnyType {
            request.offering.id.instance_type = request.offering.id.instance_type.replace("no-such-type", "small");
        }
        let result = self.inner.ensure(&request, progress).await;
        match (self.habit, result) {
            (Habit::AdoptsForeign, Err(ProviderError::Conflict { doing, what })) => {
                let foreign = self.foreign(key).ok_or(ProviderError::Conflict { doing, what })?;
                Ok(Ensured::Running(Instance { state: InstanceState::Running, ..foreign.instance() }))
            }
            (Habit::LeavesAVolumeOnCapacityFailure, Err(error @ ProviderError::InsufficientCapacity { .. })) => {
                self.cloud.create_volume(key)?;
                Err(error)
            }
            (Habit::WrongScope, Err(ProviderError::InsufficientCapacity { doing, .. })) => {
                Err(ProviderError::InsufficientCapacity { doing, scope: Scope::Provider { provider: "fake".into() } })
            }
            (Habit::TreatsUncertainAsNoStock, Err(ProviderError::Uncertain { doing, .. })) => {
                let scope = Scope::Offering(request.offering.id.clone());
                Err(ProviderError::InsufficientCapacity { doing, scope })
            }
            (Habit::TreatsUncertainAsNothingDone, Err(ProviderError::Uncertain { doing, why })) => {
                Err(ProviderError::Unavailable { doing, why })
            }
            (Habit::RepeatsWhenThrottled, Err(ProviderError::Throttled { .. })) => {
                self.inner.ensure(&request, progress).await
            }
            (Habit::ForgetsHowLongItIsThrottled, Err(ProviderError::Throttled { doing, .. })) => {
                Err(ProviderError::Throttled { doing, retry_after: None })
            }
            (_, result) => result,
        }
    }

    async fn ensure_gone(&self, key: &InstanceKey, progress: Option<&Progress>) -> Result<Gone, ProviderError> {
        if self.habit == Habit::ForgetsAVolume && !self.servers().iter().any(|server| server.is_of(key)) {
            return Ok(Gone::Confirmed);
        }
        match (self.habit, self.inner.ensure_gone(key, progress).await) {
            (Habit::ConfirmsGoneTooEarly, Ok(Gone::InProgress { .. })) => Ok(Gone::Confirmed),
            (Habit::DeletesForeign, Err(ProviderError::Conflict { doing, what })) => {
                let foreign = self.foreign(key).ok_or(ProviderError::Conflict { doing, what })?;
                self.cloud.delete(foreign.id)?;
                Ok(Gone::Confirmed)
            }
            (_, result) => result,
        }
    }

    async fn reboot(&self, key: &InstanceKey, operation: &str) -> Result<Rebooted, ProviderError> {
        let operation = match self.habit {
            // Another one each time, on whatever machine it is asked.
            Habit::RebootsEveryTime => format!("{operation}-{:?}", tokio::time::Instant::now()),
            _ => operation.to_owned(),
        };
        match (self.habit, self.inner.reboot(key, &operation).await) {
            (Habit::SaysThatItReboots, Ok(Rebooted::Issued | Rebooted::NotAble { .. })) => Ok(Rebooted::Issued),
            (_, result) => result,
        }
    }
}

impl Provider for Broken {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn can_reboot(&self) -> bool {
        self.inner.can_reboot()
    }
}

async fn failures(habit: Habit) -> Option<Failures> {
    let make = async || {
        let cloud = FakeCloud::default();
        let around = {
            let cloud = cloud.clone();
            move |inner| -> Arc<dyn Provider> {
                Arc::new(Broken { inner, cloud: cloud.clone(), habit, calls: AtomicU32::new(0) })
            }
        };
        Through { subject: cloud, around }
    };
    run(make).await.err()
}

/// The habit is caught by this case, and the failure says so in these words.
async fn check(habit: Habit, case: Case, words: &str) {
    let Some(failures) = failures(habit).await else { panic!("{habit:?} was not caught") };
    let caught = failures.0.iter().find(|failure| failure.case == case);
    let Some(caught) = caught else { panic!("{habit:?} was not caught by {case:?}, but:\n{failures}") };
    assert!(caught.to_string().contains(words), "{habit:?} was caught with other words than {words:?}:\n{caught}");
}

#[tokio::test(start_paused = true)]
async fn every_bad_habit_is_caught_by_the_case_that_is_meant_for_it() {
    let habits = [
        (Habit::CreatesTwice, Case::AlreadySoIsNotMadeTwice, "2 instances live under claim-1"),
        (Habit::CreatesTwice, Case::EveryFaultWhileMaking, "instances live under"),
        (Habit::NeedsItsMemory, Case::MakingGoesOnElsewhere, "on another machine each time"),
        (Habit::SharesWhatRuns, Case::TwoNeverShareOne, "0 instances live under claim-2"),
        (Habit::AdoptsForeign, Case::ForeignIsNotTouched, "ensure ended in Reached"),
        (Habit::DeletesForeign, Case::ForeignIsNotTouched, "and is now"),
        (Habit::ForgetsAVolume, Case::RemovingLeavesNothingBilled, "left and billed: volume"),
        (Habit::LeavesAVolumeOnCapacityFailure, Case::NoStockLeavesNothing, "left and billed: volume"),
        (Habit::WrongScope, Case::NoStockLeavesNothing, "the scope should be"),
        (Habit::TreatsUncertainAsNoStock, Case::EveryFaultWhileMaking, "it can be had, but ensure answered"),
        (Habit::TreatsUncertainAsNoStock, Case::EveryFaultWhileThereIsNoStock, "left and billed: volume"),
        (Habit::TreatsUncertainAsNothingDone, Case::EveryFaultWhileMaking, "says that nothing was done"),
        (Habit::ConfirmsGoneTooEarly, Case::RemovingLeavesNothingBilled, "answered Confirmed"),
        (Habit::CannotFindToObserve, Case::NoneIsAProof, "says that there is none"),
        (Habit::ForgetsTheLastPage, Case::OwnedIsCompleteAndOnlyOurs, "ours, and not told"),
        (Habit::OwnsEverything, Case::OwnedIsCompleteAndOnlyOurs, "told, and not ours"),
        (Habit::OwnsOnlyInstances, Case::LeftOversAreOwned, "billed, and not owned"),
        (Habit::RepeatsWhenThrottled, Case::ThrottlingIsObeyed, "more requests were sent in the same call"),
        (Habit::ForgetsHowLongItIsThrottled, Case::ThrottlingIsObeyed, "the cloud asked for 23s"),
        (Habit::TellsNoOfferings, Case::OfferingsAreNamedAndTold, "there are none, and no error"),
        (Habit::RebootsEveryTime, Case::RebootingIsDoneOnce, "nothing had to be changed"),
        (Habit::SaysThatItReboots, Case::RebootingIsDoneOnce, "nothing is there"),
        (Habit::MakesAnyType, Case::UnknownOfferingIsRefused, "InvalidRequest was expected"),
    ];
    for (habit, case, words) in habits {
        check(habit, case, words).await;
    }
}
