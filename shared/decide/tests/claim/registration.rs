//! A machine becomes a Node: what goes onto it, in one write, once.

use decide::claim::{Situation, plan};
use model::*;

use crate::fixture::*;

use ActionResult::{Lost, WasGone};
use ConditionKind::{Launched, Registered};
use Effect::{NoExecute, NoSchedule};

fn change(situation: &Situation) -> NodeChange {
    match plan(situation).actions.as_slice() {
        [Action::ChangeNode(change)] => change.clone(),
        other => panic!("{other:?}"),
    }
}

fn taints(situation: &Situation) -> Vec<String> {
    let change = change(situation).taints.unwrap_or_else(|| situation.nodes[0].taints.clone());
    change.into_iter().map(|taint| taint.key).collect()
}

#[test]
fn until_its_node_joins_the_claim_waits() {
    assert_eq!(steps(&launched()), Vec::<String>::new());
    let (after, conclusion) = taken(&launched(), &[]);
    let message = "the machine runs; its node has not joined yet";
    assert_eq!(says(&conclusion, Registered), Some((Truth::Unknown, "NodeNotFound", message)));
    assert_eq!(conclusion.next, later(message, 15));
    let (_, again) = taken(&after, &[]);
    assert!(is_silent(&after, &again));
}

#[test]
fn the_claims_labels_go_onto_the_node_with_its_own_two_marks() {
    let mut expected = joining().claim.labels;
    assert_eq!(expected.get("team").map(String::as_str), Some("vision"), "also those it got by being launched");
    expected.extend(text(&[(names::REGISTERED, "true"), (names::CLAIM_UID, "c-1")]));
    let expected = expected.into_iter().map(|(key, value)| (key, Some(value))).collect();
    assert_eq!(change(&joining()).labels, expected);
}

#[test]
fn the_claims_annotations_go_onto_the_node_and_our_own_notes_do_not() {
    let mut situation = joining();
    let own = [names::LAUNCH, names::TERMINATION_TIMESTAMP, "kubectl.kubernetes.io/last-applied-configuration"];
    situation.claim.annotations.extend(own.map(|key| (key.to_owned(), "ours".to_owned())));
    situation.claim.annotations.insert(names::DO_NOT_DISRUPT.into(), "true".into());
    let expected = [(names::DO_NOT_DISRUPT, "true"), ("note", "of the team")];
    let expected = expected.map(|(key, value)| (key.to_owned(), Some(value.to_owned()))).into();
    assert_eq!(change(&situation).annotations, expected);
}

#[test]
fn the_claim_owns_the_node_and_holds_it() {
    let change = change(&joining());
    assert_eq!(change.finalizer, FinalizerChange::Add);
    assert_eq!(change.owner, OwnerChange::Add(joining().claim.key));
    assert_eq!((change.name, change.version), (name(NODE), joining().nodes[0].version.clone()));
}

#[test]
fn taints_and_startup_taints_go_on_and_the_taint_of_the_unregistered_goes_off() {
    assert_eq!(taints(&joining()), ["node.kubernetes.io/not-ready", "sku", "cni"]);
}

#[test]
fn a_taint_that_the_node_has_stays_as_it_is_and_one_with_another_effect_is_another() {
    let mut situation = joining();
    let of_the_node = Taint { value: "gpu".into(), ..taint("sku", NoSchedule) };
    situation.nodes[0].taints = vec![of_the_node.clone(), taint("cni", NoSchedule)];
    let expected = vec![of_the_node, taint("cni", NoSchedule), taint("cni", NoExecute)];
    assert_eq!(change(&situation).taints, Some(expected));
}

#[test]
fn a_node_that_keeps_control_of_its_taints_only_loses_the_one_of_the_unregistered() {
    let mut situation = joining();
    situation.nodes[0].labels.insert(names::DO_NOT_SYNC_TAINTS.into(), "true".into());
    assert_eq!(taints(&situation), ["node.kubernetes.io/not-ready"]);
    situation.nodes[0].labels.insert(names::DO_NOT_SYNC_TAINTS.into(), "false".into());
    assert_eq!(taints(&situation), taints(&joining()));
}

#[test]
fn a_registered_claim_names_its_node_and_takes_the_next_step_at_once() {
    let (after, conclusion) = taken(&joining(), &[]);
    assert_eq!(says(&conclusion, Registered), Some((Truth::True, "Registered", "node aks-gpu1-0 has joined")));
    assert_eq!(events(&conclusion), ["Registered"]);
    assert_eq!(conclusion.notes[0].text, "node aks-gpu1-0 has joined");
    assert_eq!(conclusion.next, Next::AtOnce);
    let status = after.claim.status;
    assert_eq!((status.node.as_deref(), status.provider_id.as_deref()), (Some(NODE), Some(PROVIDER_ID)));
    assert_eq!(status.image.as_deref(), Some("AKSUbuntu-2204"), "the cloud's word, if it had one");
}

#[test]
fn where_the_cloud_does_not_name_the_image_the_node_does() {
    let mut situation = joining();
    situation.claim.status.image = None;
    assert_eq!(taken(&situation, &[]).0.claim.status.image.as_deref(), Some("Ubuntu 22.04"));
}

#[test]
fn a_node_that_came_open_is_told_about_and_registered_all_the_same() {
    let mut situation = joining();
    situation.nodes[0].taints.clear();
    let (after, conclusion) = taken(&situation, &[]);
    let text = "node aks-gpu1-0 has joined; it came without the taint that keeps pods away until now";
    assert_eq!(conclusion.notes[0].text, text);
    assert!(after.claim.is(Registered));
}

#[test]
fn whoever_crashed_between_node_and_status_writes_the_node_no_second_time() {
    let mut crashed = joining();
    change_node(&mut crashed.nodes[0], &change(&joining()));
    // Meanwhile whoever waited for the startup taint has done its work.
    for startup_taint_is_gone in [false, true] {
        crashed.nodes[0].taints.retain(|taint| !startup_taint_is_gone || taint.key != "cni");
        assert_eq!(steps(&crashed), Vec::<String>::new());
        let (after, _) = taken(&crashed, &[]);
        assert!(after.claim.is(Registered));
    }
}

#[test]
fn a_write_that_did_not_come_out_registers_nothing() {
    let failure = failed("Unavailable", Retry::SameAfter(core::time::Duration::from_secs(4)));
    for (result, next) in [
        (Lost, later("somebody else is working on it", 1)),
        (WasGone, later("its node is gone", 1)),
        (failure, later("making agent pool gpu1: Unavailable", 4)),
    ] {
        let (_, conclusion) = taken(&joining(), &[result]);
        assert!(is_silent(&joining(), &conclusion), "{conclusion:?}");
        assert_eq!(conclusion.next, next);
    }
}

#[test]
fn several_nodes_for_one_machine_are_a_question_for_a_person_and_answered_when_one_is_left() {
    let several = Situation { nodes: vec![node(NODE), node("aks-gpu1-1")], ..joining() };
    assert_eq!(steps(&several), Vec::<String>::new());
    let (after, conclusion) = taken(&several, &[]);
    let message = "several nodes say that they are this machine: aks-gpu1-0, aks-gpu1-1";
    assert_eq!(says(&conclusion, Registered), Some((Truth::False, "MultipleNodesFound", message)));
    assert_eq!(events(&conclusion), ["MultipleNodesFound!"]);
    assert_eq!(conclusion.next, later(message, 60));
    let (_, again) = taken(&after, &[]);
    assert!(is_silent(&after, &again), "told once");

    let one_is_left = Situation { nodes: vec![node(NODE)], ..after };
    let (after, _) = taken(&one_is_left, &[]);
    assert!(after.claim.is(Registered) && after.claim.is(Launched));
}

#[test]
fn a_node_that_comes_back_from_being_off_is_opened_for_its_new_claim() {
    let mut situation = joining();
    let node = &mut situation.nodes[0];
    node.annotations = text(&[(names::OFF_SINCE, "2026-11-16T20:00:00Z")]);
    node.labels = text(&[
        (names::EXCLUDE_FROM_BALANCERS, "karpenter"),
        (names::REGISTERED, "true"),
        (names::CLAIM_UID, "the one before"),
    ]);
    node.taints = vec![taint(names::DISRUPTED_TAINT, NoSchedule), taint(names::OUT_OF_SERVICE_TAINT, NoExecute)];
    let change = change(&situation);
    assert_eq!(change.annotations[names::OFF_SINCE], None, "removed");
    assert_eq!(change.labels[names::EXCLUDE_FROM_BALANCERS], None, "removed");
    assert_eq!(change.labels[names::CLAIM_UID].as_deref(), Some("c-1"));
    assert_eq!(taints(&situation), ["sku", "cni"]);
    let (after, _) = taken(&situation, &[]);
    assert!(after.nodes[0].annotations.keys().all(|key| key != names::OFF_SINCE));
    assert!(after.claim.is(Registered));
}
