//! What keeps a launch from beginning, or from going on, apart from the cloud's own answers.

use core::time::Duration;
use decide::claim::{ClassSeen, OfferingsSeen, Situation, needs_offerings};
use model::*;

use crate::fixture::*;

use ConditionKind::{Initialized, Launched, Ready};

fn class_missing(situation: Situation) -> Situation {
    let class = ClassSeen::NotReady { reason: "NodeClassNotFound", why: "there is no AKSNodeClass default".into() };
    Situation { class, ..situation }
}

fn unreadable(mut situation: Situation) -> Situation {
    situation.claim.launch = Launch::Unreadable { why: "not JSON".into() };
    situation
}

/// Says so once, does nothing, and is looked at again.
fn waits(situation: &Situation, condition: (Truth, &str, &str), next: Next) {
    assert_eq!(steps(situation), Vec::<String>::new());
    let (after, conclusion) = taken(situation, &[]);
    assert_eq!(says(&conclusion, Launched), Some(condition));
    assert_eq!(events(&conclusion), [format!("{}!", condition.1)]);
    assert_eq!(conclusion.next, next);
    assert_eq!(after.claim.launch, situation.claim.launch);
    let (_, again) = taken(&after, &[]);
    assert!(is_silent(&after, &again), "{again:?}");
    assert_eq!(again.next, next);
}

#[test]
fn without_its_class_nothing_is_begun_and_nothing_is_gone_on_with() {
    let why = "there is no AKSNodeClass default";
    for situation in [asked(), launching()] {
        waits(&class_missing(situation), (Truth::Unknown, "NodeClassNotFound", why), later(why, 60));
    }
}

#[test]
fn a_class_that_is_there_again_is_gone_on_with() {
    let (waiting, _) = taken(&class_missing(launching()), &[]);
    let found = Situation { class: launching().class, ..waiting };
    assert_eq!(steps(&found), [format!("ensure 1: {FIRST}")]);
}

#[test]
fn a_catalogue_that_cannot_be_read_is_read_again() {
    let wait = Duration::from_secs(7);
    for (reason, retry, seconds) in [
        ("Throttled", Retry::SameAfter(wait), 7),
        ("Unavailable", Retry::SameAfter(Duration::ZERO), 1),
        ("Unauthorized", Retry::Never, 60),
        ("Uncertain", Retry::ReadBack, 2),
    ] {
        let failure = failure(reason, retry);
        let message = failure.message.clone();
        let situation = Situation { offerings: OfferingsSeen::Failed(failure), ..asked() };
        waits(&situation, (Truth::Unknown, reason, &message), later(&message, seconds));
    }
}

#[test]
fn a_choice_needs_the_catalogue_and_nothing_else_does() {
    assert!(needs_offerings(&asked().claim));
    let (refused, _) = taken(&asked(), &[ActionResult::Done, no_capacity(&asked())]);
    assert!(needs_offerings(&refused.claim));
    for situation in [launching(), launched(), registered(), ready(), unreadable(asked())] {
        assert!(!needs_offerings(&situation.claim));
    }
    let unread = Situation { offerings: OfferingsSeen::NotAsked, ..asked() };
    let why = "the catalogue was not read";
    waits(&unread, (Truth::Unknown, "Unavailable", why), later(why, 2));
}

#[test]
fn nothing_is_launched_on_a_guess() {
    let why = "the annotation pilotlight.dev/launch cannot be read (not JSON); remove the claim and make it again";
    let next = nothing(&format!("NodeClaim gpu1: {why}"));
    waits(&unreadable(asked()), (Truth::Unknown, "LaunchRecordUnreadable", why), next);
}

#[test]
fn a_machine_that_is_there_does_not_need_its_record_any_more() {
    for (situation, expected) in [(launched(), vec![]), (joining(), vec![format!("change {NODE}")]), (ready(), vec![])]
    {
        assert_eq!(steps(&unreadable(situation.clone())), expected);
        let (after, _) = taken(&unreadable(situation), &[]);
        assert!(after.claim.is(Launched));
    }
    let (after, _) = taken(&unreadable(usable()), &[]);
    assert!(after.claim.is(Initialized) && after.claim.is(Ready));
}

#[test]
fn a_claim_on_its_way_out_is_not_ours_to_touch() {
    for mut situation in [asked(), launching(), joining(), usable(), unreadable(asked())] {
        situation.claim.deleted_at = Some(at(1));
        assert_eq!(steps(&situation), Vec::<String>::new());
        let (_, conclusion) = taken(&situation, &[]);
        assert!(is_silent(&situation, &conclusion));
        assert_eq!(conclusion.next, nothing("NodeClaim gpu1 is on its way out"));
    }
}
