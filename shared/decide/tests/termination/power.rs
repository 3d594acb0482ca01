//! A machine that is only switched off: its Node stays and is nobody's.

use decide::termination::{Situation, plan};
use model::*;

use crate::fixture::*;

fn off(situation: &Situation) -> NodeChange {
    match plan(situation).actions.get(1) {
        Some(Action::ChangeNode(change)) => change.clone(),
        other => panic!("{other:?}"),
    }
}

fn out_of_service() -> Taint {
    Taint { key: names::OUT_OF_SERVICE_TAINT.into(), value: "nodeshutdown".into(), effect: Effect::NoExecute }
}

#[test]
fn the_node_is_closed_and_drained_but_never_deleted() {
    let mut situation = powered();
    situation.nodes = vec![node(NODE)];
    situation.pods = vec![pod("a")];
    assert_eq!(steps(&situation), ["close gpu-1-node", "evict a"]);
}

#[test]
fn after_the_machine_is_off_its_node_belongs_to_nobody_and_stays_closed() {
    let situation = powered();
    assert_eq!(steps(&situation), ["ensure gone at power", "release gpu-1-node", "release claim"]);
    let change = off(&situation);
    assert_eq!(change.annotations, [(names::OFF_SINCE.to_owned(), Some(at(10).to_string()))].into());
    assert_eq!(change.labels, [names::REGISTERED, names::INITIALIZED].map(|label| (label.to_owned(), None)).into());
    assert_eq!(change.owner, OwnerChange::Remove(uid("c-1")));
    assert_eq!(change.finalizer, FinalizerChange::Remove);
    assert_eq!(change.taints, None, "the taints stay");
    let conclusion = concluded(&situation, &[ActionResult::Gone(Gone::Confirmed)]);
    let reason = "machine of gpu-1 is off; its Node stays, claim released".into();
    assert_eq!(conclusion.next, Next::Answer(Answer::Done { reason }));
    assert!(conclusion.notes.is_empty());
}

#[test]
fn pods_that_were_cut_off_are_let_go_by_the_out_of_service_taint() {
    let mut situation = powered();
    situation.now = at(200);
    situation.pods = vec![Pod { deleted_at: Some(at(50)), ..pod("stuck") }];
    assert_eq!(off(&situation).taints, Some(vec![disrupted(), out_of_service()]));
    let conclusion = concluded(&situation, &[ActionResult::Gone(Gone::Confirmed)]);
    assert_eq!(reasons(&conclusion), ["OutOfService"]);
    assert!(conclusion.notes[0].text.contains("1 pod still bound (team/stuck)"), "{}", conclusion.notes[0].text);
}

#[test]
fn daemons_mirrors_and_finished_pods_are_not_cut_off() {
    let mut situation = powered();
    let tolerations = vec![Toleration { key: None, value: None, effect: None }];
    situation.pods = vec![
        Pod { kind: PodKind::Daemon, tolerations, ..pod("daemon") },
        Pod { kind: PodKind::Mirror, ..pod("mirror") },
        Pod { terminal: true, ..pod("finished") },
    ];
    assert_eq!(off(&situation).taints, None);
}

#[test]
fn a_machine_that_is_still_going_off_changes_nothing_on_its_node() {
    let mut situation = powered();
    situation.pods = vec![Pod { deleted_at: Some(at(-100)), ..pod("stuck") }];
    let progress = Gone::InProgress { progress: Progress("off asked".into()), look_again_seconds: 5 };
    let results = [ActionResult::Gone(progress), ActionResult::NotTried, ActionResult::NotTried];
    let conclusion = concluded(&situation, &results);
    assert!(conclusion.notes.is_empty());
    assert_eq!(says(&conclusion, ConditionKind::InstanceTerminating).unwrap().0, Truth::True);
}

#[test]
fn a_node_that_was_let_go_before_is_not_written_again() {
    let mut situation = powered();
    let node = &mut situation.nodes[0];
    node.annotations.insert(names::OFF_SINCE.into(), at(5).to_string());
    node.labels.retain(|label, _| label == names::EXCLUDE_FROM_BALANCERS);
    node.owners.clear();
    node.finalizers.clear();
    assert_eq!(steps(&situation), ["ensure gone at power", "release claim"]);
}
