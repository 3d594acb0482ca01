//! From a wish to a machine: the intent before the effect, and the same effect whoever goes on.

use decide::claim::{OfferingsSeen, Policy, needs_offerings, plan};
use model::*;

use crate::fixture::*;

use ActionResult::{Done, Lost, NotTried, WasGone};
use ConditionKind::{Launched, Ready};

#[test]
fn finalizer_and_record_are_one_write_before_the_first_call_and_nothing_else_is_in_it() {
    let actions = plan(&asked()).actions;
    let [Action::ChangeClaim(write), Action::Ensure { request, progress: None }] = actions.as_slice() else {
        panic!("{actions:?}");
    };
    let record = LaunchRecord {
        epoch: 1,
        offering: request.offering.clone(),
        begun_at: at(0),
        accepted_at: None,
        deadline: at(300),
        progress: None,
        tried: vec![],
        told_joined: false,
    };
    let record = Some(Box::new(record));
    assert_eq!(*write, ClaimChange { record, finalizer: FinalizerChange::Add, ..ClaimChange::default() });
    assert_eq!(request.offering.id.to_string(), FIRST, "the cheaper of the two");
}

#[test]
fn the_request_holds_all_that_the_claim_says_and_none_of_our_own_notes() {
    let (claim, request) = (asked().claim, request(&asked()));
    assert_eq!((&request.key, request.epoch), (&claim.key, 1));
    assert_eq!(request.labels, claim.labels);
    assert_eq!(request.annotations, text(&[("note", "of the team")]));
    assert_eq!((&request.taints, &request.startup_taints), (&claim.taints, &claim.startup_taints));
    assert_eq!(request.requests, claim.requests);
    assert_eq!(request.class, text(&[("imageFamily", "Ubuntu"), ("creationTimestamp", "2026-11-17T12:00:00Z")]));
}

#[test]
fn whoever_resumes_makes_the_same_request_whatever_is_on_offer_by_then() {
    // It wrote the record, asked, and was never heard of again.
    let mut resumed = asked();
    let Some(Action::ChangeClaim(write)) = plan(&asked()).actions.first().cloned() else { panic!() };
    change_claim(&mut resumed.claim, &write);
    assert!(!needs_offerings(&resumed.claim));
    resumed.offerings = OfferingsSeen::NotAsked;
    resumed.policy = Policy { launch: None, ..Policy::default() };
    resumed.now = at(200);
    let again = Action::Ensure { request: Box::new(request(&asked())), progress: None };
    assert_eq!(plan(&resumed).actions, [again]);
}

#[test]
fn whoever_resumes_brings_the_progress_along() {
    let again = Action::Ensure { request: Box::new(request(&asked())), progress: Some(Progress("operation 1".into())) };
    assert_eq!(plan(&launching()).actions, [again]);
}

#[test]
fn a_finalizer_that_somebody_took_off_is_back_before_the_next_call() {
    let mut situation = launching();
    situation.claim.finalizers.clear();
    assert_eq!(steps(&situation), ["finalizer".to_owned(), format!("ensure 1: {FIRST}")]);
    let Some(Action::ChangeClaim(write)) = plan(&situation).actions.first().cloned() else { panic!() };
    assert_eq!(write, ClaimChange { finalizer: FinalizerChange::Add, ..ClaimChange::default() });
}

#[test]
fn whoever_loses_the_write_stops_and_says_nothing() {
    let failed_write = failed("NotAllowed", Retry::Never);
    for (result, next) in [
        (Lost, later("somebody else is working on it", 1)),
        (WasGone, nothing("it is gone")),
        (failed_write, later("making agent pool gpu1: NotAllowed", 60)),
    ] {
        let (_, conclusion) = taken(&asked(), &[result, NotTried]);
        assert!(is_silent(&asked(), &conclusion), "{conclusion:?}");
        assert_eq!(conclusion.next, next);
    }
}

#[test]
fn an_order_that_was_taken_is_written_down_with_its_progress_and_a_time_to_join() {
    let (after, conclusion) = taken(&asked(), &[Done, in_progress("operation 1")]);
    let record = after.claim.record().unwrap();
    assert_eq!((record.accepted_at, record.deadline), (Some(at(0)), at(900)));
    assert_eq!(record.progress, Some(Progress("operation 1".into())));
    let what = "aks is making Standard_NC24ads_A100_v4, on-demand, 3.673 USD/h";
    assert_eq!(says(&conclusion, Launched), Some((Truth::Unknown, "Launching", what)));
    assert_eq!(events(&conclusion), ["Launching"]);
    assert_eq!(conclusion.next, later(what, 20));
}

#[test]
fn an_order_in_progress_that_says_nothing_new_changes_nothing() {
    let (after, conclusion) = taken(&launching(), &[in_progress("operation 1")]);
    assert!(is_silent(&launching(), &conclusion), "{conclusion:?}");
    assert_eq!(after, launching());
}

#[test]
fn new_progress_is_all_that_is_written() {
    let (after, conclusion) = taken(&launching(), &[in_progress("operation 2")]);
    let before = launching().claim.record().unwrap().clone();
    let record = LaunchRecord { progress: Some(Progress("operation 2".into())), ..before };
    assert_eq!(conclusion.claim, ClaimChange { record: Some(Box::new(record)), ..ClaimChange::default() });
    assert_eq!(after.claim.status, launching().claim.status);
    assert!(conclusion.notes.is_empty());
}

#[test]
fn a_machine_that_runs_is_launched_and_promises_what_was_offered() {
    let (after, conclusion) = taken(&launching(), &[running()]);
    let what = "aks made Standard_NC24ads_A100_v4, on-demand, 3.673 USD/h";
    assert_eq!(says(&conclusion, Launched), Some((Truth::True, "Launched", what)));
    assert_eq!(says(&conclusion, Ready).map(|ready| ready.0), Some(Truth::Unknown));
    assert_eq!(conclusion.next, Next::AtOnce);
    let status = &after.claim.status;
    assert_eq!(status.provider_id, None, "the pool's name is not the machine's");
    assert_eq!(status.image.as_deref(), Some("AKSUbuntu-2204"));
    assert_eq!(status.capacity["nvidia.com/gpu"].to_string(), "1");
    assert_eq!(status.allocatable, status.capacity);
    assert_eq!(conclusion.claim.record, None, "it was accepted before");
}

#[test]
fn a_cloud_that_is_done_at_once_starts_the_time_to_join_too() {
    let (after, conclusion) = taken(&asked(), &[Done, running()]);
    let record = after.claim.record().unwrap();
    assert_eq!((record.accepted_at, record.deadline), (Some(at(0)), at(900)));
    assert_eq!(events(&conclusion), ["Launched"]);
}

#[test]
fn an_id_in_the_form_of_kubernetes_is_known_before_the_node_is_there() {
    let ActionResult::Ensured(Ensured::Running(instance)) = running() else { panic!() };
    let instance = Instance { provider_id: "scaleway://instance/fr-par-2/abc".into(), ..instance };
    let (after, _) = taken(&launching(), &[ActionResult::Ensured(Ensured::Running(instance))]);
    assert_eq!(after.claim.status.provider_id.as_deref(), Some("scaleway://instance/fr-par-2/abc"));
}

#[test]
fn a_launched_claim_is_labelled_by_its_offering_then_its_requirements_and_its_own_labels_win() {
    let mut situation = launching();
    situation.claim.labels.insert(names::REGION.into(), "of my own".into());
    let (_, conclusion) = taken(&situation, &[running()]);
    let size = "Standard_NC24ads_A100_v4";
    let expected = [
        (names::INSTANCE_TYPE, size),
        (names::ARCH, "amd64"),
        (names::OS, "linux"),
        (names::CAPACITY_TYPE, "on-demand"),
        (names::ZONE, "0"),
        ("karpenter.azure.com/sku-name", size),
        ("karpenter.azure.com/sku-gpu-name", "A100"),
        ("team", "vision"),
    ];
    assert_eq!(conclusion.claim.labels, text(&expected), "no region, and nothing about quota");
}

#[test]
fn a_label_that_is_left_open_gets_a_value_unless_its_machine_has_one() {
    let mut situation = launching();
    let open = |key: &str| Requirement { key: key.into(), operator: Operator::Exists, values: vec![] };
    situation.requirements = vec![open("rank"), open(names::INSTANCE_TYPE)];
    let labels = taken(&situation, &[running()]).1.claim.labels;
    assert_eq!(labels.get("rank").map(String::as_str), Some("0"));
    assert_eq!(labels.get(names::INSTANCE_TYPE).map(String::as_str), Some("Standard_NC24ads_A100_v4"));
}

#[test]
fn a_label_never_says_what_the_machine_is_not() {
    let mut situation = launching();
    let size = "Standard_NC24ads_A100_v4";
    let one_of = |key: &str, values: [&str; 2]| Requirement {
        key: key.into(),
        operator: Operator::In,
        values: values.map(str::to_owned).to_vec(),
    };
    situation.requirements = vec![
        one_of(names::HOSTNAME, ["node-a", "node-b"]),
        one_of(names::INSTANCE_TYPE_BETA, ["Standard_NC48ads_A100_v4", size]),
        Requirement { operator: Operator::NotIn, ..one_of("team", ["vision", "speech"]) },
    ];
    let labels = taken(&situation, &[running()]).1.claim.labels;
    assert_eq!(labels.get(names::INSTANCE_TYPE).map(String::as_str), Some(size));
    for key in [names::HOSTNAME, names::INSTANCE_TYPE_BETA, "team"] {
        assert_eq!(labels.get(key), None, "{key}");
    }
}

#[test]
fn whoever_crashed_before_the_status_was_written_launches_nothing_twice() {
    let mut crashed = launching();
    let (_, conclusion) = taken(&crashed, &[running()]);
    change_claim(&mut crashed.claim, &conclusion.claim);
    assert_eq!(steps(&crashed), [format!("ensure 1: {FIRST}")]);
    let (after, again) = taken(&crashed, &[running()]);
    assert!(again.claim.is_empty(), "labels and record stand already");
    assert!(after.claim.is(Launched));
}
