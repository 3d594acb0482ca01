//! A Node becomes usable: what is still missing, in Karpenter's words, and what is there in full.

use decide::claim::{Situation, plan};
use model::*;

use crate::fixture::*;
use crate::market::{A100_X2, aks, resources};

use ActionResult::{Lost, WasGone};
use ConditionKind::{Initialized, Ready};
use Effect::{NoExecute, NoSchedule, PreferNoSchedule};

fn lacks(situation: &Situation, reason: &str, message: &str) {
    assert_eq!(steps(situation), Vec::<String>::new());
    let (after, conclusion) = taken(situation, &[]);
    assert_eq!(says(&conclusion, Initialized), Some((Truth::Unknown, reason, message)));
    assert_eq!(conclusion.next, later(message, 10));
    assert!(conclusion.notes.is_empty());
    let (_, again) = taken(&after, &[]);
    assert!(is_silent(&after, &again), "{again:?}");
}

fn is_usable(situation: &Situation) {
    let (after, _) = taken(situation, &[]);
    assert!(after.claim.is(Initialized), "{:?}", after.claim.status.conditions);
}

fn with_taint(taint: Taint) -> Situation {
    let mut situation = usable();
    situation.nodes[0].taints.push(taint);
    situation
}

/// The claim asks for this and the node offers that; the machine was chosen with so many GPUs.
fn offering(requests: &[(&str, &str)], gpus: i128, allocatable: &[(&str, &str)]) -> Situation {
    let mut situation = usable();
    situation.claim.requests = resources(requests);
    let offering = aks(A100_X2, None, CapacityType::OnDemand, gpus, 7_346_000);
    let record = LaunchRecord { offering, ..situation.claim.record().unwrap().clone() };
    situation.claim.launch = Launch::Recorded(Box::new(record));
    situation.nodes[0].allocatable = resources(allocatable);
    situation
}

#[test]
fn a_node_that_is_not_there_is_waited_for_and_another_one_does_not_count() {
    lacks(&Situation { nodes: vec![], ..usable() }, "NodeNotFound", "node aks-gpu1-0 is not there");
    lacks(&Situation { nodes: vec![node("other")], ..usable() }, "NodeNotFound", "node aks-gpu1-0 is not there");
}

#[test]
fn a_node_has_to_be_ready() {
    for ready in [Truth::False, Truth::Unknown] {
        let mut situation = usable();
        situation.nodes[0].ready = ready;
        lacks(&situation, "NodeNotReady", "node aks-gpu1-0 is not ready yet");
    }
}

#[test]
fn startup_taints_have_to_be_gone_whatever_their_value() {
    let with_value = Taint { value: "x".into(), ..taint("cni", NoExecute) };
    for startup in [taint("cni", NoExecute), with_value] {
        lacks(&with_taint(startup), "StartupTaintsExist", "node aks-gpu1-0 still has the startup taint cni");
    }
}

#[test]
fn taints_that_the_cluster_puts_on_a_starting_node_have_to_be_gone() {
    for (key, effect) in [
        ("node.kubernetes.io/not-ready", NoSchedule),
        ("node.kubernetes.io/not-ready", NoExecute),
        ("node.kubernetes.io/unreachable", NoSchedule),
        ("node.cloudprovider.kubernetes.io/uninitialized", NoSchedule),
        (names::UNREGISTERED_TAINT, NoExecute),
        ("readiness.k8s.io/network", NoSchedule),
        ("readiness.k8s.io/storage", NoExecute),
    ] {
        let message = format!("node aks-gpu1-0 still has the taint {key}");
        lacks(&with_taint(taint(key, effect)), "KnownEphemeralTaintsExist", &message);
    }
}

#[test]
fn any_other_taint_is_somebodys_wish_and_no_obstacle() {
    is_usable(&with_taint(taint("dedicated", NoExecute)));
    is_usable(&with_taint(taint("node.kubernetes.io/memory-pressure", NoSchedule)));
    is_usable(&with_taint(taint("cni", PreferNoSchedule)));
}

#[test]
fn what_the_claim_asks_for_has_to_be_there_at_all() {
    let asked = [("cpu", "8"), ("example.com/card", "2")];
    let none = offering(&asked, 0, &[("cpu", "4")]);
    lacks(&none, "ResourceNotRegistered", "node aks-gpu1-0 offers no example.com/card yet");
    is_usable(&offering(&asked, 0, &[("cpu", "4"), ("example.com/card", "1")]));
}

#[test]
fn what_is_asked_for_in_no_amount_or_made_to_measure_is_not_waited_for() {
    is_usable(&offering(&[("storage", "512Gi"), ("example.com/card", "0")], 0, &[("cpu", "4")]));
}

#[test]
fn gpus_have_to_be_there_in_full_also_those_that_nobody_asked_for() {
    for requests in [vec![("nvidia.com/gpu", "1")], vec![]] {
        for (has, says) in [("0", "no"), ("1", "1 of 2")] {
            let short = offering(&requests, 2, &[("cpu", "4"), ("nvidia.com/gpu", has)]);
            let message = format!("node aks-gpu1-0 offers {says} nvidia.com/gpu yet");
            lacks(&short, "ResourceNotRegistered", &message);
        }
        is_usable(&offering(&requests, 2, &[("nvidia.com/gpu", "2")]));
    }
}

#[test]
fn a_gpu_that_was_cut_shows_its_slices_instead() {
    for slice in ["nvidia.com/mig-1g.10gb", "nvidia.com/gpu.shared"] {
        is_usable(&offering(&[("nvidia.com/gpu", "1")], 1, &[("nvidia.com/gpu", "0"), (slice, "7")]));
    }
    for no_slice in [("nvidia.com/mig-1g.10gb", "0"), ("amd.com/mig-1g.10gb", "7"), ("nvidia.com/other", "7")] {
        let short = offering(&[], 1, &[no_slice]);
        lacks(&short, "ResourceNotRegistered", "node aks-gpu1-0 offers no nvidia.com/gpu yet");
    }
}

#[test]
fn a_slice_that_was_asked_for_by_name_is_not_another_slice() {
    let asked = [("nvidia.com/mig-1g.10gb", "1")];
    let other = offering(&asked, 1, &[("nvidia.com/mig-3g.40gb", "2")]);
    lacks(&other, "ResourceNotRegistered", "node aks-gpu1-0 offers no nvidia.com/mig-1g.10gb yet");
    is_usable(&offering(&asked, 1, &[("nvidia.com/mig-1g.10gb", "7")]));
}

#[test]
fn one_thing_is_named_at_a_time_in_karpenters_order() {
    let mut situation = registered();
    lacks(&situation, "NodeNotReady", "node aks-gpu1-0 is not ready yet");
    situation.nodes[0].ready = Truth::True;
    lacks(&situation, "StartupTaintsExist", "node aks-gpu1-0 still has the startup taint cni");
    situation.nodes[0].taints.retain(|taint| taint.key != "cni");
    let message = "node aks-gpu1-0 still has the taint node.kubernetes.io/not-ready";
    lacks(&situation, "KnownEphemeralTaintsExist", message);
    situation.nodes[0].taints.retain(|taint| taint.key == "sku");
    lacks(&situation, "ResourceNotRegistered", "node aks-gpu1-0 offers no nvidia.com/gpu yet");
}

#[test]
fn a_usable_node_is_marked_and_the_claim_is_ready_with_what_the_node_has() {
    let mut mark = NodeChange::new(name(NODE), usable().nodes[0].version.clone());
    mark.labels.insert(names::INITIALIZED.into(), Some("true".into()));
    assert_eq!(plan(&usable()).actions, [Action::ChangeNode(mark)]);
    let (after, conclusion) = taken(&usable(), &[]);
    assert_eq!(says(&conclusion, Initialized), Some((Truth::True, "Initialized", "node aks-gpu1-0 is usable")));
    assert_eq!(says(&conclusion, Ready), Some((Truth::True, "Ready", "")));
    assert_eq!(events(&conclusion), ["Ready"]);
    let text = "node aks-gpu1-0 is usable, 190 s after it was asked for";
    assert_eq!(conclusion.notes[0].text, text);
    assert_eq!(conclusion.next, Next::Answer(Answer::Done { reason: format!("NodeClaim gpu1: {text}") }));
    let (node, status) = (&usable().nodes[0], after.claim.status);
    assert_eq!((status.capacity, status.allocatable), (node.capacity.clone(), node.allocatable.clone()));
}

#[test]
fn whoever_crashed_between_node_and_status_writes_the_node_no_second_time() {
    let mut crashed = usable();
    crashed.nodes[0].labels.insert(names::INITIALIZED.into(), "true".into());
    assert_eq!(steps(&crashed), Vec::<String>::new());
    is_usable(&crashed);
}

#[test]
fn a_mark_that_could_not_be_written_is_written_later() {
    for (result, next) in [
        (Lost, later("somebody else is working on it", 1)),
        (WasGone, later("its node is gone", 1)),
        (failed("NotAllowed", Retry::Never), later("making agent pool gpu1: NotAllowed", 60)),
    ] {
        let (_, conclusion) = taken(&usable(), &[result]);
        assert!(is_silent(&usable(), &conclusion), "{conclusion:?}");
        assert_eq!(conclusion.next, next);
    }
}

#[test]
fn once_ready_there_is_nothing_to_do_whatever_becomes_of_the_node() {
    let mut broken = ready();
    broken.nodes[0].ready = Truth::Unknown;
    broken.nodes[0].taints.push(taint("node.kubernetes.io/unreachable", NoSchedule));
    for situation in [ready(), broken, Situation { nodes: vec![], now: at(100_000), ..ready() }] {
        assert_eq!(steps(&situation), Vec::<String>::new());
        let (_, conclusion) = taken(&situation, &[]);
        assert!(is_silent(&situation, &conclusion));
        assert_eq!(conclusion.next, nothing("NodeClaim gpu1 is ready on node aks-gpu1-0"));
    }
}
