//! Who is asked to go, in which order, and who holds the node.

use core::time::Duration;
use model::*;

use crate::fixture::*;

fn tiers() -> Vec<Pod> {
    let of = |text: &str, kind, critical| Pod { kind, critical, ..pod(text) };
    vec![
        of("critical-daemon", PodKind::Daemon, true),
        of("critical", PodKind::Ordinary, true),
        of("daemon", PodKind::Daemon, false),
        of("plain", PodKind::Ordinary, false),
    ]
}

#[test]
fn there_are_four_tiers_and_each_must_be_empty_before_the_next() {
    let mut situation = draining(1);
    situation.pods = tiers();
    for expected in ["plain", "daemon", "critical", "critical-daemon"] {
        assert_eq!(steps(&situation), [format!("evict {expected}")]);
        situation.pods.last_mut().unwrap().deleted_at = Some(at(20));
        assert!(steps(&situation).is_empty(), "what is terminating holds its tier");
        situation.pods.pop();
    }
}

#[test]
fn all_of_a_tier_are_asked_side_by_side_a_hundred_in_a_step() {
    let mut situation = draining(1);
    situation.pods = (0..150).map(|number| pod(&format!("p-{number}"))).collect();
    assert_eq!(steps(&situation).len(), 100);
    assert_eq!(concluded(&situation, &[]).next, Next::AtOnce);
    let refused = concluded(&situation, &vec![not_now(); 100]);
    assert!(matches!(refused.next, Next::Answer(Answer::Later { .. })), "no hot loop when nobody goes");
}

#[test]
fn some_pods_are_nobodys_business() {
    let mut situation = draining(100);
    situation.pods = vec![
        Pod { kind: PodKind::Mirror, ..pod("mirror") },
        Pod { terminal: true, ..pod("finished") },
        Pod { kind: PodKind::Daemon, tolerations: vec![of_the_taint()], ..pod("daemon") },
        Pod { kind: PodKind::Daemon, tolerations: vec![of_all()], ..pod("daemon-of-all") },
        Pod { deleted_at: Some(at(39)), ..pod("stuck") },
    ];
    assert_eq!(steps(&situation), ["ensure gone at aks", "release gpu-1-node", "release claim"]);
    situation.pods[4].deleted_at = Some(at(40));
    assert!(steps(&situation).is_empty(), "a minute exactly is not more than a minute");
}

fn of_the_taint() -> Toleration {
    Toleration { key: Some(names::DISRUPTED_TAINT.into()), value: None, effect: None }
}

fn of_all() -> Toleration {
    Toleration { key: None, value: None, effect: None }
}

#[test]
fn work_that_tolerates_everything_is_work_and_is_asked_to_go() {
    for toleration in [of_the_taint(), of_all()] {
        let mut situation = draining(1000);
        situation.pods = vec![Pod { tolerations: vec![toleration], ..pod("train-0") }];
        assert_eq!(steps(&situation), ["evict train-0"]);
        situation.pods[0].deleted_at = Some(at(1030));
        assert!(steps(&situation).is_empty(), "the machine waits for it like for any other");
    }
}

#[test]
fn work_that_comes_back_to_a_node_that_goes_is_sent_away_for_five_minutes() {
    for started in [Some(at(2)), None] {
        for (second, expected) in [(10, vec!["evict back"]), (300, vec!["evict back"])] {
            let mut situation = draining(second);
            situation.pods = vec![Pod { tolerations: vec![of_all()], started_at: started, ..pod("back") }];
            assert_eq!(steps(&situation), expected, "in second {second}");
        }
        let mut situation = draining(301);
        situation.pods = vec![Pod { tolerations: vec![of_all()], started_at: started, ..pod("back") }];
        assert_eq!(steps(&situation), ["ensure gone at aks", "release gpu-1-node", "release claim"]);
        situation.pods[0].tolerations.clear();
        assert_eq!(steps(&situation), ["evict back"], "who does not tolerate it did not choose to come");
    }
}

#[test]
fn do_not_disrupt_holds_the_node_without_being_asked() {
    // Started 600 s before the claim was deleted; it is second 1.
    let cases = [("true", true), ("20m", true), ("601.5s", true), ("10m", false), ("-20m", false), ("0", false)];
    for (text, holds) in cases.into_iter().chain([("false", false), ("", false), ("for ever", false), ("True", false)])
    {
        let mut situation = draining(1);
        situation.pods = vec![Pod { do_not_disrupt: Some(text.into()), ..pod("a") }];
        assert_eq!(steps(&situation).is_empty(), holds, "{text}");
    }
    let mut situation = draining(1);
    situation.pods = vec![Pod { do_not_disrupt: Some("1s".into()), started_at: None, ..pod("a") }];
    assert!(steps(&situation).is_empty(), "one that has not started has all its time before it");
}

#[test]
fn a_protected_pod_holds_its_tier_but_not_its_neighbours() {
    let mut situation = draining(1);
    let protected = Pod { do_not_disrupt: Some("true".into()), ..pod("train-0") };
    situation.pods = vec![protected, pod("b"), Pod { critical: true, ..pod("c") }];
    assert_eq!(steps(&situation), ["evict b"]);
    let reason = "draining node gpu-1-node: 3 pods left, 1 marked do-not-disrupt (team/train-0)";
    assert_eq!(concluded(&situation, &[]).next, later(reason, Duration::from_secs(1)));
}

#[test]
fn a_refused_eviction_is_told_in_plain_words_and_once() {
    let mut situation = draining(3);
    situation.pods = vec![pod("db-0"), pod("b"), pod("c")];
    let results = [not_now(), ActionResult::Done, ActionResult::Done];
    let first = concluded(&situation, &results);
    let text = "3 pods left, 1 held by a disruption budget (team/db-0)";
    assert_eq!(first.next, later(&format!("draining node gpu-1-node: {text}"), Duration::from_secs(3)));
    assert_eq!(says(&first, ConditionKind::Drained), Some((Truth::Unknown, "Draining", text)));
    assert_eq!(reasons(&first), ["FailedDraining"]);
    assert_eq!(
        first.notes[0].text,
        "pod team/db-0 could not be evicted from node gpu-1-node: the disruption budget team/db needs 1 more healthy pod"
    );
    situation.claim.status = first.status;
    situation.now = at(6);
    assert!(is_silent(&situation, &concluded(&situation, &results)), "the world stands still, and so do we");
}

#[test]
fn looks_slow_down_from_a_tenth_of_a_second_to_ten_seconds() {
    for (lasted, expected) in [(0, 100), (200, 200), (3_000, 3_000), (60_000, 10_000)] {
        let mut situation = draining(0);
        situation.now = at(0).checked_add(jiff::SignedDuration::from_millis(lasted)).unwrap();
        situation.pods = vec![pod("db-0")];
        let conclusion = concluded(&situation, &[not_now()]);
        assert_eq!(after(&conclusion), Some(Duration::from_millis(expected)), "{lasted}");
    }
}

#[test]
fn pods_that_are_gone_are_no_failure_and_errors_are_told() {
    let mut situation = draining(3);
    situation.pods = vec![pod("a"), pod("b"), pod("c")];
    let results =
        [ActionResult::WasGone, ActionResult::Lost, failed("Unavailable", Retry::SameAfter(Duration::from_secs(8)))];
    let conclusion = concluded(&situation, &results);
    let reason = "draining node gpu-1-node: 1 pod left, 1 not evicted because of errors (team/c)";
    assert_eq!(conclusion.next, later(reason, Duration::from_secs(8)));
    assert_eq!(reasons(&conclusion), ["FailedDraining"]);
}

#[test]
fn long_lists_of_names_are_cut() {
    let mut situation = draining(3);
    situation.pods = (0..5).map(|number| pod(&format!("p-{number}"))).collect();
    let conclusion = concluded(&situation, &vec![not_now(); 5]);
    let (_, _, message) = says(&conclusion, ConditionKind::Drained).unwrap();
    assert_eq!(message, "5 pods left, 5 held by a disruption budget (team/p-0, team/p-1, team/p-2 and 2 more)");
    assert!(conclusion.notes[0].text.ends_with("(4 pods more)"), "{}", conclusion.notes[0].text);
}

#[test]
fn an_empty_node_is_watched_for_five_seconds_and_then_goes() {
    let mut situation = joined();
    assert_eq!(after(&concluded(&situation, &[])), Some(Duration::from_secs(5)));
    situation = draining(4);
    assert!(steps(&situation).is_empty());
    let waiting = concluded(&situation, &[]);
    assert_eq!(after(&waiting), Some(Duration::from_secs(1)));
    assert!(is_silent(&situation, &waiting));
    situation = draining(5);
    assert_eq!(steps(&situation), ["ensure gone at aks", "release gpu-1-node", "release claim"]);
}

#[test]
fn a_node_that_was_tainted_before_is_watched_all_the_same() {
    let mut situation = draining(100);
    situation.claim.status.conditions.clear();
    assert!(steps(&situation).is_empty(), "nobody has watched it yet");
    let conclusion = concluded(&situation, &[]);
    assert_eq!(find(&conclusion.status, ConditionKind::Drained).unwrap().since, at(100));
    assert_eq!(after(&conclusion), Some(Duration::from_secs(5)));
}

#[test]
fn a_pod_that_came_after_all_begins_the_drain_again() {
    let mut situation = draining(100);
    set(&mut situation, ConditionKind::Drained, Truth::True, "", 50);
    situation.pods = vec![pod("late")];
    assert_eq!(steps(&situation), ["evict late"]);
    let conclusion = concluded(&situation, &[]);
    let drained = find(&conclusion.status, ConditionKind::Drained).unwrap();
    assert_eq!((drained.status, drained.since), (Truth::Unknown, at(100)));
}
