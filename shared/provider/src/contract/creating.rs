//! Making: once, whatever is asked how often and from where.

use model::{Ensured, InstanceKey, InstanceState};
use std::collections::BTreeSet;

use super::drive::{Checked, Drive, Ended, Memory, exactly, fail, holds};
use super::{Outcome, Subject};

pub(super) async fn one_is_made<S: Subject>(subject: &S) -> Checked<Outcome> {
    let key = subject.fresh_key();
    let provider = subject.provider().await;
    let step = "observing before anything was made";
    match provider.observe(&key).await {
        Ok(None) => {}
        other => return Err(fail(step, format!("there is none, but observe answered {other:?}"))),
    }
    let request = subject.request(key.clone(), subject.obtainable(), 1);
    let made = Drive::new(subject, Memory::Kept, "making one").must_run(&request).await?;
    holds(made.state == InstanceState::Running, "making one", || format!("Running was answered for {made:?}"))?;
    let step = "observing what was made";
    match provider.observe(&key).await {
        Ok(Some(seen)) => holds(seen.provider_id == made.provider_id && seen.state == made.state, step, || {
            format!("ensure answered {made:?}, observe {seen:?}")
        })?,
        other => return Err(fail(step, format!("it runs, but observe answered {other:?}"))),
    }
    Ok(Outcome::Passed)
}

pub(super) async fn already_so_is_not_made_twice<S: Subject>(subject: &S) -> Checked<Outcome> {
    let key = subject.fresh_key();
    let request = subject.request(key.clone(), subject.obtainable(), 1);
    let provider = subject.provider().await;
    // At once and without the progress: the one that is being made has to be found.
    for number in 1..=3 {
        let step = format!("asking three times at once, without progress: call {number}");
        if let Err(error) = provider.ensure(&request, None).await {
            return Err(fail(&step, format!("nothing is wrong, but ensure answered \"{error}\"")));
        }
        let live = subject.live(&key).await;
        holds(live <= 1, &step, || format!("{live} instances live under {}", key.name))?;
    }
    let first = Drive::new(subject, Memory::Kept, "waiting for it").must_run(&request).await?;
    let before = subject.requests().await.len();
    for memory in Memory::ALL {
        let drive = Drive::new(subject, memory, "asking for what runs");
        let again = drive.must_run(&request).await?;
        holds(again.provider_id == first.provider_id, &drive.step, || {
            format!("it was {} and is now {}", first.provider_id, again.provider_id)
        })?;
    }
    no_change_since(subject, before, "asking for what runs").await?;
    Ok(Outcome::Passed)
}

pub(super) async fn goes_on_elsewhere<S: Subject>(make: &impl AsyncFn() -> S) -> Checked<Outcome> {
    for memory in [Memory::ProgressOnly, Memory::KeyOnly] {
        let subject = make().await;
        let request = subject.request(subject.fresh_key(), subject.obtainable(), 1);
        Drive::new(&subject, memory, "making one").must_run(&request).await?;
    }
    // A progress that leads nowhere (it is old, or another version wrote it) is no reason to fail, or to make a second.
    let subject = make().await;
    let request = subject.request(subject.fresh_key(), subject.obtainable(), 1);
    let drive = Drive::new(&subject, Memory::Kept, "asking with a progress that leads nowhere");
    drive.must_run(&request).await?;
    let nowhere = model::Progress("no-such-progress".into());
    match subject.provider().await.ensure(&request, Some(&nowhere)).await {
        Ok(Ensured::Running(_) | Ensured::InProgress { .. }) => {}
        Err(error) => return Err(fail(&drive.step, format!("it runs, but ensure answered \"{error}\""))),
    }
    exactly(&subject, &request.key, 1, &drive.step).await?;
    Ok(Outcome::Passed)
}

/// In a cloud both get theirs. Where the offering is one machine, one gets it and the other may try its next offering.
pub(super) async fn two_never_share_one<S: Subject>(make: &impl AsyncFn() -> S) -> Checked<Outcome> {
    for memory in Memory::ALL {
        let subject = make().await;
        let offering = subject.obtainable();
        let [one, other] = [(); 2].map(|()| subject.request(subject.fresh_key(), offering.clone(), 1));
        let drive = Drive::new(&subject, memory, "two claims asking for the same at once");
        let (first, second) = tokio::join!(drive.make(&one), drive.make(&other));
        let (mut with, mut without) = (vec![], vec![]);
        let mut identities = BTreeSet::new();
        for (key, ended) in [(&one.key, first?), (&other.key, second?)] {
            match ended {
                Ended::Reached(instance) => {
                    exactly(&subject, key, 1, &drive.step).await?;
                    let shared = !identities.insert(instance.provider_id);
                    holds(!shared, &drive.step, || "both were told the same instance".into())?;
                    with.push(key);
                }
                Ended::LetGo(error) => {
                    let goes_on = error.retry() == crate::Retry::NextOffering;
                    holds(goes_on, &drive.step, || {
                        format!("one was late, which is no reason for \"{error}\": its next offering may be tried")
                    })?;
                    without.push(key);
                }
            }
        }
        holds(!with.is_empty(), &drive.step, || "it can be had, and neither of them got it".into())?;
        removed_one_by_one(&subject, &without, &with).await?;
    }
    Ok(Outcome::Passed)
}

/// Removing the claim that has none, and then each that has one, leaves the others alone.
async fn removed_one_by_one<S: Subject>(subject: &S, without: &[&InstanceKey], with: &[&InstanceKey]) -> Checked {
    let drive = Drive::new(subject, Memory::KeyOnly, "removing one claim of two");
    for key in without {
        drive.must_go(key).await?;
    }
    let mut left = with;
    while let [key, rest @ ..] = left {
        exactly(subject, key, 1, &drive.step).await?;
        drive.must_go(key).await?;
        left = rest;
    }
    Ok(())
}

pub(super) async fn no_change_since<S: Subject>(subject: &S, before: usize, step: &str) -> Checked {
    let requests = subject.requests().await;
    let change = requests.iter().skip(before).find(|request| request.changes);
    holds(change.is_none(), step, || {
        format!("nothing had to be changed, but this was sent: {:?}", change.map(|it| &it.what))
    })
}
