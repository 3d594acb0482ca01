//! Each effect of the functions, and each way in which it can go wrong: every life comes to its end.
//!
//! Some minutes long, so `make lives` runs it and `make test-fast` does not.

use faults::{
    KINDS, Kind,
    sweep::{self, Play},
};

fn every_fault_at_every_effect(kind: Kind, play: Play) {
    let (plans, failed) = sweep::sweep(kind, play);
    println!("{}, {play:?}: {plans} plans were lived, {} did not come out", kind.name(), failed.len());
    assert!(failed.is_empty(), "{} of {plans} plans:\n{}", failed.len(), failed.join("\n"));
}

#[test]
#[ignore = "minutes long: make lives"]
fn aks_converges_whatever_goes_wrong_once() {
    every_fault_at_every_effect(Kind::Aks, Play::Claim);
}

#[test]
#[ignore = "minutes long: make lives"]
fn scaleway_converges_whatever_goes_wrong_once() {
    every_fault_at_every_effect(Kind::Scaleway, Play::Claim);
}

#[test]
#[ignore = "minutes long: make lives"]
fn power_converges_whatever_goes_wrong_once() {
    every_fault_at_every_effect(Kind::Power, Play::Claim);
}

#[test]
#[ignore = "minutes long: make lives"]
fn a_pod_gets_one_node_and_one_word_whatever_goes_wrong_once() {
    for kind in KINDS {
        every_fault_at_every_effect(kind, Play::Pod);
    }
}
