//! Commands that are put back: by a pod that comes, by a person, or because replacements do not come.

use decide::command::left_over;
use model::{names, *};

use crate::toy::{Toy, pod};

#[test]
fn a_pod_that_comes_at_any_step_before_the_deletion_survives_and_everything_is_put_back() {
    for replacements in [&[][..], &["new-1"][..]] {
        for at in 0..40 {
            let mut toy = Toy::with(&["a", "b"], replacements);
            for _ in 0..at {
                toy.step(usize::MAX);
            }
            if toy.phase() == Some("Deleting") {
                assert!(at > 3, "some steps come before");
                break;
            }
            toy.pods.get_mut("b").unwrap().push(pod("late"));
            toy.live();
            assert!(!toy.deleted.contains("a") && !toy.deleted.contains("b"), "after {at} steps");
            toy.assert_put_back(&["a", "b"]);
        }
    }
}

#[test]
fn pods_of_daemons_and_pods_that_are_over_disturb_nobody() {
    let mut toy = Toy::with(&["a"], &[]);
    let over = Pod { terminal: true, ..pod("done") };
    let daemon = Pod { kind: PodKind::Daemon, ..pod("agent") };
    toy.step(usize::MAX);
    toy.pods.get_mut("a").unwrap().extend([over, daemon]);
    toy.live();
    assert!(toy.deleted.contains("a"));
}

#[test]
fn putting_back_is_finished_by_whoever_comes_next() {
    for most in 0..6 {
        let mut toy = Toy::with(&["a", "b"], &[]);
        toy.step(usize::MAX);
        toy.step(usize::MAX);
        toy.pods.get_mut("a").unwrap().push(pod("late"));
        toy.pass(60);
        toy.step(usize::MAX);
        assert_eq!(toy.phase(), Some("Undoing"));
        toy.step(most);
        toy.live();
        toy.assert_put_back(&["a", "b"]);
    }
}

#[test]
fn replacements_that_do_not_come_put_it_back_and_the_pool_remembers() {
    let mut toy = Toy::with(&["a"], &["new-1"]);
    toy.comes_after = None;
    toy.live();
    toy.assert_put_back(&["a"]);
    assert_eq!(toy.replaced, [false]);
    let mut slow = Toy::with(&["a"], &["new-1"]);
    slow.comes_after = Some(1_000_000);
    for _ in 0..2000 {
        slow.step(usize::MAX);
    }
    slow.assert_put_back(&["a"]);
    assert!(slow.deleted.contains("new-1"), "what was ordered and never came goes");
}

/// What somebody does meanwhile.
type Meddling = fn(&mut Toy);

#[test]
fn a_word_or_a_deed_of_somebody_else_ends_it() {
    let meddlings: [(&str, Meddling); 4] = [
        ("do-not-disrupt on the claim", |toy| {
            toy.claims.get_mut("a").unwrap().annotations.insert(names::DO_NOT_DISRUPT.into(), "true".into());
        }),
        ("do-not-disrupt on the node", |toy| {
            toy.nodes.get_mut("a").unwrap().annotations.insert(names::DO_NOT_DISRUPT.into(), "true".into());
        }),
        ("the node is opened again", |toy| toy.nodes.get_mut("a").unwrap().taints.clear()),
        ("the other claim is deleted", |toy| toy.claims.get_mut("b").unwrap().deleted_at = Some(toy.now)),
    ];
    for (what, meddle) in meddlings {
        let mut toy = Toy::with(&["a", "b"], &[]);
        while toy.phase() != Some("Tainted") {
            toy.step(usize::MAX);
        }
        meddle(&mut toy);
        toy.live();
        assert!(toy.deleted.is_empty(), "{what}");
        assert!(toy.records.is_empty() && !toy.is_closed("a"), "{what}");
    }
}

#[test]
fn what_no_command_owns_is_taken_off_and_what_one_owns_is_not() {
    let mut toy = Toy::with(&["a", "b"], &[]);
    toy.step(usize::MAX);
    let command = toy.records["a"].clone();
    let follower = Ok(toy.records["b"].clone());
    let (claim, node) = (&toy.claims["b"], &toy.nodes["b"]);
    let found = |record, leader| left_over(claim, record, leader, Some(node));
    assert_eq!(found(Some(&follower), Some(&command)), None);
    assert_eq!(found(None, Some(&command)), None, "a record that is missing is no reason to open the node");
    assert!(found(Some(&follower), None).is_some(), "the command is gone");
    assert!(found(None, None).is_some(), "a taint alone");
    assert!(found(Some(&Err("nonsense".into())), None).is_some());
    let going = Claim { deleted_at: Some(toy.now), ..claim.clone() };
    assert_eq!(left_over(&going, None, None, Some(node)), None, "what goes stays closed");
    let untouched = Toy::with(&["c"], &[]);
    assert_eq!(left_over(&untouched.claims["c"], None, None, Some(&untouched.nodes["c"])), None);
}
