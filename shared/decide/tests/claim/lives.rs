//! Whole lives, some told and many drawn at random: what holds in all of them.

use core::time::Duration;
use decide::claim::{Policy, Situation};
use model::*;
use proptest::prelude::*;

use crate::fixture::*;
use crate::toy::{Fault, Toy};

use ConditionKind::{Initialized, Launched, Ready, Registered};

const A_DAY: i64 = 24 * 3600;

#[test]
fn an_ordinary_life_ends_ready_on_the_cheapest() {
    let mut toy = Toy::new(asked());
    toy.live(A_DAY);
    assert!(toy.situation.claim.is(Ready));
    assert_eq!(toy.machine.unwrap().offering.id.to_string(), FIRST);
    assert_eq!(toy.broken, Vec::<String>::new());
}

#[test]
fn where_the_cheapest_is_sold_out_the_next_one_comes_in_the_same_life() {
    let mut toy = Toy::new(asked());
    toy.sold_out = vec![FIRST.into()];
    toy.live(A_DAY);
    assert!(toy.situation.claim.is(Ready));
    assert_eq!(toy.machine.unwrap().offering.id.to_string(), SECOND);
}

#[test]
fn a_claim_by_hand_waits_for_stock_until_there_is_some() {
    let mut toy = Toy::new(asked());
    toy.situation.claim.has_owner = false;
    toy.sold_out = vec![FIRST.into(), SECOND.into()];
    toy.live(6 * 3600);
    let condition = toy.situation.claim.condition(Launched).unwrap();
    assert_eq!((condition.status, condition.reason.as_str()), (Truth::Unknown, "InsufficientCapacity"));
    toy.sold_out.clear();
    toy.live(A_DAY);
    assert!(toy.situation.claim.is(Ready));
}

fn any_start() -> impl Strategy<Value = Situation> {
    let recorded = || taken(&asked(), &[ActionResult::Done, failed("Uncertain", Retry::ReadBack)]).0;
    prop_oneof![
        3 => Just(asked()),
        1 => Just(recorded()),
        1 => Just(launching()),
        1 => Just(launched()),
        1 => Just(joining()),
        1 => Just(registered()),
        1 => Just(usable()),
        1 => Just(ready()),
    ]
}

fn any_faults() -> impl Strategy<Value = Vec<Fault>> {
    let wait = Retry::SameAfter(Duration::from_secs(20));
    let refusal = prop_oneof![
        Just(("InsufficientCapacity", Retry::NextOffering)),
        Just(("QuotaExceeded", Retry::NextOffering)),
        Just(("InvalidRequest", Retry::Never)),
        Just(("Conflict", Retry::Never)),
        Just(("Unauthorized", Retry::Never)),
        Just(("Uncertain", Retry::ReadBack)),
        Just(("Throttled", wait)),
        Just(("Unavailable", wait)),
    ];
    let one = prop_oneof![
        4 => Just(Fault::None),
        1 => Just(Fault::Lost),
        1 => Just(Fault::Uncertain),
        1 => Just(Fault::Crash),
        3 => refusal.prop_map(|(reason, retry)| Fault::Failed(reason, retry)),
    ];
    prop::collection::vec(one, 0..25)
}

prop_compose! {
    fn any_life()(
        start in any_start(),
        faults in any_faults(),
        sold_out in any::<[bool; 2]>(),
        making_takes in 0_u32..4,
        joins_after in prop::option::weighted(0.8, 0_i64..400),
        usable_after in prop::option::weighted(0.8, 0_i64..600),
        limited in any::<[bool; 3]>(),
        has_owner in any::<bool>(),
        tell_joined in any::<bool>(),
    ) -> Toy {
        let mut toy = Toy::new(start);
        let usual = Policy::default();
        toy.situation.policy = Policy {
            launch: usual.launch.filter(|_| limited[0]),
            registration: usual.registration.filter(|_| limited[1]),
            initialization: usual.initialization.filter(|_| limited[2]),
            ..usual
        };
        toy.situation.claim.has_owner = has_owner;
        toy.situation.tell_joined = tell_joined;
        let offerings = [FIRST, SECOND].into_iter().zip(sold_out);
        toy.sold_out = offerings.filter(|(_, sold_out)| *sold_out).map(|(id, _)| id.to_owned()).collect();
        toy.faults = faults;
        toy.making_takes = making_takes;
        (toy.joins_after, toy.usable_after) = (joins_after, usable_after);
        toy
    }
}

/// The world is such that it can end well, once nothing goes wrong any more.
fn can_end_well(toy: &Toy) -> bool {
    let claim = &toy.situation.claim;
    let can_launch = claim.is(Launched) || toy.sold_out.len() < 2;
    let can_join = !toy.situation.nodes.is_empty() || toy.joins_after.is_some();
    let is_usable = |node: &Node| node.ready == Truth::True;
    let can_be_used = toy.situation.nodes.iter().any(is_usable) || toy.usable_after.is_some();
    can_launch && can_join && can_be_used
}

fn may_be_given_up(toy: &Toy) -> bool {
    let policy = &toy.situation.policy;
    let launch = policy.launch.filter(|_| toy.situation.claim.has_owner);
    launch.or(policy.registration).or(policy.initialization).is_some()
}

/// The first phase that has not come, with a reason and words.
fn is_stated(claim: &Claim) -> bool {
    let kinds = [Launched, Registered, Initialized];
    let open = kinds.into_iter().find(|kind| !claim.is(*kind)).and_then(|kind| claim.condition(kind));
    open.is_some_and(|condition| !condition.reason.is_empty() && !condition.message.is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_there_is_one_machine_at_most_and_the_life_ends_ready_or_deleted_or_says_why(toy in any_life()) {
        let mut toy = toy;
        let (ends_well, may_be_given_up) = (can_end_well(&toy), may_be_given_up(&toy));
        toy.live(3 * A_DAY);
        prop_assert_eq!(&toy.broken, &Vec::<String>::new());
        let claim = &toy.situation.claim;
        if toy.deleted {
            prop_assert!(may_be_given_up);
        } else if claim.is(Ready) {
            prop_assert_eq!(steps(&toy.situation), Vec::<String>::new(), "settled");
            let (_, conclusion) = taken(&toy.situation, &[]);
            prop_assert!(is_silent(&toy.situation, &conclusion));
            prop_assert!(claim.record().is_some_and(|record| record.told_joined == toy.situation.tell_joined));
            let node = &toy.situation.nodes[0];
            prop_assert!([names::REGISTERED, names::INITIALIZED].iter().all(|label| node.labels.contains_key(*label)));
            prop_assert!(node.finalizers.contains(names::FINALIZER) && node.owners.contains(&claim.key.claim));
        } else {
            prop_assert!(!ends_well, "{:?}", claim.status.conditions);
            prop_assert!(is_stated(claim), "{:?}", claim.status.conditions);
        }
    }

    #[test]
    fn where_nothing_goes_wrong_nothing_is_given_up(toy in any_life()) {
        let mut toy = toy;
        toy.faults.clear();
        let ends_well = can_end_well(&toy);
        toy.live(A_DAY);
        prop_assert_eq!(toy.situation.claim.is(Ready), ends_well, "{:?}", toy.situation.claim.status.conditions);
    }
}
