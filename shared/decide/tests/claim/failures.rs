//! What a cloud refuses: the next offering at once, the same one later, or a person.

use core::time::Duration;
use decide::claim::{OfferingsSeen, Situation};
use model::*;

use crate::fixture::*;
use crate::market::{H100_X8, aks, at as clock};

use ActionResult::Done;
use ConditionKind::Launched;

const TEN_MINUTES: i64 = 600;

/// The first offering was refused.
fn refused_once() -> (Situation, Conclusion) {
    taken(&asked(), &[Done, no_capacity(&asked())])
}

/// Both were.
fn refused_twice() -> Situation {
    let (once, _) = refused_once();
    taken(&once, &[Done, no_capacity(&once)]).0
}

fn attempt(situation: &Situation) -> Vec<(String, String)> {
    let tried = situation.claim.record().unwrap().tried.iter();
    tried.map(|attempt| (attempt.offering.to_string(), attempt.reason.clone())).collect()
}

#[test]
fn a_lack_of_capacity_is_noted_told_and_remembered_for_everybody() {
    let (after, conclusion) = refused_once();
    assert_eq!(attempt(&after), [(FIRST.to_owned(), "InsufficientCapacity".to_owned())]);
    let message = "making agent pool gpu1: InsufficientCapacity";
    assert_eq!(says(&conclusion, Launched), Some((Truth::Unknown, "InsufficientCapacity", message)));
    assert_eq!(events(&conclusion), ["InsufficientCapacity!"]);
    let text = format!("Standard_NC24ads_A100_v4, on-demand, 3.673 USD/h: {message}");
    assert_eq!(conclusion.notes[0].text, text);
    let scope = Scope::Offering(request(&asked()).offering.id);
    let reason = "InsufficientCapacity".to_owned();
    assert_eq!(conclusion.unavailable, [Unavailable { scope, until: clock("13:00"), reason }]);
    assert_eq!(conclusion.next, Next::AtOnce);
}

#[test]
fn the_next_offering_is_tried_in_the_same_claim_with_the_next_epoch() {
    let (once, _) = refused_once();
    assert_eq!(steps(&once), [format!("record 2: {SECOND}"), format!("ensure 2: {SECOND}")]);
}

#[test]
fn the_claim_tells_what_was_tried_before_it_worked() {
    let (once, _) = refused_once();
    let story = format!("(tried {FIRST}: InsufficientCapacity)");
    let (_, making) = taken(&once, &[Done, in_progress("operation 2")]);
    let what = format!("aks is making Standard_NC48ads_A100_v4, on-demand, 7.346 USD/h {story}");
    assert_eq!(says(&making, Launched), Some((Truth::Unknown, "Launching", what.as_str())));
    let (_, made) = taken(&once, &[Done, running()]);
    let what = format!("aks made Standard_NC48ads_A100_v4, on-demand, 7.346 USD/h {story}");
    assert_eq!(says(&made, Launched), Some((Truth::True, "Launched", what.as_str())));
}

#[test]
fn an_order_that_was_taken_may_fail_for_capacity_later() {
    let (after, _) = taken(&launching(), &[no_capacity(&launching())]);
    assert_eq!(after.claim.record().unwrap().progress, None, "nothing of it is left");
    assert_eq!(steps(&after), [format!("record 2: {SECOND}"), format!("ensure 2: {SECOND}")]);
    let (again, _) = taken(&after, &[Done, in_progress("operation 2")]);
    let record = again.claim.record().unwrap();
    assert_eq!((record.epoch, record.accepted_at, record.deadline), (2, Some(at(60)), at(960)), "its own time to join");
}

#[test]
fn what_can_never_work_with_one_offering_may_work_with_the_next_and_teaches_nobody_else() {
    for reason in ["InvalidRequest", "Conflict"] {
        let (after, conclusion) = taken(&asked(), &[Done, failed(reason, Retry::Never)]);
        assert_eq!(attempt(&after), [(FIRST.to_owned(), reason.to_owned())]);
        assert!(conclusion.unavailable.is_empty());
        assert_eq!((events(&conclusion), conclusion.next), (vec![format!("{reason}!")], Next::AtOnce));
        assert_eq!(steps(&after), [format!("record 2: {SECOND}"), format!("ensure 2: {SECOND}")]);
    }
}

#[test]
fn what_is_uncertain_or_passes_or_needs_a_person_keeps_the_offering() {
    let wait = |seconds| Retry::SameAfter(Duration::from_secs(seconds));
    for (reason, retry, seconds) in [
        ("Uncertain", Retry::ReadBack, 2),
        ("Throttled", wait(42), 42),
        ("Unavailable", wait(0), 1),
        ("Unauthorized", Retry::Never, 60),
    ] {
        for (before, ahead) in [(asked(), vec![Done]), (launching(), vec![])] {
            let results: Vec<ActionResult> = ahead.into_iter().chain([failed(reason, retry)]).collect();
            let (after, conclusion) = taken(&before, &results);
            let message = format!("making agent pool gpu1: {reason}");
            assert_eq!(says(&conclusion, Launched), Some((Truth::Unknown, reason, message.as_str())));
            assert_eq!(events(&conclusion), [format!("{reason}!")]);
            assert_eq!(conclusion.next, later(&message, seconds));
            assert!(conclusion.claim.is_empty() && conclusion.unavailable.is_empty(), "the record stands");
            assert_eq!(steps(&after), [format!("ensure 1: {FIRST}")]);
            assert_eq!(request(&after), request(&before), "{reason}");
            let (_, again) = taken(&after, &[failed(reason, retry)]);
            assert!(is_silent(&after, &again), "told once: {again:?}");
        }
    }
}

#[test]
fn a_ladder_that_was_climbed_to_its_end_waits_for_stock_and_says_until_when() {
    let twice = refused_twice();
    assert_eq!(steps(&twice), Vec::<String>::new());
    let (after, conclusion) = taken(&twice, &[]);
    let (truth, reason, message) = says(&conclusion, Launched).unwrap();
    assert_eq!((truth, reason), (Truth::Unknown, "InsufficientCapacity"));
    assert!(message.starts_with("both that fit are out of stock until 13:00 UTC: "), "{message}");
    assert!(matches!(&conclusion.next, Next::Answer(Answer::Later { after, .. }) if after.as_secs() == 600));
    let (_, again) = taken(&after, &[]);
    assert!(is_silent(&after, &again), "{again:?}");
}

#[test]
fn what_was_tried_comes_with_the_reason_to_wait() {
    let (once, _) = taken(&asked(), &[Done, failed("Conflict", Retry::Never)]);
    let (twice, _) = taken(&once, &[Done, failed("InvalidRequest", Retry::Never)]);
    let (_, conclusion) = taken(&twice, &[]);
    let Next::Answer(answer) = conclusion.next else { panic!() };
    let story = format!("(tried {SECOND}: InvalidRequest, {FIRST}: Conflict)");
    assert!(answer.reason().ends_with(&story), "the latest first: {}", answer.reason());
}

#[test]
fn a_claim_that_was_refused_for_what_it_asks_says_so_in_the_words_of_the_refusal() {
    let (once, _) = taken(&asked(), &[Done, failed("InvalidRequest", Retry::Never)]);
    let (twice, _) = taken(&once, &[Done, failed("InvalidRequest", Retry::Never)]);
    let (after, conclusion) = taken(&twice, &[]);
    let told = after.claim.condition(Launched).unwrap();
    assert_eq!(
        (told.reason.as_str(), told.message.as_str()),
        ("InvalidRequest", "making agent pool gpu1: InvalidRequest")
    );
    assert!(events(&conclusion).is_empty(), "it was told when it was refused");
    let (_, again) = taken(&after, &[]);
    assert!(is_silent(&after, &again), "{again:?}");
}

#[test]
fn once_the_time_is_over_the_climb_begins_again_and_epochs_go_on() {
    let mut waiting = refused_twice();
    waiting.claim.has_owner = false;
    waiting.now = at(3 * 3600);
    assert_eq!(steps(&waiting), [format!("record 3: {FIRST}"), format!("ensure 3: {FIRST}")]);
    let (after, _) = taken(&waiting, &[Done, in_progress("operation 3")]);
    assert_eq!(steps(&after), [format!("ensure 3: {FIRST}")], "an old failure does not count against the new try");
}

#[test]
fn a_claim_that_waits_for_weeks_keeps_one_line_an_offering() {
    let mut waiting = refused_twice();
    waiting.claim.has_owner = false;
    for round in 1..50 {
        waiting.stock = StockMemory::default();
        waiting.now = at(round * 2 * TEN_MINUTES);
        waiting = taken(&waiting, &[Done, no_capacity(&waiting)]).0;
    }
    let mut offerings: Vec<String> = attempt(&waiting).into_iter().map(|(offering, _)| offering).collect();
    offerings.sort();
    assert_eq!(offerings, [FIRST, SECOND]);
    assert_eq!(waiting.claim.record().unwrap().epoch, 51);
}

#[test]
fn what_nothing_on_offer_can_ever_serve_has_failed_and_says_why() {
    let other = aks(H100_X8, None, CapacityType::OnDemand, 8, 98_320_000);
    let impossible = Situation { offerings: OfferingsSeen::Known(vec![other]), ..asked() };
    assert_eq!(steps(&impossible), Vec::<String>::new());
    let (after, conclusion) = taken(&impossible, &[]);
    let (truth, reason, message) = says(&conclusion, Launched).unwrap();
    assert_eq!((truth, reason), (Truth::False, "NoOfferingFits"));
    assert!(message.starts_with("no instance type named Standard_NC24ads_A100_v4"), "{message}");
    assert_eq!(events(&conclusion), ["NoOfferingFits!"]);
    assert_eq!(conclusion.next, nothing(&format!("NodeClaim gpu1: {message}")));
    let (_, again) = taken(&after, &[]);
    assert!(is_silent(&after, &again));

    let catalogue_grew = Situation { offerings: asked().offerings, ..after };
    assert_eq!(steps(&catalogue_grew), [format!("record 1: {FIRST}"), format!("ensure 1: {FIRST}")]);
}

#[test]
fn what_others_learnt_is_not_asked_for_again() {
    let scope = Scope::Offering(request(&asked()).offering.id);
    let line = Unavailable { scope, until: at(60), reason: "InsufficientCapacity".into() };
    let situation = Situation { stock: StockMemory { lines: vec![line] }, ..asked() };
    assert_eq!(steps(&situation), [format!("record 1: {SECOND}"), format!("ensure 1: {SECOND}")]);
}
