//! What is done to Nodes before and after the drain.

use core::time::Duration;
use decide::termination::{InstanceSeen, Situation, needs_observation, plan};
use model::*;

use crate::fixture::*;

fn change(situation: &Situation) -> NodeChange {
    let found = plan(situation).actions.into_iter().find_map(|action| match action {
        Action::ChangeNode(change) => Some(change),
        _ => None,
    });
    found.unwrap()
}

#[test]
fn first_the_taint_then_the_deletion_then_the_pods() {
    let mut situation = joined();
    situation.pods = vec![pod("a")];
    assert_eq!(steps(&situation), ["close gpu-1-node", "delete gpu-1-node", "evict a"]);
}

#[test]
fn taint_and_label_are_one_write_and_keep_what_was_there() {
    let mut situation = joined();
    let own = Taint { key: "sku".into(), value: "gpu".into(), effect: Effect::NoSchedule };
    situation.nodes[0].taints = vec![own.clone()];
    let change = change(&situation);
    assert_eq!(change.taints, Some(vec![own, disrupted()]));
    let label = (names::EXCLUDE_FROM_BALANCERS.to_owned(), Some("karpenter".to_owned()));
    assert_eq!(change.labels, [label].into());
    assert_eq!((change.finalizer, change.version), (FinalizerChange::Keep, situation.nodes[0].version.clone()));
}

#[test]
fn a_node_without_our_finalizer_gets_it_before_it_is_deleted() {
    let mut situation = joined();
    situation.nodes[0].finalizers.clear();
    assert_eq!(change(&situation).finalizer, FinalizerChange::Add);
    situation.nodes[0].deleted_at = Some(at(-5));
    assert_eq!(change(&situation).finalizer, FinalizerChange::Keep, "nobody can add one any more");
}

#[test]
fn what_stands_already_is_not_written_again() {
    let mut situation = draining(1);
    assert!(steps(&situation).is_empty());
    situation.nodes[0].labels.insert(names::EXCLUDE_FROM_BALANCERS.into(), "of-the-user".into());
    assert!(steps(&situation).is_empty());
}

#[test]
fn all_nodes_of_a_claim_are_closed_deleted_and_released() {
    let mut situation = joined();
    situation.nodes.push(node("twin"));
    assert_eq!(steps(&situation), ["close gpu-1-node", "close twin", "delete gpu-1-node", "delete twin"]);

    let mut situation = removing();
    let twin = Node { name: name("twin"), ..situation.nodes[0].clone() };
    situation.nodes.push(twin);
    let expected = ["ensure gone at aks", "release gpu-1-node", "release twin", "release claim"];
    assert_eq!(steps(&situation), expected);
}

#[test]
fn a_node_that_joins_late_is_closed_though_the_machine_goes_already() {
    let mut situation = removing();
    situation.nodes = vec![node("late")];
    situation.pods = vec![pod("a")];
    assert_eq!(steps(&situation), ["close late", "delete late"]);
    assert_eq!(concluded(&situation, &[]).next, Next::AtOnce);
}

#[test]
fn the_drain_begins_with_the_taint_and_not_before() {
    let situation = joined();
    let conclusion = concluded(&situation, &[]);
    assert_eq!(says(&conclusion, ConditionKind::Drained), Some((Truth::Unknown, "Draining", "0 pods left")));

    let lost = concluded(&situation, &[ActionResult::Lost, ActionResult::NotTried]);
    assert_eq!(lost.next, Next::AtOnce);
    assert!(is_silent(&situation, &lost));

    let mut two = joined();
    two.nodes.push(node("twin"));
    let half = concluded(&two, &[ActionResult::Done, failed("Unavailable", Retry::SameAfter(Duration::from_secs(7)))]);
    assert!(is_silent(&two, &half));
    assert_eq!(after(&half), Some(Duration::from_secs(7)));
}

#[test]
fn a_taint_that_was_taken_off_is_put_on_again_and_the_drain_begins_anew() {
    for truth in [Truth::Unknown, Truth::True] {
        let mut situation = draining(100);
        set(&mut situation, ConditionKind::Drained, truth, "", 0);
        situation.nodes[0].taints.clear();
        assert_eq!(steps(&situation), ["close gpu-1-node"], "the machine does not go");
        let conclusion = concluded(&situation, &[]);
        assert_eq!(find(&conclusion.status, ConditionKind::Drained).unwrap().since, at(100));
    }
}

#[test]
fn a_machine_that_is_gone_already_is_asked_about_only_when_its_node_is_not_ready() {
    let mut situation = draining(1);
    situation.pods = vec![pod("a")];
    assert!(!needs_observation(&situation));
    for truth in [Truth::False, Truth::Unknown] {
        situation.nodes[0].ready = truth;
        assert!(needs_observation(&situation));
    }
    situation.instance = InstanceSeen::Present;
    assert!(!needs_observation(&situation));
    let mut going = removing();
    going.nodes[0].ready = Truth::False;
    assert!(!needs_observation(&going), "nothing would come of knowing");
}

#[test]
fn the_drain_is_skipped_when_the_machine_is_gone_and_the_node_not_ready() {
    let mut situation = draining(1);
    situation.pods = vec![pod("a")];
    situation.attachments = vec![volume("pv-1")];
    situation.instance = InstanceSeen::Absent;
    assert_eq!(steps(&situation), ["evict a"], "a node that is ready is not skipped");

    situation.nodes[0].ready = Truth::Unknown;
    assert_eq!(steps(&situation), ["ensure gone at aks", "release gpu-1-node", "release claim"]);
    situation.instance = InstanceSeen::Present;
    assert_eq!(steps(&situation), ["evict a"]);
}

#[test]
fn a_node_whose_machine_is_gone_is_still_closed_and_deleted_but_its_pods_are_not_asked() {
    let mut situation = joined();
    situation.pods = vec![pod("a")];
    situation.instance = InstanceSeen::Absent;
    situation.nodes[0].ready = Truth::False;
    assert_eq!(steps(&situation), ["close gpu-1-node", "delete gpu-1-node"]);
    assert_eq!(concluded(&situation, &[]).next, Next::AtOnce);
}
