//! Volumes are waited for, until a deadline if there is one.

use core::time::Duration;
use model::*;

use crate::fixture::*;

#[test]
fn the_machine_waits_for_volumes_to_be_detached() {
    let mut situation = draining(6);
    situation.attachments = vec![volume("pv-1"), volume("pv-2")];
    assert!(steps(&situation).is_empty());
    let conclusion = concluded(&situation, &[]);
    let text = "waiting for 2 volumes to be detached (pv-1, pv-2)";
    assert_eq!(says(&conclusion, ConditionKind::Drained).unwrap().0, Truth::True);
    let expected = (Truth::Unknown, "AwaitingVolumeDetachment", text);
    assert_eq!(says(&conclusion, ConditionKind::VolumesDetached), Some(expected));
    assert_eq!(reasons(&conclusion), ["AwaitingVolumeDetachment"]);
    assert_eq!(conclusion.next, later(&format!("node gpu-1-node: {text}"), Duration::from_secs(1)));

    situation.claim.status = conclusion.status;
    situation.now = at(1_000_000);
    let quiet = concluded(&situation, &[]);
    assert!(is_silent(&situation, &quiet), "without a deadline it waits as long as they are there");
    assert_eq!(after(&quiet), Some(Duration::from_secs(10)));
}

#[test]
fn volumes_of_pods_that_stay_are_not_waited_for() {
    let mut situation = draining(6);
    situation.attachments = vec![VolumeAttached { of_staying_pod: true, ..volume("pv-1") }];
    assert_eq!(steps(&situation)[0], "ensure gone at aks");
}

#[test]
fn volumes_are_not_looked_at_before_the_pods_are_gone() {
    let mut situation = draining(6);
    situation.pods = vec![pod("a")];
    situation.attachments = vec![volume("pv-1")];
    assert_eq!(steps(&situation), ["evict a"]);
    assert_eq!(says(&concluded(&situation, &[]), ConditionKind::VolumesDetached), None);
}

#[test]
fn the_deadline_ends_the_waiting() {
    let mut situation = draining(6);
    situation.attachments = vec![volume("pv-1")];
    situation.claim.annotations.insert(names::TERMINATION_TIMESTAMP.into(), at(10).to_string());
    assert!(steps(&situation).is_empty());
    situation.now = at(10);
    assert_eq!(steps(&situation)[0], "ensure gone at aks");
    let progress = Gone::InProgress { progress: Progress("removing".into()), look_again_seconds: 5 };
    let conclusion = concluded(&situation, &[ActionResult::Gone(progress)]);
    let text = "the deadline passed with 1 volume left (pv-1)";
    let expected = (Truth::False, "TerminationGracePeriodElapsed", text);
    assert_eq!(says(&conclusion, ConditionKind::VolumesDetached), Some(expected));
    assert_eq!(says(&conclusion, ConditionKind::Drained).unwrap().0, Truth::True);
}
