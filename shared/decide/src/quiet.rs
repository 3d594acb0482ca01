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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use model::{ClassRef, InstanceKey, Launch, ObjectName, ResourceVersion};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    fn claim() -> Claim {
        let mut status = ClaimStatus::default();
        conditions::set_true(&mut status, ConditionKind::Initialized, at(0));
        Claim {
            key: InstanceKey { claim: Uid::new("u").unwrap(), name: ObjectName::new("c").unwrap() },
            version: ResourceVersion::new("1").unwrap(),
            created_at: at(-100),
            deleted_at: None,
            labels: Default::default(),
            annotations: Default::default(),
            finalizers: Default::default(),
            has_owner: true,
            class: ClassRef { group: "g".into(), kind: "k".into(), name: ObjectName::new("c").unwrap() },
            requirements: vec![],
            requests: Default::default(),
            taints: vec![],
            startup_taints: vec![],
            termination_grace: None,
            launch: Launch::NotBegun,
            status,
        }
    }

    /// Looks, writes what is to be written, and says whether that was anything.
    fn look(claim: &mut Claim, pods: &[&str], after: After, second: i64) -> bool {
        let pods: Vec<Uid> = pods.iter().map(|uid| Uid::new(*uid).unwrap()).collect();
        let written = note(claim, &pods.iter().collect::<Vec<_>>(), after, at(second));
        let is_new = written.is_some();
        claim.status = written.unwrap_or(claim.status.clone());
        is_new
    }

    #[test]
    fn a_change_of_pods_begins_the_time_anew_and_costs_two_writes() {
        let (mut claim, after) = (claim(), After::Time(SignedDuration::from_secs(300)));
        assert!(look(&mut claim, &["a"], after, 10), "seen for the first time");
        assert!(!look(&mut claim, &["a"], after, 299));
        assert!(look(&mut claim, &["a"], after, 300), "quiet since it was usable");
        assert!(claim.is(ConditionKind::Consolidatable) && claim.status.last_pod_event.is_none());
        assert!(look(&mut claim, &["a", "b"], after, 400));
        assert!(!claim.is(ConditionKind::Consolidatable));
        assert_eq!(claim.status.last_pod_event, Some(at(400)));
        assert!(!look(&mut claim, &["b"], after, 405), "changes in quick succession are one");
        assert!(look(&mut claim, &["b"], after, 411));
        assert!(!look(&mut claim, &["b"], after, 710));
        assert!(look(&mut claim, &["b"], after, 711));
        assert!(claim.is(ConditionKind::Consolidatable));
        assert!(!look(&mut claim, &["b"], after, 100_000), "then it stands still");
    }

    #[test]
    fn where_nobody_waits_or_nothing_is_ever_taken_pods_are_not_followed() {
        let mut claim = claim();
        assert!(look(&mut claim, &["a"], After::Time(SignedDuration::ZERO), 10));
        assert!(claim.is(ConditionKind::Consolidatable));
        assert!(!look(&mut claim, &["b"], After::Time(SignedDuration::ZERO), 50));
        assert!(look(&mut claim, &["b"], After::Never, 60), "it was, and is not any more");
        assert!(!look(&mut claim, &["c"], After::Never, 70));
    }
}
