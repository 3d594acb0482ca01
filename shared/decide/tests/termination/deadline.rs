//! A deadline that somebody set: when it is written, and what it does to pods.

use core::time::Duration;
use decide::termination::{Situation, plan};
use model::*;

use crate::fixture::*;

/// A drain that began at second 0 and has to end at second 100.
fn bounded(lasted: i64) -> Situation {
    let mut situation = draining(lasted);
    situation.claim.annotations.insert(names::TERMINATION_TIMESTAMP.into(), at(100).to_string());
    situation
}

#[test]
fn the_deadline_is_written_first_and_announced() {
    let mut situation = joined();
    situation.claim.termination_grace = Some(seconds(100));
    let written = format!("annotate claim [\"{}\"]", at(100));
    assert_eq!(steps(&situation), [written.as_str(), "close gpu-1-node", "delete gpu-1-node"]);
    let conclusion = concluded(&situation, &[]);
    assert_eq!(reasons(&conclusion), ["TerminationGracePeriodExpiring"]);
    let lost = concluded(&situation, &[ActionResult::Lost, ActionResult::NotTried, ActionResult::NotTried]);
    assert!(is_silent(&situation, &lost));

    situation.nodes.clear();
    assert_eq!(steps(&situation), [written], "one write of the claim in a plan");
    assert_eq!(concluded(&situation, &[]).next, Next::AtOnce);
}

#[test]
fn a_deadline_that_stands_there_is_kept() {
    let mut situation = bounded(1);
    for grace in [None, Some(seconds(5))] {
        situation.claim.termination_grace = grace;
        assert!(steps(&situation).is_empty());
    }
    situation.pods = vec![Pod { grace: seconds(60), ..pod("a") }];
    situation.now = at(40);
    assert_eq!(steps(&situation), ["delete pod a in 60 s"]);
}

#[test]
fn a_deadline_that_is_no_time_is_as_good_as_none_and_a_person_is_told() {
    let mut situation = joined();
    situation.claim.annotations.insert(names::TERMINATION_TIMESTAMP.into(), "tomorrow".into());
    assert_eq!(reasons(&concluded(&situation, &[])), ["InvalidTerminationTimestamp"]);

    situation.claim.termination_grace = Some(seconds(100));
    assert!(matches!(&plan(&situation).actions[0], Action::ChangeClaim(change) if change.annotations.len() == 1));
    let both = ["InvalidTerminationTimestamp", "TerminationGracePeriodExpiring"];
    assert_eq!(reasons(&concluded(&situation, &[])), both);

    let mut later = draining(3);
    later.claim.annotations = situation.claim.annotations;
    assert!(is_silent(&later, &concluded(&later, &[])), "told once");
}

#[test]
fn a_pod_is_told_to_go_when_its_own_grace_would_pass_the_deadline() {
    for (now, expected) in
        [(69, "evict a"), (70, "delete pod a in 30 s"), (90, "delete pod a in 10 s"), (150, "delete pod a in 1 s")]
    {
        let mut situation = bounded(now);
        situation.pods = vec![pod("a")];
        assert_eq!(steps(&situation), [expected], "second {now}");
    }
    let mut situation = bounded(100);
    situation.pods = vec![Pod { grace: seconds(0), ..pod("a") }];
    assert_eq!(steps(&situation), ["delete pod a in 1 s"]);
}

#[test]
fn the_deadline_asks_neither_tiers_nor_budgets_nor_do_not_disrupt() {
    let mut situation = bounded(80);
    situation.pods = vec![
        Pod { grace: seconds(5), ..pod("plain") },
        Pod { kind: PodKind::Daemon, critical: true, ..pod("critical-daemon") },
        Pod { do_not_disrupt: Some("true".into()), ..pod("protected") },
    ];
    let expected = ["delete pod critical-daemon in 20 s", "delete pod protected in 20 s", "evict plain"];
    assert_eq!(steps(&situation), expected);
}

#[test]
fn a_pod_that_would_end_too_late_is_told_again_and_only_then() {
    for (gone_by, expected) in [(100, None), (500, Some("delete pod a in 60 s"))] {
        let mut situation = bounded(40);
        situation.pods = vec![Pod { deleted_at: Some(at(gone_by)), ..pod("a") }];
        assert_eq!(steps(&situation).first().map(String::as_str), expected, "gone by {gone_by}");
    }
    let mut situation = bounded(110);
    situation.pods = vec![Pod { deleted_at: Some(at(111)), ..pod("a") }];
    assert!(steps(&situation).is_empty(), "it cannot go sooner than in a second");
}

#[test]
fn the_next_look_is_not_later_than_the_next_pod_to_be_told() {
    let mut situation = bounded(66);
    situation.pods = vec![Pod { do_not_disrupt: Some("true".into()), ..pod("a") }];
    assert_eq!(after(&concluded(&situation, &[])), Some(Duration::from_secs(4)));
}

#[test]
fn a_pod_that_will_not_go_holds_the_machine_for_a_minute_past_the_deadline() {
    let mut situation = bounded(160);
    situation.pods = vec![pod("zombie")];
    assert_eq!(steps(&situation), ["delete pod zombie in 1 s"]);
    situation.now = at(161);
    assert_eq!(steps(&situation), ["ensure gone at aks", "release gpu-1-node", "release claim"]);
    let progress = Gone::InProgress { progress: Progress("removing".into()), look_again_seconds: 5 };
    let conclusion = concluded(&situation, &[ActionResult::Gone(progress)]);
    let text = "the deadline passed with 1 pod left (team/zombie)";
    let expected = (Truth::False, "TerminationGracePeriodElapsed", text);
    assert_eq!(says(&conclusion, ConditionKind::Drained), Some(expected));
}

#[test]
fn a_deadline_long_past_still_lets_pods_end() {
    let mut situation = draining(1);
    situation.claim.annotations.insert(names::TERMINATION_TIMESTAMP.into(), at(-100_000).to_string());
    situation.pods = vec![pod("a")];
    assert_eq!(steps(&situation), ["delete pod a in 1 s"]);
}

#[test]
fn times_at_the_edge_of_the_calendar_do_no_harm() {
    for grace in [jiff::SignedDuration::MAX, jiff::SignedDuration::MIN] {
        let mut situation = joined();
        situation.claim.termination_grace = Some(grace);
        situation.pods = vec![Pod { grace, do_not_disrupt: Some("2562047h".into()), ..pod("a") }];
        situation.pods[0].started_at = Some(jiff::Timestamp::MAX);
        assert!(steps(&situation).len() >= 3);
    }
}
