//! Rebooting: once for each operation, in place, and nothing is touched where it cannot be done.

use core::time::Duration;
use model::{InstanceKey, Rebooted};

use super::creating::no_change_since;
use super::drive::{Checked, Drive, Memory, exactly, fail, holds};
use super::{Fault, Outcome, Subject};
use crate::{ProviderError, Retry};

/// More than the slowest machine needs to be off and on again.
const MOST_CALLS: u32 = 300;
/// Longer than any machine takes to boot.
const BOOTED: Duration = Duration::from_secs(900);

const CANNOT: &str = "this provider cannot start machines anew";

pub(super) async fn is_done_once<S: Subject>(make: &impl AsyncFn() -> S) -> Checked<Outcome> {
    let subject = make().await;
    let nobody = subject.fresh_key();
    let before = subject.requests().await.len();
    let step = "rebooting what never was";
    let answer = subject.provider().await.reboot(&nobody, "first").await;
    holds(matches!(answer, Ok(Rebooted::NotAble { .. })), step, || format!("nothing is there, but it was {answer:?}"))?;
    no_change_since(&subject, before, step).await?;

    let key = running(&subject).await?;
    let before = subject.requests().await.len();
    let able = reboot(&subject, &key, "first").await?;
    let says = subject.provider().await.can_reboot();
    holds(able == says, "rebooting", || format!("can_reboot says {says}, and reboot says {able}"))?;
    if !able {
        no_change_since(&subject, before, "rebooting where that cannot be done").await?;
        return Ok(Outcome::Skipped(CANNOT));
    }
    let step = "rebooting it again with the same operation";
    came_up(&subject, &key, 1, step).await?;
    let before = subject.requests().await.len();
    reboot(&subject, &key, "first").await?;
    no_change_since(&subject, before, step).await?;
    came_up(&subject, &key, 1, step).await?;
    reboot(&subject, &key, "second").await?;
    came_up(&subject, &key, 2, "rebooting it with another operation").await?;
    Drive::new(&subject, Memory::KeyOnly, "removing what was rebooted").must_go(&key).await?;
    Ok(Outcome::Passed)
}

/// A lost answer may mean a second restart, and never none.
pub(super) async fn every_fault<S: Subject>(make: &impl AsyncFn() -> S) -> Checked<Outcome> {
    let quiet = make().await;
    let key = running(&quiet).await?;
    let before = quiet.requests().await.len();
    if !reboot(&quiet, &key, "first").await? {
        return Ok(Outcome::Skipped(CANNOT));
    }
    let requests = quiet.requests().await.len() - before;
    for mishap in quiet.mishaps() {
        // What comes later is the same question again.
        for nth in 1..=requests.min(6) {
            let subject = make().await;
            let key = running(&subject).await?;
            let boots = subject.boots(&key).await;
            subject.inject(Fault { nth: nth as u64, mishap }).await;
            reboot(&subject, &key, "first").await?;
            subject.advance(BOOTED).await;
            let step = format!("rebooting, with \"{mishap}\" at request {nth}");
            exactly(&subject, &key, 1, &step).await?;
            if let (Some(before), Some(now)) = (boots, subject.boots(&key).await) {
                let restarts = now.saturating_sub(before);
                holds((1..=2).contains(&restarts), &step, || format!("it was started anew {restarts} times"))?;
            }
        }
    }
    Ok(Outcome::Passed)
}

async fn running<S: Subject>(subject: &S) -> Checked<InstanceKey> {
    let request = subject.request(subject.fresh_key(), subject.obtainable(), 1);
    Drive::new(subject, Memory::Kept, "making one").must_run(&request).await?;
    Ok(request.key)
}

/// Asks as its caller does, on another machine each time. `false`: it cannot be done.
async fn reboot<S: Subject>(subject: &S, key: &InstanceKey, operation: &str) -> Checked<bool> {
    let step = format!("rebooting, operation {operation}");
    for _ in 0..MOST_CALLS {
        match subject.provider().await.reboot(key, operation).await {
            Ok(Rebooted::Issued) => return Ok(true),
            Ok(Rebooted::NotAble { .. }) => return Ok(false),
            Ok(Rebooted::InProgress { look_again_seconds }) => {
                holds(look_again_seconds > 0, &step, || "it asks to be called again at once".into())?;
                subject.advance(Duration::from_secs(look_again_seconds.into())).await;
            }
            Err(error) => match (error.retry(), &error) {
                (Retry::SameAfter(after), _) => subject.advance(after).await,
                (Retry::ReadBack, ProviderError::Uncertain { .. }) => subject.advance(Duration::from_secs(1)).await,
                _ => return Err(fail(&step, format!("nothing is wrong, but reboot answered \"{error}\""))),
            },
        }
    }
    Err(fail(&step, format!("it is not issued after {MOST_CALLS} calls of reboot")))
}

/// It runs, alone, after as many restarts. The first start is not counted.
async fn came_up<S: Subject>(subject: &S, key: &InstanceKey, restarts: u32, step: &str) -> Checked {
    subject.advance(BOOTED).await;
    exactly(subject, key, 1, step).await?;
    match subject.boots(key).await {
        None => Ok(()),
        Some(boots) => {
            holds(boots == restarts + 1, step, || format!("it was started {boots} times, not {}", restarts + 1))
        }
    }
}
