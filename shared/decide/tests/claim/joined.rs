//! After the join: the provider is told once, so that it takes back what only joining needed. No node waits for it.

use core::time::Duration;
use decide::claim::{ClassSeen, Situation, plan};
use model::*;

use crate::fixture::*;

use ActionResult::Done;
use ConditionKind::{Initialized, Ready};

const STILL: &str = "the join secret has still to be removed";

fn secretive(situation: Situation) -> Situation {
    Situation { tell_joined: true, ..situation }
}

fn told(situation: &Situation) -> bool {
    situation.claim.record().unwrap().told_joined
}

#[test]
fn the_provider_is_told_as_soon_as_the_node_has_joined() {
    for situation in [asked(), launching(), launched(), joining()] {
        assert!(!steps(&secretive(situation)).contains(&"tell joined".to_owned()), "not before");
    }
    assert_eq!(steps(&secretive(registered())), ["tell joined"]);
    assert_eq!(steps(&secretive(usable())), [format!("change {NODE}"), "tell joined".to_owned()]);
    assert_eq!(steps(&secretive(ready())), ["tell joined"]);
}

#[test]
fn it_is_the_request_of_the_record_with_one_word_more() {
    let situation = secretive(registered());
    let actions = plan(&situation).actions;
    let [Action::Ensure { request, progress }] = actions.as_slice() else { panic!("{actions:?}") };
    let record = situation.claim.record().unwrap();
    assert_eq!((&request.offering, request.epoch, progress), (&record.offering, record.epoch, &record.progress));
    assert_eq!(request.class.get("joined").map(String::as_str), Some("true"));
}

#[test]
fn it_is_told_once() {
    for (situation, results) in [
        (registered(), vec![running()]),
        (usable(), vec![Done, running()]),
        (ready(), vec![in_progress("removing user data")]),
    ] {
        let (after, _) = taken(&secretive(situation), &results);
        assert!(told(&after));
        assert!(!steps(&after).contains(&"tell joined".to_owned()));
    }
}

#[test]
fn a_provider_without_secrets_and_a_claim_without_a_record_have_nothing_to_tell() {
    assert_eq!(steps(&registered()), Vec::<String>::new());
    let mut unrecorded = secretive(ready());
    unrecorded.claim.launch = Launch::NotBegun;
    assert_eq!(steps(&unrecorded), Vec::<String>::new());
    assert_eq!(taken(&unrecorded, &[]).1.next, nothing("NodeClaim gpu1 is ready on node aks-gpu1-0"));
}

#[test]
fn a_node_becomes_usable_while_the_provider_cannot_be_told() {
    let unavailable = failed("Unavailable", Retry::SameAfter(Duration::from_secs(10)));
    let (after, conclusion) = taken(&secretive(usable()), &[Done, unavailable.clone()]);
    assert!(after.claim.is(Initialized) && after.claim.is(Ready));
    assert!(!told(&after));
    assert_eq!(conclusion.next, later(STILL, 30), "and it is not forgotten");

    let (same, again) = taken(&after, &[unavailable]);
    assert!(is_silent(&after, &again));
    assert_eq!(again.next, later(STILL, 30));
    let (last, _) = taken(&same, &[running()]);
    assert!(told(&last));
}

#[test]
fn what_is_missing_is_named_first() {
    let (_, conclusion) = taken(&secretive(registered()), &[failed("Throttled", Retry::ReadBack)]);
    assert_eq!(conclusion.next, later("node aks-gpu1-0 is not ready yet", 10));
}

#[test]
fn without_its_class_nobody_can_be_told_yet_and_it_is_not_forgotten() {
    let class = ClassSeen::NotReady { reason: "NodeClassNotFound", why: "it is not there".into() };
    for situation in [usable(), ready()] {
        let situation = Situation { class: class.clone(), ..secretive(situation) };
        let (after, conclusion) = taken(&situation, &[]);
        assert!(after.claim.is(Ready));
        assert_eq!(conclusion.next, later(STILL, 30));
    }
}

#[test]
fn a_claim_that_is_given_up_is_not_told_about() {
    let overdue = Situation { now: at(2000), ..secretive(registered()) };
    assert_eq!(steps(&overdue), ["delete claim"]);
    let (_, conclusion) = taken(&overdue, &[]);
    assert_eq!(events(&conclusion), ["InitializationTimeout!"]);
}

#[test]
fn a_machine_that_its_cloud_takes_away_in_a_moment_is_let_go_at_once() {
    let said = |kind: &str, status: Truth| {
        let mut situation = ready();
        let (kind, reason, message) = (kind.to_owned(), String::new(), String::new());
        situation.nodes[0].conditions = vec![NodeCondition { kind, status, reason, message, since: None }];
        situation
    };
    let notice = said("PreemptionScheduled", Truth::True);
    assert_eq!(steps(&notice), ["delete claim"]);
    let (_, conclusion) = taken(&notice, &[Done]);
    assert_eq!(events(&conclusion).len(), 1, "and somebody is told why");
    for other in [said("PreemptionScheduled", Truth::False), said("DiskPressure", Truth::True)] {
        assert_eq!(steps(&other), Vec::<String>::new());
    }
}
