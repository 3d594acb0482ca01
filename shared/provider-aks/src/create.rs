//! `ensure`: one step towards a running pool, from wherever it stands. It never waits; Azure's operation is the progress.

use core::time::Duration;
use model::{Ensured, InstanceRequest, Progress};
use provider::{ProviderError, Retry};
use serde_json::Value;

use crate::{
    Aks,
    client::{Condition, Failure},
    draft::{self, Draft},
    errors::{self, About, Meaning},
    names::Owner,
    pool::{Phase, Pool},
    progress::{Step, seconds},
    refusal::Refusal,
};

/// What is known of a long-running operation.
pub(crate) enum Operation {
    Running {
        after: Option<Duration>,
    },
    Succeeded,
    Failed(Refusal),
    /// Azure has forgotten it. The pool itself tells.
    Unknown,
}

/// Quota numbers this old still tell a full quota from a busy cluster.
const QUOTA_AGE: Duration = Duration::from_secs(60);

pub(crate) async fn ensure(
    aks: &Aks,
    request: &InstanceRequest,
    progress: Option<&Progress>,
) -> Result<Ensured, ProviderError> {
    let doing = draft::doing(&request.key);
    let draft = draft::draft(request, aks.client.settings.cluster_uid.as_deref(), aks.now())?;
    let attempt = Attempt { aks, request, draft, doing };
    let epoch = request.epoch;
    match Step::read(progress).filter(|step| step.is_of(epoch)) {
        None | Some(Step::Deleting { .. }) => attempt.look().await,
        Some(Step::Creating { operation, .. }) => match attempt.follow(operation.as_deref()).await? {
            Operation::Running { after } => Ok(going_on(Step::Creating { epoch, operation }, after)),
            Operation::Failed(cause) => attempt.clear(Some(cause)).await,
            Operation::Succeeded | Operation::Unknown => attempt.look().await,
        },
        Some(Step::Clearing { operation, cause, .. }) => match attempt.follow(operation.as_deref()).await? {
            Operation::Running { after } => Ok(going_on(Step::Clearing { epoch, operation, cause }, after)),
            Operation::Succeeded | Operation::Failed(_) | Operation::Unknown => attempt.clear(cause).await,
        },
    }
}

fn going_on(step: Step, after: Option<Duration>) -> Ensured {
    Ensured::InProgress { progress: step.write(), look_again_seconds: seconds(after) }
}

struct Attempt<'a> {
    aks: &'a Aks,
    request: &'a InstanceRequest,
    draft: Draft,
    doing: String,
}

impl Attempt<'_> {
    async fn follow(&self, operation: Option<&str>) -> Result<Operation, ProviderError> {
        self.aks.operation(&self.doing, operation).await
    }

    fn creating(&self, operation: Option<String>, after: Option<Duration>) -> Ensured {
        going_on(Step::Creating { epoch: self.request.epoch, operation }, after)
    }

    fn clearing(&self, operation: Option<String>, cause: Option<Refusal>, after: Option<Duration>) -> Ensured {
        going_on(Step::Clearing { epoch: self.request.epoch, operation, cause }, after)
    }

    async fn pool(&self) -> Result<Option<Pool>, ProviderError> {
        self.aks.pool(&self.doing, &self.draft.pool).await
    }

    /// The pool is asked for, on the condition that there is none.
    async fn make(&self) -> Result<Ensured, ProviderError> {
        if let Some(rest) = self.aks.busy_for() {
            return Err(ProviderError::Busy { doing: self.doing.clone(), retry_after: rest });
        }
        let url = self.aks.client.pool_url(&self.draft.pool);
        let refusal = match self.aks.client.put(&self.doing, &url, Condition::Absent, &self.draft.body).await {
            Ok(answer) => return Ok(self.creating(answer.operation, answer.retry_after)),
            Err(Failure::Refused(refusal)) => refusal,
            Err(Failure::Other(error)) => return Err(error),
        };
        let (meaning, _) = errors::meaning(&refusal);
        if !matches!(meaning, Meaning::Busy | Meaning::Changed) || refusal.status >= 500 {
            return Err(self.error(&refusal).await);
        }
        // Either there is a pool of that name, perhaps our own, or the cluster is busy with another one.
        match self.pool().await? {
            Some(pool) => self.settle(&pool).await,
            None if meaning == Meaning::Busy => Err(self.busy(&refusal).await),
            None => Err(self.error(&refusal).await),
        }
    }

    /// Azure says `OperationNotAllowed` for a busy cluster and for a full quota alike; the quota's own numbers tell.
    async fn busy(&self, refusal: &Refusal) -> ProviderError {
        let full = match refusal.has("OperationNotAllowed") {
            true => match self.aks.shortfall(&self.request.offering.id, QUOTA_AGE).await {
                Err(error @ ProviderError::Throttled { .. }) => return error,
                // Taken for busy, it is asked again; taken for full, it would be given up.
                Err(_) => None,
                Ok(full) => full,
            },
            false => None,
        };
        if full.is_some() {
            let quota = Refusal { codes: vec!["QuotaExceeded".to_owned()], ..refusal.clone() };
            return errors::error(&self.doing, &quota, self.about(full.as_ref()));
        }
        let error = errors::error(&self.doing, refusal, self.about(None));
        if let ProviderError::Busy { retry_after: rest, .. } = &error {
            self.aks.set_busy(*rest);
        }
        error
    }

    fn about<'a>(&'a self, quota: Option<&'a crate::quota::QuotaSeen>) -> About<'a> {
        About { offering: Some(&self.request.offering.id), changes: true, quota }
    }

    async fn error(&self, refusal: &Refusal) -> ProviderError {
        let quota = match errors::meaning(refusal).0 {
            // Without the numbers the refusal is as true.
            Meaning::Quota => self.aks.shortfall(&self.request.offering.id, Duration::ZERO).await.ok().flatten(),
            _ => None,
        };
        errors::error(&self.doing, refusal, self.about(quota.as_ref()))
    }

    async fn look(&self) -> Result<Ensured, ProviderError> {
        match self.pool().await? {
            Some(pool) => self.settle(&pool).await,
            None => self.make().await,
        }
    }

    /// What a pool that is there means for this claim.
    async fn settle(&self, pool: &Pool) -> Result<Ensured, ProviderError> {
        self.check_owner(pool)?;
        match pool.phase {
            Phase::Creating | Phase::Deleting => Ok(self.creating(None, None)),
            Phase::Failed => self.remove(pool, pool.problem.clone()).await,
            Phase::There if pool.is_empty() => {
                let cause = Refusal::named("SpotEvicted", "Azure took the machine back");
                self.remove(pool, Some(cause)).await
            }
            Phase::There => Ok(Ensured::Running(pool.instance())),
        }
    }

    fn check_owner(&self, pool: &Pool) -> Result<(), ProviderError> {
        let doing = self.doing.clone();
        // Without the claim's own time no pool of gpu-provisioner is taken for ours: the name may have come back.
        match pool.owner(&self.request.key, Some(self.draft.created.as_deref().unwrap_or_default())) {
            Owner::Ours => Ok(()),
            // The last claim of this name is on its way out; its name will be free.
            Owner::OtherClaim if pool.phase == Phase::Deleting => {
                Err(ProviderError::Busy { doing, retry_after: errors::BUSY_FOR })
            }
            Owner::OtherClaim | Owner::Foreign => {
                Err(ProviderError::Conflict { doing, what: format!("agent pool {}", pool.name) })
            }
        }
    }

    /// Nothing of a failed attempt may be left when its failure is reported.
    async fn clear(&self, cause: Option<Refusal>) -> Result<Ensured, ProviderError> {
        let Some(pool) = self.pool().await? else { return self.cleared(cause).await };
        self.check_owner(&pool)?;
        match pool.phase {
            Phase::Deleting => Ok(self.clearing(None, cause, None)),
            Phase::Failed => self.remove(&pool, cause.or_else(|| pool.problem.clone())).await,
            // Somebody repaired it meanwhile, or it is a later attempt's.
            Phase::Creating | Phase::There if !pool.is_empty() => self.settle(&pool).await,
            Phase::Creating | Phase::There => self.remove(&pool, cause).await,
        }
    }

    async fn remove(&self, pool: &Pool, cause: Option<Refusal>) -> Result<Ensured, ProviderError> {
        match self.aks.delete_pool(&self.doing, pool).await {
            Ok(answer) if answer.status == 204 => self.cleared(cause).await,
            Ok(answer) => Ok(self.clearing(answer.operation, cause, answer.retry_after)),
            Err(Failure::Refused(refusal)) => match errors::meaning(&refusal).0 {
                // The cause must not get lost while the cluster is busy.
                Meaning::Busy | Meaning::Changed | Meaning::Throttled => {
                    Ok(self.clearing(None, cause, refusal.retry_after))
                }
                // It went between looking and deleting; the next look proves it.
                Meaning::Absent => Ok(self.clearing(None, cause, refusal.retry_after)),
                _ => Err(errors::error(&self.doing, &refusal, self.about(None))),
            },
            Err(Failure::Other(error)) => Err(error),
        }
    }

    /// A failure that lasts is reported now that nothing is left of it. One that may pass, or whose cause nobody knows, is tried
    /// again: the same error for ever would be no progress.
    async fn cleared(&self, cause: Option<Refusal>) -> Result<Ensured, ProviderError> {
        if let Some(cause) = cause {
            let error = self.error(&cause).await;
            if matches!(error.retry(), Retry::NextOffering | Retry::Never) {
                return Err(error);
            }
        }
        Box::pin(self.make()).await
    }
}

/// The answer of an operation's address.
pub(crate) fn operation_of(body: &Value, after: Option<Duration>) -> Operation {
    let status = body["status"].as_str().unwrap_or_default();
    let is = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(status));
    if is(&["Succeeded", "Completed"]) {
        Operation::Succeeded
    } else if is(&["Failed", "Canceled", "Cancelled"]) {
        Operation::Failed(Refusal::of_error(&body["error"]))
    } else {
        Operation::Running { after }
    }
}
