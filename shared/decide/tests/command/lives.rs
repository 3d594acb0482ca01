//! Commands that go through: in which order, and whoever dies on the way.

use decide::command::{Deed, SCHEDULER_CYCLE, plan};
use model::{CommandOrder, CommandPhase, ConditionKind};

use crate::toy::Toy;

#[test]
fn nodes_are_closed_and_looked_at_again_before_their_claims_are_deleted() {
    let mut toy = Toy::with(&["a", "b"], &[]);
    assert!(toy.step(usize::MAX), "records, taints and conditions");
    assert!(toy.is_closed("a") && toy.is_closed("b"));
    assert!(["a", "b"].iter().all(|one| toy.claims[*one].is(ConditionKind::DisruptionReason)));
    toy.step(usize::MAX);
    assert_eq!(toy.phase(), Some("Tainted"));
    let closed = toy.now;
    while toy.deleted.is_empty() {
        toy.step(usize::MAX);
    }
    assert!(toy.now.duration_since(closed) >= SCHEDULER_CYCLE);
    assert_eq!(toy.deleted.iter().map(String::as_str).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn the_first_claim_is_deleted_last_because_the_command_stands_on_it() {
    let mut toy = Toy::with(&["a", "b", "c"], &[]);
    while toy.phase() != Some("Deleting") {
        toy.step(usize::MAX);
    }
    let order: Vec<String> = plan(&toy.seen().unwrap())
        .deeds
        .iter()
        .filter_map(|deed| match deed {
            Deed::DeleteClaim(key) => Some(key.name.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(order, ["c", "b", "a"]);
}

#[test]
fn nothing_goes_before_every_replacement_is_usable() {
    let mut toy = Toy::with(&["a", "b"], &["new-1", "new-2"]);
    while toy.deleted.is_empty() {
        assert!(toy.step(usize::MAX));
        let usable = |name: &&str| toy.claims.get(*name).is_some_and(|claim| claim.is(ConditionKind::Initialized));
        assert!(toy.deleted.is_empty() || ["new-1", "new-2"].iter().all(usable), "both are usable before");
    }
    assert_eq!(toy.made, ["new-1", "new-2"]);
    assert_eq!(toy.replaced, [true], "the pool is told that its replacements come");
}

#[test]
fn where_there_is_no_room_for_a_replacement_none_is_made() {
    let mut toy = Toy::with(&["a"], &["new-1"]);
    toy.records.get_mut("a").unwrap().order = CommandOrder::TerminateFirst;
    toy.live();
    assert!(toy.made.is_empty());
    assert!(toy.deleted.contains("a"));
}

#[test]
fn a_machine_that_goes_anyway_is_not_waited_for() {
    let mut toy = Toy::with(&["a"], &["new-1"]);
    toy.records.get_mut("a").unwrap().order = CommandOrder::AtOnce;
    let begun = toy.now;
    toy.live();
    assert_eq!((toy.made.as_slice(), toy.deleted.contains("a")), (["new-1".to_owned()].as_slice(), true));
    assert!(toy.now.duration_since(begun).as_secs() <= 1, "all of it at once");
}

#[test]
fn whoever_dies_after_any_deed_is_followed_by_somebody_who_finishes_it() {
    // Cut short once, at each step of the life and after each deed of it.
    for at in 0..12 {
        for most in 0..4 {
            let mut toy = Toy::with(&["a", "b"], &["new-1"]);
            for _ in 0..at {
                toy.step(usize::MAX);
            }
            toy.step(most);
            toy.live();
            assert_eq!(toy.deleted.len(), 2, "cut at step {at} after {most} deeds");
            assert!(toy.made.iter().all(|name| name == "new-1"), "never another name");
        }
    }
}

#[test]
fn of_two_who_go_on_at_once_the_late_one_changes_nothing() {
    let mut toy = Toy::with(&["a"], &[]);
    while toy.phase() != Some("Tainted") {
        toy.step(usize::MAX);
    }
    toy.pass(60);
    let stale = toy.seen().unwrap();
    // Meanwhile somebody sees a pod and puts everything back.
    let mut other = toy.clone();
    other.pods.get_mut("a").unwrap().push(crate::toy::pod("late"));
    other.live();
    other.assert_put_back(&["a"]);
    let step = plan(&stale);
    assert!(step.deeds.iter().all(|deed| matches!(deed, Deed::Record { .. })), "only a phase is written: {step:?}");
    assert!(!other.act(&stale, &step, usize::MAX), "and that write loses");
    assert!(other.deleted.is_empty());
}

#[test]
fn a_drain_has_an_end_only_where_the_command_says_so() {
    let check = |bound: Option<i64>, expected: bool| {
        let mut toy = Toy::with(&["a"], &[]);
        let record = toy.records.get_mut("a").unwrap();
        record.drain_within = bound.map(jiff::SignedDuration::from_secs);
        record.phase = CommandPhase::Deleting;
        toy.live();
        let noted = toy.claims["a"].annotations.contains_key(model::names::TERMINATION_TIMESTAMP);
        assert_eq!(noted, expected, "{bound:?}");
    };
    check(None, false);
    check(Some(0), true);
    check(Some(600), true);
}
