//! When the provider has to be asked, and when not.

use decide::termination::{Situation, plan_for_node};
use model::{Action, ActionResult, Answer, ConditionKind, Launch, Next, Truth};

use crate::fixture::*;

fn never_launched() -> Situation {
    let mut situation = joined();
    situation.nodes.clear();
    situation.claim.launch = Launch::NotBegun;
    situation.claim.status.provider_id = None;
    situation
}

#[test]
fn a_claim_that_was_never_launched_is_released_at_once_and_nobody_is_asked() {
    let mut situation = never_launched();
    situation.claim.termination_grace = Some(seconds(60));
    assert_eq!(steps(&situation), ["release claim"]);
    let conclusion = concluded(&situation, &[]);
    let reason = "claim gpu-1 released: it was never launched".into();
    assert_eq!(conclusion.next, Next::Answer(Answer::Done { reason }));
    assert!(is_silent(&situation, &conclusion));
}

#[test]
fn any_sign_of_a_launch_means_that_the_provider_must_confirm() {
    let mut recorded = never_launched();
    recorded.claim.launch = Launch::Recorded(Box::new(record()));
    let mut named = never_launched();
    named.claim.status.provider_id = Some("azure:///gpu-1".into());
    let mut unreadable = never_launched();
    unreadable.claim.launch = Launch::Unreadable { why: "not JSON".into() };
    for situation in [recorded, named, unreadable] {
        assert_eq!(steps(&situation), ["ensure gone at aks", "release claim"], "{:?}", situation.claim.launch);
    }
}

#[test]
fn without_a_provider_to_ask_the_claim_is_held_and_a_person_is_told_once() {
    let mut situation = never_launched();
    situation.claim.status.provider_id = Some("other:///1".into());
    situation.provider = None;
    assert!(steps(&situation).is_empty());
    let first = concluded(&situation, &[]);
    assert_eq!(reasons(&first), ["FailedTermination"]);
    assert!(first.notes[0].text.contains("configure the provider"), "{}", first.notes[0].text);
    let (truth, reason, _) = says(&first, ConditionKind::InstanceTerminating).unwrap();
    assert_eq!((truth, reason), (Truth::Unknown, "ProviderUnknown"));
    situation.claim.status = first.status;
    assert!(is_silent(&situation, &concluded(&situation, &[])));
}

#[test]
fn a_node_that_nobody_can_name_the_provider_of_is_drained_but_not_deleted() {
    let mut situation = joined();
    situation.provider = None;
    situation.pods = vec![pod("a")];
    assert_eq!(steps(&situation), ["close gpu-1-node", "evict a"]);
}

#[test]
fn a_claim_without_our_finalizer_or_not_deleted_is_left_alone() {
    let mut released = joined();
    released.claim.finalizers = ["example.com/other".to_owned()].into();
    let mut living = joined();
    living.claim.deleted_at = None;
    for situation in [released, living] {
        assert!(steps(&situation).is_empty());
        let conclusion = concluded(&situation, &[]);
        assert!(matches!(conclusion.next, Next::Answer(Answer::Nothing { .. })));
        assert!(is_silent(&situation, &conclusion));
    }
}

#[test]
fn who_loses_the_release_looks_again() {
    let situation = never_launched();
    assert_eq!(concluded(&situation, &[ActionResult::Lost]).next, Next::AtOnce);
    let gone = concluded(&situation, &[ActionResult::WasGone]);
    assert!(matches!(gone.next, Next::Answer(Answer::Done { .. })), "{gone:?}");
}

#[test]
fn a_node_deleted_by_a_person_takes_its_claim_with_it() {
    let mut node = node(NODE);
    let mut claim = claim();
    assert!(plan_for_node(&node, &claim).actions.is_empty(), "the claim goes already");
    claim.deleted_at = None;
    assert!(plan_for_node(&node, &claim).actions.is_empty(), "the node stays");
    node.deleted_at = Some(at(0));
    assert_eq!(plan_for_node(&node, &claim).actions, [Action::DeleteClaim]);
}
