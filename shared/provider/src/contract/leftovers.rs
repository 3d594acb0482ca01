//! Left-overs: the leak finder goes by `owned`, so whatever is billed is in it, however it came to be left.

use core::time::Duration;
use model::{Gone, InstanceKey};

use super::drive::{Checked, Drive, Memory, fail, holds};
use super::looking::number;
use super::{Fault, Mishap, Outcome, Subject};

pub(super) async fn are_owned<S: Subject>(make: &impl AsyncFn() -> S) -> Checked<Outcome> {
    after_a_crash_while_making(make).await?;
    at_every_call_of_removing(&make().await).await?;
    Ok(Outcome::Passed)
}

/// The caller dies right after one of the changes of its first call.
async fn after_a_crash_while_making<S: Subject>(make: &impl AsyncFn() -> S) -> Checked {
    let subject = make().await;
    let wanted = subject.request(subject.fresh_key(), subject.obtainable(), 1);
    let before = subject.requests().await.len();
    if let Err(error) = subject.provider().await.ensure(&wanted, None).await {
        return Err(fail("making one", format!("nothing is wrong, but ensure answered \"{error}\"")));
    }
    let needed = subject.requests().await.split_off(before);
    for (index, request) in needed.iter().enumerate().filter(|(_, request)| request.changes) {
        let subject = make().await;
        let wanted = subject.request(subject.fresh_key(), subject.obtainable(), 1);
        subject.inject(Fault { nth: number(index), mishap: Mishap::Reset { done: true } }).await;
        // What it answers is the business of other cases: this caller does not live to hear it.
        drop(subject.provider().await.ensure(&wanted, None).await);
        let step = format!("a caller that died after request {} ({}) of its first ensure", index + 1, request.what);
        billed_is_owned(&subject, &wanted.key, &step).await?;
    }
    Ok(())
}

async fn at_every_call_of_removing<S: Subject>(subject: &S) -> Checked {
    let wanted = subject.request(subject.fresh_key(), subject.obtainable(), 1);
    Drive::new(subject, Memory::Kept, "making one").must_run(&wanted).await?;
    let provider = subject.provider().await;
    for call in 1..=500 {
        let step = format!("removing it, after call {call} of ensure_gone");
        let gone = provider.ensure_gone(&wanted.key, None).await;
        billed_is_owned(subject, &wanted.key, &step).await?;
        match gone {
            Ok(Gone::Confirmed) => return Ok(()),
            Ok(Gone::InProgress { look_again_seconds, .. }) => {
                subject.advance(Duration::from_secs(u64::from(look_again_seconds.max(1)))).await;
            }
            Err(error) => return Err(fail(&step, format!("nothing is wrong, but ensure_gone answered \"{error}\""))),
        }
        billed_is_owned(subject, &wanted.key, &format!("{step}, some time later")).await?;
    }
    Err(fail("removing it", "gone is not confirmed after 500 calls of ensure_gone"))
}

async fn billed_is_owned<S: Subject>(subject: &S, key: &InstanceKey, step: &str) -> Checked {
    let billed = subject.billed(key).await;
    match subject.provider().await.owned().await {
        Ok(owned) => holds(billed.is_empty() || owned.iter().any(|owned| owned.key.claim == key.claim), step, || {
            format!("billed, and not owned: {}", billed.join(", "))
        }),
        Err(error) => Err(fail(step, format!("nothing is wrong, but owned answered \"{error}\""))),
    }
}
