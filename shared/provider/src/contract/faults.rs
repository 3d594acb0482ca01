//! Every single fault at every request: whatever happens once on the way, the end is the same.

use core::time::Duration;
use tokio::time::Instant;

use super::drive::{Checked, Drive, Memory, Strike, holds};
use super::looking::number;
use super::refusing::refused_for;
use super::{Fault, Mishap, Outcome, Request, Subject};
use crate::ProviderError;
use model::{Ensured, InstanceRequest};

/// Where a fault is to strike.
struct Plan<'a> {
    index: usize,
    request: &'a Request,
    mishap: Mishap,
}

pub(super) async fn while_making<S: Subject>(make: &impl AsyncFn() -> S) -> Checked<Outcome> {
    for memory in Memory::ALL {
        let subject = make().await;
        let wanted = fresh_request(&subject);
        let needed = requests_of(&subject, Drive::new(&subject, memory, "making one").must_run(&wanted)).await?;
        for plan in plans(&subject, &needed) {
            let subject = make().await;
            let wanted = fresh_request(&subject);
            let drive = struck(&subject, memory, "making one", &plan).await;
            let made = drive.must_run(&wanted).await?;
            // Asked once more, nothing new comes.
            let again = Drive::new(&subject, Memory::KeyOnly, &format!("{}, then asking again", drive.step));
            let same = again.must_run(&wanted).await?;
            holds(same.provider_id == made.provider_id, &again.step, || {
                format!("it was {made:?} and is now {same:?}")
            })?;
            let removing = format!("{}, then removing it", drive.step);
            Drive::new(&subject, Memory::KeyOnly, &removing).must_go(&wanted.key).await?;
        }
    }
    Ok(Outcome::Passed)
}

pub(super) async fn while_removing<S: Subject>(make: &impl AsyncFn() -> S) -> Checked<Outcome> {
    for memory in Memory::ALL {
        let subject = make().await;
        let key = running(&subject).await?.key;
        let needed = requests_of(&subject, Drive::new(&subject, memory, "removing it").must_go(&key)).await?;
        for plan in plans(&subject, &needed) {
            let subject = make().await;
            let key = running(&subject).await?.key;
            struck(&subject, memory, "removing it", &plan).await.must_go(&key).await?;
        }
    }
    Ok(Outcome::Passed)
}

pub(super) async fn while_there_is_no_stock<S: Subject>(make: &impl AsyncFn() -> S) -> Checked<Outcome> {
    // Not with the key alone at every call: where the refusal comes late, that it came is in the progress, and a caller that
    // never has it would begin again for ever.
    for memory in [Memory::Kept, Memory::ProgressOnly, Memory::LostAtTheFault] {
        let subject = make().await;
        let Some(none) = subject.without_stock() else { return Ok(Outcome::Skipped("stock cannot run out here")) };
        let wanted = subject.request(subject.fresh_key(), none.offering.clone(), 1);
        let step = "making what cannot be had";
        let needed = requests_of(&subject, Drive::new(&subject, memory, step).make(&wanted)).await?;
        for plan in plans(&subject, &needed) {
            let subject = make().await;
            let wanted = subject.request(subject.fresh_key(), none.offering.clone(), 1);
            let drive = struck(&subject, memory, step, &plan).await;
            refused_for(&none, "InsufficientCapacity", drive.make(&wanted).await?, &drive.step)?;
        }
    }
    Ok(Outcome::Passed)
}

/// The call that is throttled ends with the time the cloud asked for, or has let that time pass itself.
pub(super) async fn throttling_is_obeyed<S: Subject>(make: &impl AsyncFn() -> S) -> Checked<Outcome> {
    const ASKED_FOR: Duration = Duration::from_secs(23);
    let subject = make().await;
    let wanted = fresh_request(&subject);
    let needed = requests_of(&subject, async {
        subject
            .provider()
            .await
            .ensure(&wanted, None)
            .await
            .map_err(|error| super::drive::fail("making one", error.to_string()))
    })
    .await?;
    for (index, request) in needed.iter().enumerate() {
        let subject = make().await;
        let wanted = fresh_request(&subject);
        let before = subject.requests().await.len();
        let mishap = Mishap::Throttled { retry_after: ASKED_FOR };
        subject.inject(Fault { nth: number(index), mishap }).await;
        let began = Instant::now();
        let result = subject.provider().await.ensure(&wanted, None).await;
        let waited_itself = began.elapsed() >= ASKED_FOR;
        let sent = subject.requests().await.len() - before;
        let step = format!("the first call of ensure, request {} ({}): {mishap}", index + 1, request.what);
        holds(sent <= index + 1 || waited_itself, &step, || {
            format!("{} more requests were sent in the same call, without a pause", sent - index - 1)
        })?;
        let told = match &result {
            Err(ProviderError::Throttled { retry_after, .. }) => *retry_after,
            Ok(Ensured::InProgress { look_again_seconds, .. }) => {
                Some(Duration::from_secs((*look_again_seconds).into()))
            }
            Ok(Ensured::Running(_)) | Err(_) => None,
        };
        holds(waited_itself || told >= Some(ASKED_FOR), &step, || {
            format!("the cloud asked for {ASKED_FOR:?}, the caller was told {result:?}")
        })?;
    }
    Ok(Outcome::Passed)
}

fn fresh_request<S: Subject>(subject: &S) -> InstanceRequest {
    subject.request(subject.fresh_key(), subject.obtainable(), 1)
}

async fn running<S: Subject>(subject: &S) -> Checked<InstanceRequest> {
    let wanted = fresh_request(subject);
    Drive::new(subject, Memory::Kept, "making one").must_run(&wanted).await?;
    Ok(wanted)
}

/// The requests that some work takes when nothing goes wrong.
async fn requests_of<S: Subject, T>(subject: &S, work: impl Future<Output = Checked<T>>) -> Checked<Vec<Request>> {
    let before = subject.requests().await.len();
    work.await?;
    let needed = subject.requests().await.split_off(before);
    // Else there would be nothing for a fault to meet, and every case here would pass.
    let why = || "the subject saw no request that changes something: mend its requests()".into();
    holds(needed.iter().any(|request| request.changes), "counting the requests without a fault", why)?;
    Ok(needed)
}

fn plans<'a, S: Subject>(subject: &S, needed: &'a [Request]) -> Vec<Plan<'a>> {
    let mishaps = subject.mishaps();
    let at = |(index, request)| mishaps.iter().map(move |mishap| Plan { index, request, mishap: *mishap });
    needed.iter().enumerate().flat_map(at).collect()
}

/// A drive that the fault lies in wait for.
async fn struck<'a, S: Subject>(subject: &'a S, memory: Memory, doing: &str, plan: &Plan<'_>) -> Drive<'a, S> {
    let Plan { index, request, mishap } = plan;
    let step = format!("{doing}, request {} ({}): {mishap}", index + 1, request.what);
    let before = subject.requests().await.len();
    subject.inject(Fault { nth: number(*index), mishap: *mishap }).await;
    let strike = Strike { number: before + index + 1, hides_a_change: request.changes && mishap.is_done() };
    Drive { strike: Some(strike), ..Drive::new(subject, memory, &step) }
}
