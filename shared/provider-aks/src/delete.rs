//! `ensure_gone`: one step towards nothing left, from wherever it stands. Only absence that was seen is success.

use model::{Gone, InstanceKey, Progress};
use provider::ProviderError;

use crate::{
    Aks,
    client::Failure,
    create::Operation,
    draft, errors,
    errors::{About, Meaning},
    names::{self, Owner},
    pool::Phase,
    progress::{Step, seconds},
};

/// A condition failed or a state moved: a moment later it can be read as it is.
const MOMENT: core::time::Duration = core::time::Duration::from_secs(1);

pub(crate) async fn ensure_gone(
    aks: &Aks,
    key: &InstanceKey,
    progress: Option<&Progress>,
) -> Result<Gone, ProviderError> {
    let name = names::pool_name(key);
    let doing = format!("deleting agent pool {name} of claim {}", key.name);
    draft::check_key(key).map_err(|why| ProviderError::InvalidRequest { doing: doing.clone(), why })?;
    let going_on = |operation, after| Gone::InProgress {
        progress: Step::Deleting { operation }.write(),
        look_again_seconds: seconds(after),
    };
    if let Some(Step::Deleting { operation: Some(operation) }) = Step::read(progress)
        && let Operation::Running { after } = aks.operation(&doing, Some(&operation)).await?
    {
        return Ok(going_on(Some(operation), after));
    }
    // The end of an operation is not proof; the pool's absence is.
    let Some(pool) = aks.pool(&doing, &name).await? else { return Ok(Gone::Confirmed) };
    match pool.owner(key, None) {
        Owner::Ours => {}
        // The last claim of this name is on its way out.
        Owner::OtherClaim if pool.phase == Phase::Deleting => return Ok(going_on(None, None)),
        Owner::OtherClaim | Owner::Foreign => {
            return Err(ProviderError::Conflict { doing, what: format!("agent pool {name}") });
        }
    }
    if pool.phase == Phase::Deleting {
        return Ok(going_on(None, None));
    }
    match aks.delete_pool(&doing, &pool).await {
        // It was gone between looking and deleting.
        Ok(answer) if answer.status == 204 => Ok(Gone::Confirmed),
        Ok(answer) => Ok(going_on(answer.operation, answer.retry_after)),
        Err(Failure::Refused(refusal)) => match errors::meaning(&refusal).0 {
            Meaning::Changed | Meaning::Absent if refusal.status < 500 => Ok(going_on(None, Some(MOMENT))),
            // The cluster is busy, perhaps with this very deletion: whoever is on the way may have sent it twice.
            Meaning::Busy if refusal.status < 500 => {
                Ok(going_on(None, Some(refusal.retry_after.unwrap_or(errors::BUSY_FOR))))
            }
            _ => Err(errors::error(&doing, &refusal, About { changes: true, ..About::default() })),
        },
        Err(Failure::Other(error)) => Err(error),
    }
}
