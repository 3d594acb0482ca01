//! Which nodes are not well, and what is done about it.

#![allow(clippy::unwrap_used)]

mod common;

use decide::repair::{Patient, Policy, built_in, judge};
use jiff::{SignedDuration, Timestamp};
use model::{disruption::Remedy, *};

fn at(minutes: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + minutes * 60).unwrap()
}

fn node(conditions: &[(&str, Truth, &str)]) -> Node {
    let condition = |(kind, status, reason): &(&str, Truth, &str)| NodeCondition {
        kind: (*kind).to_owned(),
        status: *status,
        reason: (*reason).to_owned(),
        message: String::new(),
        since: Some(at(0)),
    };
    let conditions = conditions.iter().map(condition).collect();
    Node { created_at: at(-100), conditions, ..common::node("n") }
}

fn claim(annotations: &[(&str, String)]) -> Claim {
    let annotations = annotations.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    Claim { created_at: at(-100), annotations, ..common::claim("c") }
}

/// What is found after so many minutes: the remedy, and whether it is urgent.
fn found(conditions: &[(&str, Truth, &str)], minutes: i64) -> Option<(Remedy, bool)> {
    let (node, claim) = (node(conditions), claim(&[]));
    let patient = Patient { node: &node, claim: Some(&claim), can_reboot: true };
    judge(&built_in(), patient, at(minutes)).map(|unhealthy| (unhealthy.remedy, unhealthy.urgent))
}

const REBOOT: Option<(Remedy, bool)> = Some((Remedy::Reboot, false));
const REPLACE: Option<(Remedy, bool)> = Some((Remedy::Replace, false));
const URGENT: Option<(Remedy, bool)> = Some((Remedy::Replace, true));

/// Condition, its status and reason, for how many minutes, and what is done about it: how, and whether at once.
type Case<'a> = (&'a str, Truth, &'a str, i64, Option<(Remedy, bool)>);

#[test]
fn each_condition_is_borne_for_its_time_and_then_acted_on() {
    use Truth::{False, True, Unknown};
    let cases: &[Case<'_>] = &[
        ("Ready", True, "KubeletReady", 1000, None),
        ("Ready", False, "KubeletNotReady", 9, None),
        ("Ready", False, "KubeletNotReady", 10, REBOOT),
        ("Ready", Unknown, "NodeStatusUnknown", 9, None),
        ("Ready", Unknown, "NodeStatusUnknown", 10, REBOOT),
        ("kubernetes.azure.com/NodeHealthy", False, "", 10, REPLACE),
        ("KernelDeadlock", True, "DockerHung", 10, REBOOT),
        ("KernelDeadlock", False, "KernelHasNoDeadlock", 1000, None),
        ("ReadonlyFilesystem", True, "FilesystemIsReadOnly", 10, REBOOT),
        ("FrequentKubeletRestart", True, "FrequentKubeletRestart", 20, REBOOT),
        ("PreemptionScheduled", True, "", 0, URGENT),
        ("PreemptionScheduled", False, "", 1000, None),
        ("DiskPressure", True, "", 1000, None),
        // GPUs.
        ("AcceleratedHardwareReady", False, "NvidiaXID79Error", 5, REBOOT),
        ("AcceleratedHardwareReady", False, "NvidiaXID64Error", 5, REPLACE),
        ("AcceleratedHardwareReady", False, "NvidiaXID31Error", 1000, None),
        ("AcceleratedHardwareReady", False, "SomethingNew", 10, REBOOT),
        ("XIDErrors", True, "XID 92", 5, REPLACE),
        ("XIDErrors", True, "Xid: 119", 5, REBOOT),
        ("XIDErrors", True, "Xid: 13", 1000, None),
        ("GPUMissing", True, "", 5, REBOOT),
    ];
    for (kind, status, reason, minutes, expected) in cases {
        assert_eq!(
            found(&[(kind, *status, reason)], *minutes),
            *expected,
            "{kind} {status:?} {reason} after {minutes}"
        );
    }
}

#[test]
fn of_several_the_more_disruptive_counts() {
    let both = [("KernelDeadlock", Truth::True, ""), ("kubernetes.azure.com/NodeHealthy", Truth::False, "")];
    assert_eq!(found(&both, 10), REPLACE);
    let notice = [("Ready", Truth::False, ""), ("PreemptionScheduled", Truth::True, "")];
    assert_eq!(found(&notice, 10), URGENT);
}

#[test]
fn a_machine_is_started_anew_once_a_day_and_only_where_that_can_be_done() {
    let sick = node(&[("Ready", Truth::False, "KubeletNotReady")]);
    let check = |rebooted: Option<i64>, can_reboot: bool, expected: Remedy| {
        let noted: Vec<_> = rebooted.map(|minutes| (names::REBOOTED_AT, at(minutes).to_string())).into_iter().collect();
        let claim = claim(&noted);
        let unhealthy = judge(&built_in(), Patient { node: &sick, claim: Some(&claim), can_reboot }, at(20)).unwrap();
        assert_eq!(unhealthy.remedy, expected, "{rebooted:?} {can_reboot}");
        assert!(unhealthy.what.contains("Ready is False (KubeletNotReady) since 20 minutes"), "{}", unhealthy.what);
    };
    check(None, true, Remedy::Reboot);
    check(None, false, Remedy::Replace);
    check(Some(-23 * 60), true, Remedy::Replace);
    check(Some(-24 * 60), true, Remedy::Reboot);
}

#[test]
fn whoever_complains_of_a_machine_has_time_to_see_that_a_start_helped() {
    // The condition is of minute 0; the machine came back at minute 30.
    let claim = claim(&[(names::REBOOTED_AT, at(30).to_string())]);
    let check = |condition: &str, minute: i64, expected: Option<Remedy>| {
        let sick = node(&[(condition, Truth::True, "")]);
        let patient = Patient { node: &sick, claim: Some(&claim), can_reboot: true };
        let remedy = judge(&built_in(), patient, at(minute)).map(|unhealthy| unhealthy.remedy);
        assert_eq!(remedy, expected, "{condition} in minute {minute}");
    };
    check("KernelDeadlock", 30, None);
    check("KernelDeadlock", 34, None);
    check("KernelDeadlock", 60, Some(Remedy::Replace));
    check("PreemptionScheduled", 30, Some(Remedy::Replace));
}

#[test]
fn a_policy_of_nothing_does_nothing() {
    let sick = node(&[("Ready", Truth::False, "")]);
    let nothing = Policy {
        condition: "Ready".into(),
        status: Truth::False,
        reason: None,
        tolerate: SignedDuration::ZERO,
        drain_within: None,
        priority: 1,
        remedy: None,
        urgent: false,
    };
    let claim = claim(&[]);
    assert_eq!(judge(&[nothing], Patient { node: &sick, claim: Some(&claim), can_reboot: true }, at(100)), None);
}
