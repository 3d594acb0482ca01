//! How long each phase may take, whose claim is given up, and what is never given up.

use core::time::Duration;
use decide::claim::{OfferingsSeen, Policy, Situation};
use jiff::SignedDuration;
use model::*;

use crate::fixture::*;

use ActionResult::{Done, Lost, WasGone};

const DELETED: [&str; 1] = ["delete claim"];

/// Every attempt to begin fails like this, since second 0.
fn failing(reason: &'static str, retry: Retry) -> Situation {
    taken(&asked(), &[Done, failed(reason, retry)]).0
}

/// Not given up at this second, and given up one later.
fn ends_after(situation: &Situation, seconds: i64) {
    let at_second = |second| Situation { now: at(second), ..situation.clone() };
    assert_ne!(steps(&at_second(seconds)), DELETED, "not yet at {seconds}");
    assert_eq!(steps(&at_second(seconds + 1)), DELETED, "at {}", seconds + 1);
}

fn never_ends(situation: &Situation) {
    let situation = Situation { now: at(365 * 24 * 3600), ..situation.clone() };
    assert_ne!(steps(&situation), DELETED);
}

/// What is said when it is given up at this second.
fn given_up(situation: &Situation, second: i64) -> (String, String) {
    let situation = Situation { now: at(second), ..situation.clone() };
    let (_, conclusion) = taken(&situation, &[]);
    assert_eq!(conclusion.status, situation.claim.status);
    let [Note { warning: true, reason, text }] = conclusion.notes.as_slice() else { panic!("{conclusion:?}") };
    let done = Answer::Done { reason: format!("NodeClaim gpu1: {text}") };
    assert_eq!(conclusion.next, Next::Answer(done));
    ((*reason).to_owned(), text.clone())
}

fn patient(situation: Situation, annotation: &str, value: &str) -> Situation {
    let (policy, problems) = Policy::read(&text(&[(annotation, value)]), &text(&[]));
    assert_eq!(problems, Vec::<String>::new());
    Situation { policy, ..situation }
}

#[test]
fn an_order_that_no_cloud_takes_within_five_minutes_is_given_up() {
    let situation = failing("Unauthorized", Retry::Never);
    ends_after(&situation, 300);
    let text = "no machine could be ordered within 5 min: making agent pool gpu1: Unauthorized; the claim is deleted"
        .to_owned();
    assert_eq!(given_up(&situation, 301), ("LaunchTimeout".to_owned(), text));
}

#[test]
fn it_is_given_up_the_same_whether_an_offering_was_chosen_or_not() {
    let none = Situation { offerings: OfferingsSeen::Known(vec![]), ..asked() };
    ends_after(&taken(&none, &[]).0, 300);
    ends_after(&failing("Uncertain", Retry::ReadBack), 300);
}

#[test]
fn a_claim_made_by_hand_is_never_given_up_before_it_costs_anything() {
    let mut situation = failing("Unauthorized", Retry::Never);
    situation.claim.has_owner = false;
    never_ends(&situation);
}

#[test]
fn a_cloud_that_asks_us_to_wait_is_waited_for() {
    for reason in ["Throttled", "Unavailable"] {
        never_ends(&failing(reason, Retry::SameAfter(Duration::from_secs(10))));
    }
}

#[test]
fn an_order_that_fails_late_leaves_the_next_offering_its_own_time() {
    let late = Situation { now: at(400), ..launching() };
    let (refused, _) = taken(&late, &[no_capacity(&late)]);
    assert_eq!(steps(&refused), [format!("record 2: {SECOND}"), format!("ensure 2: {SECOND}")]);
    let (waiting, _) = taken(&refused, &[Done, failed("Uncertain", Retry::ReadBack)]);
    ends_after(&waiting, 700);
}

#[test]
fn how_long_an_order_may_take_can_be_said() {
    let situation = failing("Unauthorized", Retry::Never);
    ends_after(&patient(situation.clone(), names::LAUNCH_TIMEOUT, "1h"), 3600);
    never_ends(&patient(situation, names::LAUNCH_TIMEOUT, "Never"));
}

#[test]
fn a_machine_that_is_being_made_has_fifteen_minutes_from_the_order_whoever_owns_the_claim() {
    let mut situation = launching();
    for has_owner in [true, false] {
        situation.claim.has_owner = has_owner;
        ends_after(&situation, 10 + 900);
    }
    let text = "the machine was ordered and did not join within 15 min; the claim is deleted".to_owned();
    assert_eq!(given_up(&situation, 911), ("RegistrationTimeout".to_owned(), text));
    let throttled = failed("Throttled", Retry::SameAfter(Duration::from_secs(10)));
    ends_after(&taken(&launching(), &[throttled]).0, 910);
}

#[test]
fn a_machine_that_runs_has_the_same_fifteen_minutes_until_its_node_joins() {
    ends_after(&launched(), 10 + 900);
    let text = "the machine runs, but its node did not join within 15 min; the claim is deleted".to_owned();
    assert_eq!(given_up(&launched(), 911), ("RegistrationTimeout".to_owned(), text));
    never_ends(&joining());
}

#[test]
fn without_a_record_the_time_to_join_counts_from_the_launch() {
    let mut situation = launched();
    situation.claim.launch = Launch::NotBegun;
    ends_after(&situation, 120 + 900);
}

#[test]
fn how_long_a_machine_may_take_to_join_can_be_said_and_is_heard_while_it_is_made() {
    for situation in [launching(), launched()] {
        let look = |situation: &Situation| taken(situation, &[in_progress("operation 1")]).0;
        ends_after(&look(&patient(situation.clone(), names::REGISTRATION_TIMEOUT, "40m")), 10 + 2400);
        never_ends(&look(&patient(situation, names::REGISTRATION_TIMEOUT, "Never")));
    }
}

#[test]
fn a_node_that_is_not_usable_half_an_hour_after_it_joined_is_given_up() {
    ends_after(&registered(), 180 + 1800);
    let text =
        "the node was not usable within 30 min: node aks-gpu1-0 is not ready yet; the claim is deleted".to_owned();
    assert_eq!(given_up(&registered(), 1981), ("InitializationTimeout".to_owned(), text));
    never_ends(&usable());
    never_ends(&ready());
}

#[test]
fn how_long_a_node_may_take_to_become_usable_can_be_said() {
    ends_after(&patient(registered(), names::INITIALIZATION_TIMEOUT, "2h"), 180 + 7200);
    never_ends(&patient(registered(), names::INITIALIZATION_TIMEOUT, "Never"));
    let short = Policy { initialization: Some(SignedDuration::from_secs(1)), ..Policy::default() };
    ends_after(&Situation { policy: short, ..registered() }, 181);
}

#[test]
fn a_claim_is_called_deleted_only_once_it_is() {
    let overdue =
        [(failing("Unauthorized", Retry::Never), 301), (launching(), 911), (launched(), 911), (registered(), 1981)];
    for (situation, second) in overdue {
        let situation = Situation { now: at(second), ..situation };
        let unavailable = failed("Unavailable", Retry::SameAfter(Duration::from_secs(3)));
        for (result, next) in [
            (unavailable, later("making agent pool gpu1: Unavailable", 3)),
            (Lost, later("somebody else is working on it", 1)),
            (WasGone, nothing("it is gone")),
        ] {
            let (_, conclusion) = taken(&situation, &[result]);
            assert!(is_silent(&situation, &conclusion), "{conclusion:?}");
            assert_eq!(conclusion.next, next);
        }
    }
}
