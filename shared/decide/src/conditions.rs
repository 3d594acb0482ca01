//! How a condition is set, the same way everywhere: `since` moves only when the truth does, and Ready follows the others.

use jiff::Timestamp;
use model::{ClaimStatus, Condition, ConditionKind, Truth};

/// What a condition's message is cut to: it is read in a terminal, and every watcher carries it.
pub const LONGEST_MESSAGE: usize = 300;

/// What Ready is made of.
const READY_IS: [ConditionKind; 3] = [ConditionKind::Launched, ConditionKind::Registered, ConditionKind::Initialized];

pub fn set(
    status: &mut ClaimStatus,
    kind: ConditionKind,
    truth: Truth,
    reason: impl Into<String>,
    message: impl AsRef<str>,
    now: Timestamp,
) {
    put(status, kind, truth, reason.into(), message.as_ref(), now);
    if READY_IS.contains(&kind) {
        derive_ready(status, now);
    }
}

/// True, with the reason that Kubernetes' own conditions give then: the kind itself.
pub fn set_true(status: &mut ClaimStatus, kind: ConditionKind, now: Timestamp) {
    set(status, kind, Truth::True, kind.as_str(), "", now);
}

fn put(status: &mut ClaimStatus, kind: ConditionKind, truth: Truth, reason: String, message: &str, now: Timestamp) {
    let message = message.chars().take(LONGEST_MESSAGE).collect();
    match status.conditions.iter_mut().find(|condition| condition.kind == kind) {
        Some(condition) => {
            let since = if condition.status == truth { condition.since } else { now };
            *condition = Condition { kind, status: truth, reason, message, since };
        }
        None => status.conditions.push(Condition { kind, status: truth, reason, message, since: now }),
    }
}

fn derive_ready(status: &mut ClaimStatus, now: Timestamp) {
    let truth_of = |kind: ConditionKind| {
        let found = status.conditions.iter().find(|condition| condition.kind == kind);
        found.map_or(Truth::Unknown, |condition| condition.status)
    };
    let truths = READY_IS.map(|kind| (kind, truth_of(kind)));
    let lacking: Vec<String> = truths
        .iter()
        .filter(|(_, truth)| *truth != Truth::True)
        .map(|(kind, truth)| format!("{}={}", kind.as_str(), truth.as_str()))
        .collect();
    let (truth, reason) = if lacking.is_empty() {
        (Truth::True, ConditionKind::Ready.as_str())
    } else if truths.iter().any(|(_, truth)| *truth == Truth::False) {
        (Truth::False, "UnhealthyDependents")
    } else {
        (Truth::Unknown, "UnhealthyDependents")
    };
    put(status, ConditionKind::Ready, truth, reason.to_owned(), &lacking.join(", "), now);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn find(status: &ClaimStatus, kind: ConditionKind) -> &Condition {
        status.conditions.iter().find(|condition| condition.kind == kind).unwrap()
    }

    #[test]
    fn since_moves_only_when_the_truth_does() {
        let mut status = ClaimStatus::default();
        set(&mut status, ConditionKind::Drained, Truth::Unknown, "Draining", "2 pods left", at(10));
        set(&mut status, ConditionKind::Drained, Truth::Unknown, "Draining", "1 pod left", at(20));
        assert_eq!(find(&status, ConditionKind::Drained).since, at(10));
        assert_eq!(find(&status, ConditionKind::Drained).message, "1 pod left");
        set_true(&mut status, ConditionKind::Drained, at(30));
        assert_eq!(find(&status, ConditionKind::Drained).since, at(30));
        assert_eq!(status.conditions.len(), 1);
    }

    #[test]
    fn a_message_is_cut_between_characters() {
        let mut status = ClaimStatus::default();
        set(&mut status, ConditionKind::Drained, Truth::Unknown, "Draining", "ü".repeat(1000), at(0));
        assert_eq!(find(&status, ConditionKind::Drained).message, "ü".repeat(LONGEST_MESSAGE));
    }

    #[test]
    fn ready_follows_launched_registered_and_initialized() {
        let mut status = ClaimStatus::default();
        set_true(&mut status, ConditionKind::Launched, at(1));
        assert_eq!(find(&status, ConditionKind::Ready).status, Truth::Unknown);
        assert_eq!(find(&status, ConditionKind::Ready).message, "Registered=Unknown, Initialized=Unknown");
        set(&mut status, ConditionKind::Registered, Truth::False, "MultipleNodesFound", "", at(2));
        assert_eq!(find(&status, ConditionKind::Ready).status, Truth::False);
        set_true(&mut status, ConditionKind::Registered, at(3));
        set_true(&mut status, ConditionKind::Initialized, at(4));
        let ready = find(&status, ConditionKind::Ready);
        assert_eq!((ready.status, ready.reason.as_str(), ready.message.as_str()), (Truth::True, "Ready", ""));
        assert_eq!(ready.since, at(4));
    }

    #[test]
    fn other_conditions_do_not_touch_ready() {
        let mut status = ClaimStatus::default();
        set_true(&mut status, ConditionKind::Drained, at(1));
        assert!(status.conditions.iter().all(|condition| condition.kind != ConditionKind::Ready));
    }
}
