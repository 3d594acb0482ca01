//! What cannot be: somebody else's, no stock, no quota, no such thing. Each has its own error and leaves nothing.

use crate::{Look as _, ProviderError, Scope};

use super::creating::no_change_since;
use super::drive::{Checked, Drive, Ended, Memory, exactly, fail, holds};
use super::{Foreign, Outcome, Subject, Unobtainable};

pub(super) async fn foreign_is_not_touched<S: Subject>(subject: &S) -> Checked<Outcome> {
    let key = subject.fresh_key();
    let planted = subject.plant_foreign(&key).await;
    if let Foreign::CannotBe(why) = planted {
        return Ok(Outcome::Skipped(why));
    }
    let foreign = subject.foreign(&key).await;
    let request = subject.request(key.clone(), subject.obtainable(), 1);

    let provider = subject.provider().await;
    let step = "looking while only somebody else's is there";
    match provider.observe(&key).await {
        Ok(None) | Err(ProviderError::Conflict { .. }) => {}
        other => return Err(fail(step, format!("it is not ours, but observe answered {other:?}"))),
    }
    match provider.owned().await {
        Ok(owned) => holds(owned.is_empty(), step, || format!("nothing is ours, but owned answered {owned:?}"))?,
        Err(error) => return Err(fail(step, format!("nothing is wrong, but owned answered \"{error}\""))),
    }

    let making = Drive::new(subject, Memory::Kept, "making one where somebody else's is");
    let made = making.make(&request).await?;
    same_foreign(subject, &request.key, &foreign, &making.step).await?;
    match (planted, made) {
        (Foreign::TakesTheName, Ended::LetGo(ProviderError::Conflict { .. })) => {}
        (Foreign::OnlyLooksAlike, Ended::Reached(_)) => exactly(subject, &key, 1, &making.step).await?,
        (planted, made) => return Err(fail(&making.step, format!("{planted:?}, but ensure ended in {made:?}"))),
    }

    let removing = Drive::new(subject, Memory::Kept, "removing where somebody else's is");
    let removed = removing.remove(&key).await?;
    same_foreign(subject, &request.key, &foreign, &removing.step).await?;
    match (planted, removed) {
        (Foreign::TakesTheName, Ended::LetGo(ProviderError::Conflict { .. })) => {}
        (Foreign::OnlyLooksAlike, Ended::Reached(())) => {}
        (planted, removed) => {
            return Err(fail(&removing.step, format!("{planted:?}, but ensure_gone ended in {removed:?}")));
        }
    }
    Ok(Outcome::Passed)
}

pub(super) async fn no_stock_leaves_nothing<S: Subject>(subject: &S) -> Checked<Outcome> {
    match subject.without_stock() {
        Some(wanted) => cannot_be_had(subject, &wanted, "InsufficientCapacity").await,
        None => Ok(Outcome::Skipped("stock cannot run out here")),
    }
}

pub(super) async fn no_quota_leaves_nothing<S: Subject>(subject: &S) -> Checked<Outcome> {
    match subject.over_quota() {
        Some(wanted) => cannot_be_had(subject, &wanted, "QuotaExceeded").await,
        None => Ok(Outcome::Skipped("there is no quota here")),
    }
}

async fn cannot_be_had<S: Subject>(subject: &S, wanted: &Unobtainable, reason: &str) -> Checked<Outcome> {
    let key = subject.fresh_key();
    let request = subject.request(key.clone(), wanted.offering.clone(), 1);
    let drive = Drive::new(subject, Memory::Kept, "making what cannot be had");
    refused_for(wanted, reason, drive.make(&request).await?, &drive.step)?;
    // The same claim goes down its ladder: the next offering, the next epoch, the same key.
    let next = subject.request(key.clone(), subject.obtainable(), 2);
    Drive::new(subject, Memory::Kept, "making the next offering under the same key").must_run(&next).await?;
    Drive::new(subject, Memory::Kept, "removing it").must_go(&key).await?;
    Ok(Outcome::Passed)
}

/// The right type of failure, about the right thing: stock memory goes by the scope.
pub(super) fn refused_for<T: core::fmt::Debug>(
    wanted: &Unobtainable,
    reason: &str,
    ended: Ended<T>,
    step: &str,
) -> Checked {
    let error = match ended {
        Ended::LetGo(error) => error,
        Ended::Reached(made) => return Err(fail(step, format!("it cannot be had, but ensure answered {made:?}"))),
    };
    holds(error.reason() == reason, step, || format!("{reason} was expected, ensure answered \"{error}\""))?;
    let scope: Option<&Scope> = match &error {
        ProviderError::InsufficientCapacity { scope, .. } | ProviderError::QuotaExceeded { scope, .. } => Some(scope),
        _ => None,
    };
    holds(scope == Some(&wanted.scope), step, || format!("the scope should be {:?} and is {scope:?}", wanted.scope))
}

pub(super) async fn unknown_offering_is_refused<S: Subject>(subject: &S) -> Checked<Outcome> {
    let mut offering = subject.obtainable();
    offering.id.instance_type = "no-such-type".into();
    let request = subject.request(subject.fresh_key(), offering, 1);
    let before = subject.requests().await.len();
    let drive = Drive::new(subject, Memory::Kept, "making what does not exist");
    match drive.make(&request).await? {
        Ended::LetGo(ProviderError::InvalidRequest { .. }) => {}
        other => return Err(fail(&drive.step, format!("InvalidRequest was expected, ensure ended in {other:?}"))),
    }
    no_change_since(subject, before, &drive.step).await?;
    Ok(Outcome::Passed)
}

async fn same_foreign<S: Subject>(subject: &S, key: &model::InstanceKey, before: &str, step: &str) -> Checked {
    let now = subject.foreign(key).await;
    holds(now == before, step, || format!("somebody else's was {before} and is now {now}"))
}
