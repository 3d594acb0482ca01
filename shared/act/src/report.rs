//! The last word: what is remembered, what stands on the claim, its status, and Events for people.

use cluster::{ClaimAsRead, Cluster, ClusterError};
use core::time::Duration;
use jiff::Timestamp;
use model::{Answer, Conclusion, Next, ResourceVersion};

/// What came of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reported {
    Next(Next),
    /// The claim went while we were at work. What was made for it has to go too.
    ClaimGone,
}

/// Writes what changed and nothing else; `version` is the claim's after our own writes.
pub async fn report(
    cluster: &Cluster,
    function: &str,
    claim: &ClaimAsRead,
    version: ResourceVersion,
    conclusion: &Conclusion,
    now: Timestamp,
) -> Reported {
    if !conclusion.unavailable.is_empty()
        && let Err(error) = cluster.remember(&conclusion.unavailable, now).await
    {
        // A memory that is lost costs one more refusal, no more.
        tracing::warn!(claim = %claim.claim.key.name, %error, "the stock memory was not written");
    }
    let written = write(cluster, claim, version, conclusion).await;
    for note in &conclusion.notes {
        tracing::info!(claim = %claim.claim.key.name, reason = note.reason, "{}", note.text);
        if let Err(error) = cluster.note(function, &claim.claim.key, note, now).await {
            tracing::warn!(claim = %claim.claim.key.name, %error, "an Event was not written");
        }
    }
    match written {
        Ok(()) => Reported::Next(conclusion.next.clone()),
        Err(error) if error.is_not_found() => Reported::ClaimGone,
        Err(error) if error.is_conflict() => {
            let reason = "somebody else changed the claim meanwhile".to_owned();
            Reported::Next(Next::Answer(Answer::Later { reason, after: Duration::from_secs(1) }))
        }
        Err(error) => {
            Reported::Next(Next::Answer(Answer::Failed { reason: error.to_string(), after: Duration::from_secs(5) }))
        }
    }
}

async fn write(
    cluster: &Cluster,
    claim: &ClaimAsRead,
    mut version: ResourceVersion,
    conclusion: &Conclusion,
) -> Result<(), ClusterError> {
    if !conclusion.claim.is_empty() {
        version = cluster.change_claim(&claim.claim.key, &version, &claim.claim.finalizers, &conclusion.claim).await?;
    }
    cluster.write_status(claim, &version, &conclusion.status).await?;
    Ok(())
}
