//! What was decided is not decided again, whoever asks and however often.

use super::fixture::*;
use decide::provision::{Situation, Told};
use model::{Condition, ConditionKind, Truth, names};

fn cluster(pods: usize) -> Situation {
    let offerings = vec![offering("scaleway", "small", 2, 100), offering("scaleway", "large", 8, 360)];
    let pods = (0..pods).map(|index| pod(&format!("p{index}"), 1 + i128::try_from(index % 2).unwrap())).collect();
    situation("scaleway", offerings, pods)
}

#[test]
fn deciding_again_on_the_result_makes_nothing() {
    let before = cluster(40);
    let done = decide(&before);
    assert!(!done.claims.is_empty());
    let again = decide(&carried_out(&before, &done));
    assert_eq!(again.claims, vec![]);
    assert!(again.pods.iter().all(|(_, told)| matches!(told, Told::OnItsWay { .. })), "{:?}", again.pods);
    assert_eq!(again.notes(), vec![]);
}

#[test]
fn the_same_decision_makes_the_same_claims_in_whatever_order_pods_are_listed() {
    let mut before = cluster(12);
    let first = decide(&before);
    before.scene.pods.reverse();
    let mut names: Vec<_> = decide(&before).claims.into_iter().map(|claim| claim.name).collect();
    let mut expected: Vec<_> = first.claims.into_iter().map(|claim| claim.name).collect();
    names.sort();
    expected.sort();
    assert_eq!(names, expected);
}

#[test]
fn half_of_a_decision_is_completed_and_not_repeated() {
    let before = cluster(40);
    let done = decide(&before);
    let mut half = done.clone();
    half.claims.truncate(done.claims.len() / 2);
    let rest = decide(&carried_out(&before, &half));
    assert_eq!(half.claims.len() + rest.claims.len(), done.claims.len());
}

#[test]
fn a_pod_that_comes_later_uses_what_is_left_of_a_claim() {
    let mut before = cluster(0);
    before.scene.pods = vec![pod("first", 1)];
    let done = decide(&before);
    assert_eq!(done.claims.len(), 1);
    let mut next = carried_out(&before, &done);
    let late = pod("late", 1);
    next.scene.pods.push(late.clone());
    let again = decide(&next);
    assert_eq!(again.claims, vec![]);
    assert!(matches!(told(&again, &late), Told::HasRoom { .. }), "{:?}", again.pods);
}

#[test]
fn a_claim_of_which_nothing_is_known_yet_is_coming_for_its_pods_all_the_same() {
    let before = cluster(1);
    let mut next = carried_out(&before, &decide(&before));
    next.scene.nodes.clear();
    assert_eq!(decide(&next).claims, vec![]);
}

#[test]
fn when_the_claim_goes_its_pods_get_another_of_another_name() {
    let before = cluster(1);
    let done = decide(&before);
    let mut next = carried_out(&before, &done);
    next.claims[0].deleted_at = Some(now());
    next.scene.nodes[0].deleting = true;
    let again = decide(&next);
    assert_eq!(again.claims.len(), 1);
    assert_ne!(again.claims[0].name, done.claims[0].name);
}

#[test]
fn a_pod_that_follows_one_that_leaves_waits_for_a_machine_that_is_started_anew_and_for_no_other() {
    let mut starting = cluster(1);
    add_node(&mut starting, "n", 1, 1);
    starting.scene.nodes[0].stage = model::place::NodeStage::Starting;
    starting.scene.bound[0].terminating = true;
    let class = starting.pools[0].class.clone();
    starting.claims.push(claim("c", &class));
    starting.claims[0].status.node = Some("n".into());
    assert_eq!(decide(&starting).claims.len(), 1, "it is full until the other one has left");
    let mut rebooting = starting;
    let (kind, status, since) = (ConditionKind::Rebooting, Truth::True, now());
    let condition = Condition { kind, status, reason: "RebootIssued".into(), message: String::new(), since };
    rebooting.claims[0].status.conditions.push(condition);
    assert_eq!(decide(&rebooting).claims, vec![]);
    rebooting.claims[0].deleted_at = Some(now());
    assert_eq!(decide(&rebooting).claims.len(), 1, "it does not come back");
}

#[test]
fn a_pod_that_its_node_did_not_take_finds_another() {
    let before = cluster(1);
    let mut next = carried_out(&before, &decide(&before));
    next.scene.nodes[0].stage = model::place::NodeStage::Initialized;
    next.scene.nodes[0].allocatable.insert(GPU.to_owned(), whole(0));
    next.scene.nodes[0].promised.clear();
    initialized(&mut next.claims[0], 61);
    assert_eq!(decide(&next).claims.len(), 1);
}

#[test]
fn a_claim_carries_what_its_pool_says_and_what_its_pods_need() {
    let done = decide(&cluster(1));
    let [claim] = done.claims.as_slice() else { panic!("{:?}", done.claims) };
    assert_eq!(claim.owner.as_ref().unwrap().name, name("gpu"));
    assert_eq!(claim.labels["team"], "a");
    assert_eq!(claim.labels[names::NODE_POOL], "gpu");
    assert_eq!(claim.labels["pilotlight.dev/scalewaynodeclass"], "default");
    assert_eq!(claim.annotations[names::PODS], "p0");
    assert_eq!(claim.requests[GPU], whole(1));
    assert_eq!(claim.expire_after.as_deref(), Some("Never"));
    assert!(claim.requirements.iter().all(|one| one.requirement.key != names::HOSTNAME));
}

#[test]
fn pods_without_gpus_are_somebody_elses_where_nobody_made_a_pool() {
    let mut before = situation("power", vec![offering("power", "a", 1, 0)], vec![pod("gpu", 1), pod("plain", 0)]);
    before.pools[0].owner = None;
    before.scene.pods[1].requests.remove(GPU);
    let done = decide(&before);
    assert_eq!(done.claims.len(), 1);
    assert_eq!(done.claims[0].owner, None);
    assert!(matches!(told(&done, &before.scene.pods[1]), Told::NotOurs { .. }));
    assert_eq!(done.notes().len(), 1);
}

#[test]
fn a_pod_that_just_does_not_fit_gets_no_second_node_of_a_type_that_has_less_than_it_promised() {
    let mut before = cluster(0);
    let mut large = pod("large", 1);
    large.requests.insert("cpu".into(), whole(64));
    before.scene.pods = vec![large.clone()];
    assert_eq!(decide(&before).claims.len(), 1);
    for instance_type in ["small", "large"] {
        add_node(&mut before, &format!("n-{instance_type}"), 2, 0);
        let node = before.scene.nodes.last_mut().unwrap();
        node.labels.insert(names::INSTANCE_TYPE.into(), instance_type.into());
        node.allocatable.insert("cpu".into(), whole(63));
    }
    let done = decide(&before);
    assert!(matches!(told(&done, &large), Told::NoNode(_)), "{:?}", done.pods);
}
