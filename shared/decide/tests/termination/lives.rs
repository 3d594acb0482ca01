//! Whole lives, some told and many drawn at random: what holds in all of them.

use proptest::prelude::*;

use jiff::Timestamp;
use model::*;

use crate::fixture::*;
use crate::toy::{Toy, Trouble};
use decide::termination::plan;

#[test]
fn an_empty_node_goes_down_in_five_seconds_and_the_time_of_its_removal() {
    let mut toy = Toy::new(joined());
    toy.removal_takes = 0;
    assert_eq!(toy.live(100), Some(5));
    assert!(toy.situation.nodes.is_empty());
    assert!(plan(&toy.situation).actions.is_empty(), "it settles");
}

#[test]
fn a_pod_that_was_on_its_way_when_the_taint_came_is_evicted_too() {
    let mut toy = Toy::new(joined());
    toy.on_its_way = Some((3, pod("late")));
    assert!(toy.live(100).is_some_and(|took| took >= 30), "its grace is 30 s");
    assert_eq!(toy.broken, Vec::<String>::new());
}

#[test]
fn a_drain_that_nobody_lets_happen_becomes_silent() {
    let mut toy = Toy::new(joined());
    toy.situation.pods = vec![pod("db-0"), Pod { do_not_disrupt: Some("true".into()), ..pod("train-0") }];
    toy.budgets = vec![(uid("uid-db-0"), Timestamp::MAX)];
    assert_eq!(toy.live(60), None);
    let before = toy.writes;
    assert_eq!(toy.live(3600), None);
    assert_eq!(toy.writes, before, "the world stands still, and so do we");
    assert!(toy.machine_is_there);
}

#[test]
fn a_node_whose_machine_vanished_does_not_wait_for_its_pods() {
    let mut toy = Toy::new(joined());
    toy.situation.pods = vec![Pod { do_not_disrupt: Some("true".into()), ..pod("a") }];
    toy.situation.nodes[0].ready = Truth::Unknown;
    toy.machine_is_there = false;
    toy.removal_takes = 0;
    assert_eq!(toy.live(100), Some(0));
}

fn any_pod() -> impl Strategy<Value = (Pod, Option<i64>, bool)> {
    let kind = prop_oneof![4 => Just(PodKind::Ordinary), 2 => Just(PodKind::Daemon), 1 => Just(PodKind::Mirror)];
    let protection = prop_oneof![4 => Just(None), 1 => Just(Some("15m")), 1 => Just(Some("nonsense"))];
    let budget = prop_oneof![3 => Just(None), 1 => (1_i64..400).prop_map(Some)];
    let rare = prop::bool::weighted(0.1);
    (kind, any::<bool>(), rare, rare, 0_i64..120, protection, budget, rare).prop_map(
        |(kind, critical, terminal, tolerant, grace, protection, budget, stubborn)| {
            let all = Toleration { key: None, value: None, effect: None };
            let pod = Pod {
                kind,
                critical,
                terminal,
                grace: seconds(grace),
                tolerations: if tolerant { vec![all] } else { vec![] },
                do_not_disrupt: protection.map(str::to_owned),
                ..pod("x")
            };
            (pod, budget, stubborn)
        },
    )
}

fn any_trouble() -> impl Strategy<Value = Vec<Trouble>> {
    let one = prop_oneof![4 => Just(Trouble::None), 1 => Just(Trouble::Lost), 1 => Just(Trouble::Unavailable)];
    prop::collection::vec(one, 0..20)
}

prop_compose! {
    fn any_life()(
        pods in prop::collection::vec(any_pod(), 0..12),
        late in prop::option::of(0_i64..4),
        grace in prop::option::of(0_i64..600),
        nodes in 1_usize..3,
        registered in any::<bool>(),
        node_stays in any::<bool>(),
        volumes in 0_usize..3,
        removal_takes in 0_u32..4,
        trouble in any_trouble(),
    ) -> Toy {
        let mut toy = Toy::new(joined());
        let situation = &mut toy.situation;
        situation.claim.termination_grace = grace.map(seconds);
        situation.nodes = (0..nodes).map(|number| node(&format!("n-{number}"))).collect();
        for node in situation.nodes.iter_mut().filter(|_| !registered) {
            node.finalizers.clear();
        }
        situation.provider.iter_mut().for_each(|kept| kept.node_stays = node_stays);
        situation.attachments = (0..volumes).map(|number| volume(&format!("pv-{number}"))).collect();
        for (number, (pod, budget, stubborn)) in pods.into_iter().enumerate() {
            let uid = uid(&format!("uid-{number}"));
            toy.budgets.extend(budget.map(|from| (uid.clone(), at(from))));
            toy.stubborn.extend(stubborn.then(|| uid.clone()));
            situation.pods.push(Pod { uid, name: name(&format!("p-{number}")), ..pod });
        }
        let stays = |pod: &Pod| toy.stubborn.contains(&pod.uid) || pod.terminal || !pod.tolerations.is_empty();
        // A volume of a pod that never ends is never detached; without a deadline that would be for ever, and rightly.
        if grace.is_none() && situation.pods.iter().any(stays) {
            situation.attachments.clear();
        }
        toy.on_its_way = late.map(|after| (after, pod("late")));
        toy.removal_takes = removal_takes;
        toy.trouble = trouble;
        toy
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_pods_are_safe_the_claim_ends_and_then_there_is_silence(toy in any_life()) {
        let mut toy = toy;
        let took = toy.live(7200);
        prop_assert_eq!(&toy.broken, &Vec::<String>::new());
        prop_assert!(took.is_some(), "it never ended: {:?}", toy.situation.claim.status.conditions);
        prop_assert!(!toy.machine_is_there);
        prop_assert!(plan(&toy.situation).actions.is_empty());
        prop_assert!(toy.situation.nodes.iter().all(|node| node.finalizers.is_empty()));
    }

    #[test]
    fn a_deadline_is_kept_within_the_minute_that_stuck_pods_get(toy in any_life(), grace in 0_i64..600) {
        let mut toy = toy;
        toy.trouble.clear();
        toy.removal_takes = 0;
        toy.situation.claim.termination_grace = Some(seconds(grace));
        let took = toy.live(7200).unwrap_or(i64::MAX);
        prop_assert!(took <= grace + 75, "it took {took} s");
    }
}
