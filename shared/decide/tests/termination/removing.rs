//! The machine itself: nothing but the provider's confirmation lets go of the claim.

use core::time::Duration;
use decide::termination::{Situation, plan};
use model::*;

use crate::fixture::*;

fn in_progress(text: &str) -> ActionResult {
    ActionResult::Gone(Gone::InProgress { progress: Progress(text.into()), look_again_seconds: 15 })
}

fn progress_asked_with(situation: &Situation) -> Option<Progress> {
    match &plan(situation).actions[0] {
        Action::EnsureGone { progress, .. } => progress.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_claim_that_never_joined_goes_straight_to_the_provider() {
    let mut situation = joined();
    situation.nodes.clear();
    assert_eq!(steps(&situation), ["ensure gone at aks", "release claim"]);
}

#[test]
fn confirmed_lets_go_of_the_nodes_and_last_of_the_claim() {
    let situation = removing();
    assert_eq!(steps(&situation), ["ensure gone at aks", "release gpu-1-node", "release claim"]);
    let conclusion = concluded(&situation, &[ActionResult::Gone(Gone::Confirmed)]);
    let reason = "instance of gpu-1 is gone; claim released".into();
    assert_eq!(conclusion.next, Next::Answer(Answer::Done { reason }));
    assert!(is_silent(&situation, &conclusion), "there is no object any more to write to");
}

#[test]
fn whoever_loses_a_write_after_the_confirmation_looks_again() {
    let situation = removing();
    let confirmed = ActionResult::Gone(Gone::Confirmed);
    for result in [ActionResult::Lost, ActionResult::WasGone] {
        let conclusion = concluded(&situation, &[confirmed.clone(), result, ActionResult::NotTried]);
        assert_eq!(conclusion.next, Next::AtOnce);
    }
    let lost = concluded(&situation, &[confirmed.clone(), ActionResult::Done, ActionResult::Lost]);
    assert_eq!(lost.next, Next::AtOnce);
    let untried = concluded(&situation, &[confirmed, ActionResult::NotTried, ActionResult::NotTried]);
    assert_eq!(after(&untried), Some(Duration::from_secs(1)), "no hot loop");
}

#[test]
fn progress_is_kept_in_the_record_so_that_any_machine_can_go_on() {
    let mut situation = draining(6);
    assert_eq!(progress_asked_with(&situation), None, "what the record says is of the making");
    let conclusion =
        concluded(&situation, &[in_progress("operation 7"), ActionResult::NotTried, ActionResult::NotTried]);
    assert_eq!(conclusion.next, later("instance of gpu-1 is being removed", Duration::from_secs(15)));
    for kind in [ConditionKind::Drained, ConditionKind::VolumesDetached, ConditionKind::InstanceTerminating] {
        assert_eq!(says(&conclusion, kind), Some((Truth::True, kind.as_str(), "")));
    }
    let record = conclusion.claim.record.clone().unwrap();
    assert_eq!(record.progress, Some(Progress("operation 7".into())));

    situation.claim.launch = Launch::Recorded(record);
    situation.claim.status = conclusion.status;
    assert_eq!(progress_asked_with(&situation), Some(Progress("operation 7".into())));
    assert!(is_silent(&situation, &concluded(&situation, &[in_progress("operation 7")])), "nothing is new");
}

#[test]
fn a_claim_without_a_record_is_removed_by_its_key_alone() {
    let mut situation = removing();
    situation.claim.launch = Launch::NotBegun;
    assert_eq!(progress_asked_with(&situation), None);
    assert!(concluded(&situation, &[in_progress("operation 7")]).claim.is_empty());
}

#[test]
fn what_passes_by_itself_is_tried_again_and_changes_nothing() {
    let cases = [
        ("Throttled", Retry::SameAfter(Duration::from_secs(17)), 17),
        ("Unavailable", Retry::SameAfter(Duration::from_secs(10)), 10),
        ("Uncertain", Retry::ReadBack, 2),
    ];
    for (reason, retry, seconds) in cases {
        let situation = removing();
        let conclusion =
            concluded(&situation, &[failed(reason, retry), ActionResult::NotTried, ActionResult::NotTried]);
        let text = format!("removing the instance of gpu-1: deleting agent pool gpu1: {reason}");
        assert_eq!(conclusion.next, later(&text, Duration::from_secs(seconds)));
        assert!(is_silent(&situation, &conclusion), "{reason}");
    }
}

#[test]
fn what_only_a_person_can_mend_is_told_once_and_tried_every_minute() {
    for reason in ["Unauthorized", "InvalidRequest", "Conflict"] {
        let mut situation = removing();
        let results = [failed(reason, Retry::Never), ActionResult::NotTried, ActionResult::NotTried];
        let first = concluded(&situation, &results);
        let text = format!("deleting agent pool gpu1: {reason}");
        let expected = (Truth::Unknown, reason, text.as_str());
        assert_eq!(says(&first, ConditionKind::InstanceTerminating), Some(expected));
        assert_eq!(reasons(&first), ["FailedTermination"]);
        assert!(first.notes[0].warning);
        assert_eq!(after(&first), Some(Duration::from_secs(60)));
        situation.claim.status = first.status;
        assert!(is_silent(&situation, &concluded(&situation, &results)), "{reason}");
    }
}

#[test]
fn nothing_else_that_comes_back_counts_as_gone() {
    let situation = removing();
    for result in [ActionResult::Done, ActionResult::WasGone, ActionResult::Lost, ActionResult::NotTried, not_now()] {
        let conclusion = concluded(&situation, &[result.clone(), ActionResult::NotTried, ActionResult::NotTried]);
        assert!(matches!(conclusion.next, Next::Answer(Answer::Later { .. })), "{result:?}");
    }
}

#[test]
fn once_removal_is_ordered_pods_do_not_call_it_back_but_a_refused_order_is_no_order() {
    let mut situation = removing();
    situation.pods = vec![pod("late")];
    assert_eq!(steps(&situation)[0], "ensure gone at aks");
    set(&mut situation, ConditionKind::InstanceTerminating, Truth::Unknown, "not allowed", 6);
    assert_eq!(steps(&situation), ["evict late"]);
}
