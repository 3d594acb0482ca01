//! A machine whose claim is gone goes in the order in which it would have gone with it.

use crate::{common, fixture::*};
use decide::termination::{InstanceSeen, Kept, Orphan, plan_for_orphan};
use model::*;

fn orphan(nodes: Vec<Node>, pods: Vec<Pod>) -> Orphan {
    Orphan {
        key: InstanceKey { claim: uid("a"), name: name("a") },
        provider: Kept { provider: "scaleway".into(), node_stays: false },
        nodes,
        pods,
        attachments: vec![],
        instance: InstanceSeen::NotAsked,
        now: at(0),
    }
}

fn pod() -> Pod {
    common::pod("work")
}

fn steps(orphan: &Orphan) -> Vec<&'static str> {
    let (_, plan) = plan_for_orphan(orphan).unwrap();
    let step = |action: &Action| match action {
        Action::ChangeNode(change) if change.taints.is_some() => "close",
        Action::ChangeNode(change) if change.finalizer == FinalizerChange::Remove => "release",
        Action::ChangeNode(_) => "note",
        Action::DeleteNode { .. } => "delete node",
        Action::Evict(_) => "evict",
        Action::EnsureGone { .. } => "ensure gone",
        other => panic!("no part of it: {other:?}"),
    };
    plan.actions.iter().map(step).collect()
}

/// Closed so many seconds ago, and being deleted.
fn closed(ago: i64) -> Node {
    let mut node = node("a", Some("a"), Truth::True);
    node.taints.push(Taint { key: names::DISRUPTED_TAINT.into(), value: String::new(), effect: Effect::NoSchedule });
    node.labels.insert(names::EXCLUDE_FROM_BALANCERS.into(), "karpenter".into());
    node.annotations.insert(names::ORPHAN_SINCE.into(), at(-ago).to_string());
    node.deleted_at = Some(at(-ago));
    node
}

#[test]
fn what_has_no_node_goes_at_once() {
    assert_eq!(steps(&orphan(vec![], vec![])), ["ensure gone"]);
}

#[test]
fn a_node_is_closed_and_emptied_before_its_machine_goes() {
    assert_eq!(steps(&orphan(vec![node("a", Some("a"), Truth::True)], vec![pod()])), ["close", "delete node", "evict"]);
    assert_eq!(steps(&orphan(vec![closed(60)], vec![pod()])), ["evict"]);
    assert_eq!(steps(&orphan(vec![closed(2)], vec![])), Vec::<&str>::new(), "a pod may be on its way");
    assert_eq!(steps(&orphan(vec![closed(6)], vec![])), ["ensure gone", "release"]);
}

#[test]
fn work_that_must_not_be_disturbed_holds_the_machine_for_as_long_as_it_runs() {
    let protected = Pod { do_not_disrupt: Some("true".into()), ..pod() };
    assert_eq!(steps(&orphan(vec![closed(100_000)], vec![protected])), Vec::<&str>::new());
}

#[test]
fn a_node_that_somebody_else_closed_is_watched_from_now_on() {
    let mut node = closed(60);
    node.annotations.clear();
    assert_eq!(steps(&orphan(vec![node], vec![])), ["note"]);
}

#[test]
fn a_node_that_cannot_be_reached_and_has_no_machine_is_let_go() {
    let lost = Node { ready: Truth::Unknown, ..closed(0) };
    let orphan = Orphan { instance: InstanceSeen::Absent, ..orphan(vec![lost], vec![pod()]) };
    assert_eq!(steps(&orphan), ["ensure gone", "release"]);
}
