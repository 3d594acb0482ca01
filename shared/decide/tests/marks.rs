//! What a claim says of itself: since when nothing happens on its node, that it has drifted, and what keeps it. The same look
//! writes nothing more.

#![allow(clippy::unwrap_used)]

mod common;

use decide::{
    conditions,
    marks::{Seen, mark, newly_blocked},
    quiet::note,
};
use jiff::{SignedDuration, Timestamp};
use model::{
    Claim, ClaimStatus, ConditionKind, ObjectName, Uid,
    disruption::{After, Drift, Kept, KeptCode},
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).unwrap()
}

/// One that is usable since the beginning.
fn claim() -> Claim {
    let mut status = ClaimStatus::default();
    conditions::set_true(&mut status, ConditionKind::Initialized, at(0));
    Claim { created_at: at(0), status, ..common::claim("c") }
}

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

fn drift(reason: &str) -> Drift {
    Drift { reason: reason.to_owned(), message: "it has changed".to_owned(), since: at(0) }
}

fn kept(code: KeptCode, words: &str) -> Kept {
    Kept { node: ObjectName::new("n").unwrap(), code, reason: words.to_owned() }
}

/// Looks twice: the second time there is nothing to write. Whether the first wrote, and what the condition then says.
fn look_at(
    claim: &mut Claim,
    drift: Option<Option<&Drift>>,
    kept: Option<&Kept>,
    kind: ConditionKind,
    now: i64,
) -> (bool, Option<String>) {
    let seen = Seen { pods: &[], after: After::Never, drift, kept };
    let written = mark(claim, seen, at(now));
    let is_new = written.is_some();
    claim.status = written.unwrap_or(claim.status.clone());
    assert_eq!(mark(claim, seen, at(now + 1000)), None, "it settles");
    (is_new, claim.condition(kind).map(|one| format!("{} {} {}", one.status.as_str(), one.reason, one.message)))
}

#[test]
fn a_drift_is_said_while_it_is_one_and_not_touched_where_nobody_can_judge_it() {
    let (mut claim, kind) = (claim(), ConditionKind::Drifted);
    assert_eq!(look_at(&mut claim, Some(None), None, kind, 10), (false, None));
    let found = drift("NodePoolDrifted");
    let said = Some("True NodePoolDrifted it has changed".to_owned());
    assert_eq!(look_at(&mut claim, Some(Some(&found)), None, kind, 20), (true, said.clone()));
    assert_eq!(look_at(&mut claim, None, None, kind, 30), (false, said));
    assert_eq!(claim.condition(kind).unwrap().since, at(20));
    assert_eq!(look_at(&mut claim, Some(None), None, kind, 40), (true, None));
}

#[test]
fn what_a_person_can_change_is_said_and_what_is_as_it_should_be_is_not() {
    let (mut claim, kind) = (claim(), ConditionKind::DisruptionBlocked);
    let before = claim.status.clone();
    let budget = kept(KeptCode::PodDisruptionBudget, "PodDisruptionBudget a/b lets pod a/c not go now");
    let said = "True PodDisruptionBudget PodDisruptionBudget a/b lets pod a/c not go now".to_owned();
    assert_eq!(look_at(&mut claim, None, Some(&budget), kind, 10), (true, Some(said)));
    assert_eq!(newly_blocked(&before, &claim.status), Some(budget.reason.clone()));
    assert_eq!(newly_blocked(&claim.status, &claim.status), None);
    let cheap = kept(KeptCode::NotCheaper, "nothing is cheaper");
    assert_eq!(look_at(&mut claim, None, Some(&cheap), kind, 20), (true, None));
    // Its pods have no other place: how it should be, unless it has to leave.
    let full = kept(KeptCode::NoOtherPlace, "no replacement can be made for it now");
    assert_eq!(look_at(&mut claim, Some(None), Some(&full), kind, 30), (false, None));
    let found = drift("NodePoolDrifted");
    let (_, said) = look_at(&mut claim, Some(Some(&found)), Some(&full), kind, 40);
    assert_eq!(said.as_deref(), Some("True NoOtherPlace no replacement can be made for it now"));
}
