//! Removing: everything, and no word of success before.

use super::creating::no_change_since;
use super::drive::{Checked, Drive, Ended, Memory, fail, holds};
use super::{Outcome, Subject};

pub(super) async fn nothing_is_confirmed<S: Subject>(subject: &S) -> Checked<Outcome> {
    let key = subject.fresh_key();
    let before = subject.requests().await.len();
    let drive = Drive::new(subject, Memory::Kept, "removing what never was");
    drive.must_go(&key).await?;
    no_change_since(subject, before, &drive.step).await?;
    Ok(Outcome::Passed)
}

pub(super) async fn nothing_is_left<S: Subject>(subject: &S) -> Checked<Outcome> {
    let key = subject.fresh_key();
    let neighbour = subject.request(subject.fresh_key(), subject.obtainable(), 1);
    Drive::new(subject, Memory::Kept, "making a neighbour").must_run(&neighbour).await?;
    let request = subject.request(key.clone(), subject.obtainable(), 1);
    Drive::new(subject, Memory::Kept, "making one").must_run(&request).await?;
    let drive = Drive::new(subject, Memory::Kept, "removing it");
    drive.must_go(&key).await?;
    let provider = subject.provider().await;
    match provider.observe(&key).await {
        Ok(None) => {}
        other => return Err(fail(&drive.step, format!("it is gone, but observe answered {other:?}"))),
    }
    match provider.owned().await {
        Ok(owned) => holds(owned.iter().all(|owned| owned.key.claim != key.claim), &drive.step, || {
            format!("it is gone, but owned still has it: {owned:?}")
        })?,
        Err(error) => return Err(fail(&drive.step, format!("nothing is wrong, but owned answered \"{error}\""))),
    }
    let before = subject.requests().await.len();
    let again = Drive::new(subject, Memory::Kept, "removing it once more");
    again.must_go(&key).await?;
    no_change_since(subject, before, &again.step).await?;
    // Removing one key is not removing another.
    super::drive::exactly(subject, &neighbour.key, 1, "looking at the neighbour afterwards").await?;
    Ok(Outcome::Passed)
}

pub(super) async fn goes_on_elsewhere<S: Subject>(make: &impl AsyncFn() -> S) -> Checked<Outcome> {
    for memory in [Memory::ProgressOnly, Memory::KeyOnly] {
        let subject = make().await;
        let request = subject.request(subject.fresh_key(), subject.obtainable(), 1);
        Drive::new(&subject, memory, "making one").must_run(&request).await?;
        Drive::new(&subject, memory, "removing it").must_go(&request.key).await?;
    }
    Ok(Outcome::Passed)
}

/// The claim is deleted while its machine boots, with and without the progress of the making.
pub(super) async fn in_the_middle_of_making<S: Subject>(make: &impl AsyncFn() -> S) -> Checked<Outcome> {
    for memory in Memory::ALL {
        let subject = make().await;
        let request = subject.request(subject.fresh_key(), subject.obtainable(), 1);
        let step = "removing right after the first call of ensure";
        if let Err(error) = subject.provider().await.ensure(&request, None).await {
            return Err(fail(step, format!("nothing is wrong, but ensure answered \"{error}\"")));
        }
        let drive = Drive::new(&subject, memory, step);
        match drive.remove(&request.key).await? {
            Ended::Reached(()) => super::drive::exactly(&subject, &request.key, 0, &drive.step).await?,
            Ended::LetGo(error) => return Err(fail(&drive.step, format!("ensure_gone answered \"{error}\""))),
        }
    }
    Ok(Outcome::Passed)
}
