//! Making the claims of a decision, and telling the pods.

use cluster::{Cluster, ClusterError, Made};
use futures_util::stream::{self, StreamExt as _};
use jiff::Timestamp;
use model::{ClaimToMake, PodNote};

/// Requests side by side: enough that hundreds are made in a second, few enough that an API server does not notice.
const AT_ONCE: usize = 16;

/// Makes all of them, side by side; one that does not come out does not stop the others. One result for each.
pub async fn make_claims(cluster: &Cluster, claims: &[ClaimToMake]) -> Vec<Result<Made, ClusterError>> {
    let making: Vec<_> = claims.iter().map(|claim| make(cluster, claim)).collect();
    stream::iter(making).buffered(AT_ONCE).collect().await
}

/// Writes the Events. What cannot be said is no reason to stop: the claims are made.
pub async fn tell_pods(cluster: &Cluster, function: &str, notes: &[PodNote], now: Timestamp) {
    let telling: Vec<_> = notes.iter().map(|note| tell(cluster, function, note, now)).collect();
    stream::iter(telling).buffer_unordered(AT_ONCE).collect::<()>().await;
}

async fn make(cluster: &Cluster, claim: &ClaimToMake) -> Result<Made, ClusterError> {
    let made = cluster.make_claim(claim).await;
    match &made {
        Ok(Made::Now) => tracing::info!(claim = %claim.name, "a NodeClaim is made"),
        Ok(Made::Before) => tracing::debug!(claim = %claim.name, "the NodeClaim was there already"),
        Err(error) => tracing::warn!(claim = %claim.name, %error, "a NodeClaim was not made"),
    }
    made
}

async fn tell(cluster: &Cluster, function: &str, note: &PodNote, now: Timestamp) {
    let PodNote { pod, reason, text, .. } = note;
    tracing::debug!(pod = %pod.name, namespace = %pod.namespace, reason, "{text}");
    if let Err(error) = cluster.note_pod(function, note, now).await {
        tracing::warn!(pod = %pod.name, namespace = %pod.namespace, %error, "an Event was not written");
    }
}
