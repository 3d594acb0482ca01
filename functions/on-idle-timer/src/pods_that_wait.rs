//! The safety net for pods: one that waits, and that nothing is coming for, is placed by on-pending-pod.

use decide::provision::nominations;
use jiff::SignedDuration;
use model::{Answer, Claim, ObjectSeen, PendingPod, PodPending, ResourceVersion, SnapshotCarried, SnapshotMissing};
use std::sync::Arc;

use crate::{findings::Findings, read::Tick};

/// By then its own event has come, if it comes.
const EVENT_COMES_WITHIN: SignedDuration = SignedDuration::from_secs(10);

/// One decision is about all pods that wait, so the first of them is enough.
pub async fn run(tick: Arc<Tick>) -> Findings {
    let waiting = match tick.parts.cluster.pods_waiting().await {
        Ok(waiting) => waiting,
        Err(error) => return Findings::failure(error.to_string()),
    };
    let now = tick.now();
    let claims: Vec<Claim> = tick.known_claims().cloned().collect();
    let coming = nominations(&claims, now);
    let first = waiting.into_iter().find(|waiting| {
        // The API server's clock may be ahead of ours: a pod of a time that is yet to come is not young for that.
        let old = waiting.created_at.is_none_or(|at| now.duration_since(at).abs() >= EVENT_COMES_WITHIN);
        old && !coming.contains_key(waiting.pod.uid.as_str())
    });
    let Some(first) = first else { return Findings::default() };
    let Ok(version) = ResourceVersion::new("0") else { return Findings::default() };
    let subject = format!("{}/{}", first.pod.namespace, first.pod.name);
    let object = ObjectSeen {
        namespace: Some(first.pod.namespace),
        name: first.pod.name,
        uid: first.pod.uid,
        resource_version: version,
    };
    let pod =
        PendingPod { object, requests: Default::default(), node_selector: Default::default(), tolerations: Vec::new() };
    let cluster = tick.event.cluster.clone();
    let event = PodPending { cluster, subject, pod, snapshot: SnapshotCarried::Missing(SnapshotMissing::NotSent) };
    // Whoever else decides in this process is kept apart by the Lease.
    match on_pending_pod::carry_on(&tick.parts, event).await {
        Answer::Done { reason } => Findings { done: vec![reason], ..Findings::default() },
        Answer::Failed { reason, .. } => Findings::failure(reason),
        // It has been told why, or somebody else is placing it.
        Answer::Nothing { .. } | Answer::Later { .. } | Answer::Refused { .. } => Findings::default(),
    }
}
