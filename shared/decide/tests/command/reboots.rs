//! A machine that is started anew: drained, told, proved by another boot ID; or replaced when it did not help.

use model::{names, *};

use crate::toy::{Toy, set_initialized};

fn rebooting() -> Toy {
    let mut toy = Toy::with(&["a"], &[]);
    toy.records.get_mut("a").unwrap().work = CommandWork::Reboot;
    toy
}

fn until(toy: &mut Toy, phase: &str) {
    for _ in 0..100 {
        if toy.phase() == Some(phase) {
            return;
        }
        toy.step(usize::MAX);
    }
    panic!("it never came to {phase}: {:?}", toy.leader());
}

fn reason(toy: &Toy) -> &str {
    toy.claims["a"].condition(ConditionKind::Rebooting).map_or("", |condition| condition.reason.as_str())
}

#[test]
fn its_pods_leave_first_and_another_boot_id_proves_it() {
    let mut toy = rebooting();
    until(&mut toy, "Draining");
    assert_eq!((reason(&toy), toy.reboots), ("RebootRequested", 0));
    assert_eq!(toy.claims["a"].annotations[names::REBOOT_PRE_BOOT_ID], "boot-1");
    until(&mut toy, "Rebooted");
    assert_eq!((toy.evicted.as_slice(), reason(&toy)), (["a-pod".to_owned()].as_slice(), "RebootIssued"));
    assert!(!toy.claims["a"].is(ConditionKind::Initialized), "it is not usable meanwhile");
    // The same boot ID proves nothing, whatever the claim says.
    let now = toy.now;
    set_initialized(toy.claims.get_mut("a").unwrap(), now);
    toy.step(usize::MAX);
    assert_eq!(toy.phase(), Some("Rebooted"));
    toy.nodes.get_mut("a").unwrap().boot_id = Some("boot-2".into());
    toy.live();
    toy.assert_put_back(&["a"]);
    assert_eq!(reason(&toy), "RebootSucceeded");
    let notes = &toy.claims["a"].annotations;
    assert!(notes.contains_key(names::REBOOTED_AT) && !notes.contains_key(names::REBOOT_PRE_BOOT_ID));
}

#[test]
fn one_that_does_not_come_back_in_twenty_minutes_is_deleted() {
    let mut toy = rebooting();
    until(&mut toy, "Rebooted");
    let told = toy.now;
    toy.live();
    assert!(toy.deleted.contains("a"));
    let waited = toy.now.duration_since(told).as_mins();
    assert!((20..=21).contains(&waited), "{waited}");
    assert_eq!(reason(&toy), "RebootFailed");
}

#[test]
fn one_that_cannot_be_started_anew_is_deleted_at_once() {
    let mut toy = rebooting();
    toy.reboot = Rebooted::NotAble { why: "it has no controller".into() };
    toy.live();
    assert!(toy.deleted.contains("a"));
    assert_eq!((reason(&toy), toy.reboots), ("RebootFailed", 1));
}

#[test]
fn whoever_dies_on_the_way_is_followed_by_somebody_who_finishes_it() {
    for at in 0..10 {
        for most in 0..3 {
            let mut toy = rebooting();
            for _ in 0..at {
                toy.step(usize::MAX);
            }
            toy.step(most);
            until(&mut toy, "Rebooted");
            toy.nodes.get_mut("a").unwrap().boot_id = Some("boot-2".into());
            let now = toy.now;
            set_initialized(toy.claims.get_mut("a").unwrap(), now);
            toy.live();
            toy.assert_put_back(&["a"]);
        }
    }
}
