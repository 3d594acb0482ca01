//! Since when nothing happens on a node: noted on its claim whenever its pods are others than at the last look.
//!
//! What was seen last stands in the condition `Consolidatable` itself, as a short hash of the pods, so that a look costs a
//! write only where something changed, and another one when the pool's `consolidateAfter` is over.

use jiff::{SignedDuration, Timestamp};
use model::{Claim, ClaimStatus, Condition, ConditionKind, Truth, Uid, disruption::After};
use sha2::{Digest as _, Sha256};

use crate::conditions;

/// Changes that come faster are one.
const DEDUPLICATED: SignedDuration = SignedDuration::from_secs(10);

const SEEN: &str = "pods seen ";

/// The status to write; `None` where nothing is new. `pods` are those on its node that are no daemons and not over.
pub fn note(claim: &Claim, pods: &[&Uid], after: After, now: Timestamp) -> Option<ClaimStatus> {
    let initialized = claim.condition(ConditionKind::Initialized).filter(|_| claim.is(ConditionKind::Initialized))?;
    let known = claim.condition(ConditionKind::Consolidatable);
    let mut status = claim.status.clone();
    let After::Time(after) = after else {
        // It will never be, so nobody has to know since when.
        status.conditions.retain(|condition| condition.kind != ConditionKind::Consolidatable);
        return (status != claim.status).then_some(status);
    };
    // Where a node may go at once, nobody counts from anything.
    let seen = if after.is_zero() { String::new() } else { format!("{SEEN}{}", hash(pods)) };
    let before = known.map(seen_in).unwrap_or_default();
    let changed = known.is_some() && before != seen && !after.is_zero();
    if changed {
        let recent = claim.status.last_pod_event.is_some_and(|at| now.duration_since(at) < DEDUPLICATED);
        if recent {
            return None;
        }
        status.last_pod_event = Some(now);
    }
    let since = status.last_pod_event.map_or(initialized.since, |at| at.max(initialized.since));
    let is_quiet = now.duration_since(since) >= after;
    let (truth, reason) = if is_quiet { (Truth::True, "Consolidatable") } else { (Truth::False, "PodsChanged") };
    conditions::set(&mut status, ConditionKind::Consolidatable, truth, reason, &seen, now);
    (status != claim.status).then_some(status)
}

fn seen_in(condition: &Condition) -> String {
    condition.message.find(SEEN).map_or(String::new(), |at| condition.message[at..].to_owned())
}

fn hash(pods: &[&Uid]) -> String {
    let mut pods: Vec<&str> = pods.iter().map(|uid| uid.as_str()).collect();
    pods.sort_unstable();
    let mut hash = Sha256::new();
    for uid in pods {
        hash.update(uid.as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}
