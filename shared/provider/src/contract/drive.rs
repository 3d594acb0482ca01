//! Calls a provider as its caller does, until it is through: obeys every answer, and checks that none is a lie.

use core::time::Duration;
use model::{Ensured, Gone, Instance, InstanceKey, InstanceRequest, Progress};
use std::sync::Arc;

use super::Subject;
use crate::{Provider, ProviderError, Retry};

/// More than the slowest boot needs; a provider that is not through by then never will be.
const MOST_CALLS: u32 = 500;

/// It is kept in an annotation, beside others.
const LONGEST_PROGRESS: usize = 4096;

/// Where a case failed, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    pub step: String,
    pub why: String,
}

pub(super) type Checked<T = ()> = Result<T, Failed>;

/// What a caller knows when it calls again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    /// The same process, with the last progress.
    Kept,
    /// Another machine each time, with the last progress.
    ProgressOnly,
    /// Another machine each time, with nothing: as after a crash before the progress was written.
    KeyOnly,
    /// Another machine each time, with the last progress, but for the call after the fault: that one knows the key alone.
    LostAtTheFault,
}

impl Memory {
    /// Those that any work must bear.
    pub(super) const ALL: [Memory; 3] = [Memory::Kept, Memory::ProgressOnly, Memory::KeyOnly];

    pub(super) fn text(self) -> &'static str {
        match self {
            Memory::Kept => "in one process",
            Memory::ProgressOnly => "on another machine each time, with the progress",
            Memory::KeyOnly => "on another machine each time, with the key alone",
            Memory::LostAtTheFault => "on another machine each time, with the progress until the fault loses it",
        }
    }
}

/// How a drive ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended<T> {
    Reached(T),
    /// An error after which the caller does not come again with this.
    LetGo(ProviderError),
}

/// The request that a fault waits for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strike {
    /// Its number among all requests of the cloud, from one.
    pub(super) number: usize,
    /// Whether it changes something, is done, and is not answered.
    pub(super) hides_a_change: bool,
}

pub(super) struct Drive<'a, S> {
    pub(super) subject: &'a S,
    pub(super) memory: Memory,
    /// What is being done, for the failure's text.
    pub(super) step: String,
    pub(super) strike: Option<Strike>,
}

impl<'a, S: Subject> Drive<'a, S> {
    pub(super) fn new(subject: &'a S, memory: Memory, step: &str) -> Self {
        Drive { subject, memory, step: format!("{step}, {}", memory.text()), strike: None }
    }

    /// Asks for an instance until it runs or the provider gives it up.
    pub(super) async fn make(&self, request: &InstanceRequest) -> Checked<Ended<Instance>> {
        let mut caller = Caller::new(self).await;
        for number in 1..=MOST_CALLS {
            let before = caller.begin().await;
            let result = caller.provider.ensure(request, caller.progress.as_ref()).await;
            let step = format!("{}: call {number} of ensure", self.step);
            match result {
                Ok(Ensured::Running(instance)) => return Ok(Ended::Reached(instance)),
                Ok(Ensured::InProgress { progress, look_again_seconds }) => {
                    caller.wait(progress, look_again_seconds, &step).await?;
                }
                Err(error) => {
                    self.no_lie(&error, before, &step).await?;
                    if self.let_go(&error).await {
                        // What the caller does next takes for granted that nothing of this attempt exists.
                        nothing_billed(self.subject, &request.key, &format!("{step} answered \"{error}\"")).await?;
                        return Ok(Ended::LetGo(error));
                    }
                }
            }
        }
        Err(fail(&self.step, format!("it does not run after {MOST_CALLS} calls of ensure")))
    }

    /// Asks for a removal until it is confirmed or refused.
    pub(super) async fn remove(&self, key: &InstanceKey) -> Checked<Ended<()>> {
        let mut caller = Caller::new(self).await;
        for number in 1..=MOST_CALLS {
            let before = caller.begin().await;
            let result = caller.provider.ensure_gone(key, caller.progress.as_ref()).await;
            let step = format!("{}: call {number} of ensure_gone", self.step);
            match result {
                Ok(Gone::Confirmed) => {
                    nothing_billed(self.subject, key, &format!("{step} answered Confirmed")).await?;
                    return Ok(Ended::Reached(()));
                }
                Ok(Gone::InProgress { progress, look_again_seconds }) => {
                    caller.wait(progress, look_again_seconds, &step).await?;
                }
                Err(error) => {
                    self.no_lie(&error, before, &step).await?;
                    if self.let_go(&error).await {
                        return Ok(Ended::LetGo(error));
                    }
                }
            }
        }
        Err(fail(&self.step, format!("gone is not confirmed after {MOST_CALLS} calls of ensure_gone")))
    }

    /// Makes one, and checks that it is one.
    pub(super) async fn must_run(&self, request: &InstanceRequest) -> Checked<Instance> {
        match self.make(request).await? {
            Ended::Reached(instance) => {
                exactly(self.subject, &request.key, 1, &self.step).await?;
                // Else no case could ever find anything left.
                let billed = self.subject.billed(&request.key).await;
                holds(!billed.is_empty(), &self.step, || {
                    "it runs, but the subject bills nothing: mend the subject".into()
                })?;
                Ok(instance)
            }
            Ended::LetGo(error) => Err(fail(&self.step, format!("it can be had, but ensure answered \"{error}\""))),
        }
    }

    /// Removes it, and checks that it is gone.
    pub(super) async fn must_go(&self, key: &InstanceKey) -> Checked {
        match self.remove(key).await? {
            Ended::Reached(()) => exactly(self.subject, key, 0, &self.step).await,
            Ended::LetGo(error) => Err(fail(&self.step, format!("it is ours, but ensure_gone answered \"{error}\""))),
        }
    }

    /// Waits as the error says; true if it says not to come again.
    async fn let_go(&self, error: &ProviderError) -> bool {
        match error.retry() {
            Retry::SameAfter(wait) => self.subject.advance(wait).await,
            Retry::ReadBack => self.subject.advance(Duration::from_secs(1)).await,
            Retry::NextOffering | Retry::Never => return true,
        }
        false
    }

    /// A change whose answer was lost may be reported as `Uncertain`, or found out about. "Nothing was done" is a lie.
    async fn no_lie(&self, error: &ProviderError, requests_before: usize, step: &str) -> Checked {
        let Some(lost) = self.strike.filter(|strike| strike.hides_a_change) else { return Ok(()) };
        let here = requests_before < lost.number && lost.number <= self.subject.requests().await.len();
        match error {
            ProviderError::Unavailable { .. } | ProviderError::Throttled { .. } | ProviderError::Busy { .. }
                if here =>
            {
                Err(fail(
                    step,
                    format!(
                        "a change was done and its answer lost, but the error says that nothing was done: \"{error}\""
                    ),
                ))
            }
            _ => Ok(()),
        }
    }
}

/// Who calls: a provider and what it told last.
struct Caller<'a, S> {
    drive: &'a Drive<'a, S>,
    provider: Arc<dyn Provider>,
    progress: Option<Progress>,
    forgot: bool,
}

impl<'a, S: Subject> Caller<'a, S> {
    async fn new(drive: &'a Drive<'a, S>) -> Self {
        Caller { drive, provider: drive.subject.provider().await, progress: None, forgot: false }
    }

    /// Forgets what this caller forgets between calls, and counts the requests so far.
    async fn begin(&mut self) -> usize {
        let sent = self.drive.subject.requests().await.len();
        match self.drive.memory {
            Memory::Kept => {}
            Memory::LostAtTheFault if !self.forgot && self.drive.strike.is_some_and(|strike| sent >= strike.number) => {
                self.forgot = true;
                self.provider = self.drive.subject.provider().await;
                self.progress = None;
            }
            Memory::ProgressOnly | Memory::LostAtTheFault => self.provider = self.drive.subject.provider().await,
            Memory::KeyOnly => {
                self.provider = self.drive.subject.provider().await;
                self.progress = None;
            }
        }
        sent
    }

    async fn wait(&mut self, progress: Progress, seconds: u32, step: &str) -> Checked {
        let length = progress.0.len();
        holds(length <= LONGEST_PROGRESS, step, || {
            format!("a progress of {length} bytes is too long to be written down")
        })?;
        self.progress = Some(progress);
        self.drive.subject.advance(Duration::from_secs(u64::from(seconds.max(1)))).await;
        Ok(())
    }
}

pub(super) fn fail(step: &str, why: impl Into<String>) -> Failed {
    Failed { step: step.to_owned(), why: why.into() }
}

pub(super) fn holds(condition: bool, step: &str, why: impl FnOnce() -> String) -> Checked {
    if condition { Ok(()) } else { Err(fail(step, why())) }
}

pub(super) async fn exactly<S: Subject>(subject: &S, key: &InstanceKey, wanted: usize, step: &str) -> Checked {
    let live = subject.live(key).await;
    let billed = subject.billed(key).await;
    holds(live == wanted, step, || {
        format!("{live} instances live under {} where there should be {wanted}: {billed:?}", key.name)
    })
}

pub(super) async fn nothing_billed<S: Subject>(subject: &S, key: &InstanceKey, step: &str) -> Checked {
    let billed = subject.billed(key).await;
    holds(billed.is_empty(), step, || format!("left and billed: {}", billed.join(", ")))
}
