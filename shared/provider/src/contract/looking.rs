//! Looking: complete, only ours, and "none" only as a proof, even when requests fail on the way.

use model::InstanceKey;
use std::collections::BTreeSet;

use crate::{Look as _, Provider as _};

use super::drive::{Checked, Drive, Memory, fail, holds};
use super::{Fault, Outcome, Subject};

pub(super) async fn offerings_are_named_and_told<S: Subject>(subject: &S) -> Checked<Outcome> {
    let provider = subject.provider().await;
    let step = "asking for offerings";
    let offerings = match provider.offerings().await {
        Ok(offerings) => offerings,
        Err(error) => return Err(fail(step, format!("nothing is wrong, but offerings answered \"{error}\""))),
    };
    holds(!offerings.is_empty(), step, || "there are none, and no error".into())?;
    let mut seen = BTreeSet::new();
    for offering in &offerings {
        let id = &offering.id;
        holds(id.provider == provider.name(), step, || format!("{id} is not named after {}", provider.name()))?;
        holds(seen.insert(id), step, || format!("{id} is told twice"))?;
    }
    let wanted = subject.obtainable();
    holds(seen.contains(&wanted.id), step, || format!("{} can be had and is not told", wanted.id))?;
    Ok(Outcome::Passed)
}

pub(super) async fn owned_is_complete_and_only_ours<S: Subject>(make: &impl AsyncFn() -> S) -> Checked<Outcome> {
    let subject = make().await;
    let stranger = subject.fresh_key();
    subject.plant_foreign(&stranger).await;
    let keys = crowd(&subject).await?;
    let provider = subject.provider().await;
    let step = "asking what is owned";
    let before = subject.requests().await.len();
    match provider.owned().await {
        Ok(owned) => same_keys(&keys, owned.iter().map(|owned| &owned.key), step)?,
        Err(error) => return Err(fail(step, format!("nothing is wrong, but owned answered \"{error}\""))),
    }
    let needed = subject.requests().await.split_off(before);
    // A page that could not be read is an error. A short list would make the leak finder blind, and the guard too generous.
    for (index, request) in needed.iter().enumerate() {
        for mishap in subject.mishaps() {
            subject.inject(Fault { nth: number(index), mishap }).await;
            let provider = subject.provider().await;
            let step = format!("asking what is owned, request {} ({}): {mishap}", index + 1, request.what);
            if let Ok(owned) = provider.owned().await {
                same_keys(&keys, owned.iter().map(|owned| &owned.key), &step)?;
            }
            subject.advance(core::time::Duration::from_secs(60)).await;
        }
    }
    Ok(Outcome::Passed)
}

pub(super) async fn none_is_a_proof<S: Subject>(make: &impl AsyncFn() -> S) -> Checked<Outcome> {
    let subject = make().await;
    let request = subject.request(subject.fresh_key(), subject.obtainable(), 1);
    Drive::new(&subject, Memory::Kept, "making one").must_run(&request).await?;
    let before = subject.requests().await.len();
    seen(subject.provider().await.observe(&request.key).await, "observing what runs")?;
    let needed = subject.requests().await.split_off(before);
    for (index, sent) in needed.iter().enumerate() {
        for mishap in subject.mishaps() {
            subject.inject(Fault { nth: number(index), mishap }).await;
            let step = format!("observing what runs, request {} ({}): {mishap}", index + 1, sent.what);
            let result = subject.provider().await.observe(&request.key).await;
            if result.is_ok() {
                seen(result, &step)?;
            }
            subject.advance(core::time::Duration::from_secs(60)).await;
        }
    }
    Ok(Outcome::Passed)
}

fn seen(result: Result<Option<model::Instance>, crate::ProviderError>, step: &str) -> Checked {
    match result {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(fail(step, "it runs, but observe says that there is none")),
        Err(error) => Err(fail(step, format!("nothing is wrong, but observe answered \"{error}\""))),
    }
}

async fn crowd<S: Subject>(subject: &S) -> Checked<BTreeSet<InstanceKey>> {
    let mut keys = BTreeSet::new();
    for _ in 0..subject.crowd() {
        let request = subject.request(subject.fresh_key(), subject.obtainable(), 1);
        Drive::new(subject, Memory::Kept, "making a crowd").must_run(&request).await?;
        keys.insert(request.key);
    }
    Ok(keys)
}

/// By UID: the name of a left-over may be shortened, its identity may not.
fn same_keys<'a>(ours: &BTreeSet<InstanceKey>, told: impl Iterator<Item = &'a InstanceKey>, step: &str) -> Checked {
    let ours: BTreeSet<&str> = ours.iter().map(|key| key.claim.as_str()).collect();
    let told: BTreeSet<&str> = told.map(|key| key.claim.as_str()).collect();
    let missing: Vec<_> = ours.difference(&told).collect();
    let strange: Vec<_> = told.difference(&ours).collect();
    holds(missing.is_empty(), step, || format!("ours, and not told: {missing:?}"))?;
    holds(strange.is_empty(), step, || format!("told, and not ours: {strange:?}"))
}

/// Requests are counted from one.
pub(super) fn number(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(u64::MAX).saturating_add(1)
}
