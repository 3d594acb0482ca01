//! Each effect of both functions, and each way in which it can go wrong: every life comes to its end.
//!
//! Some minutes long, so `make lives` runs it and `make test-fast` does not.

use faults::{Kind, sweep};

fn every_fault_at_every_effect(kind: Kind) {
    let (plans, failed) = sweep::sweep(kind);
    println!("{}: {plans} plans were lived, {} did not come out", kind.name(), failed.len());
    assert!(failed.is_empty(), "{} of {plans} plans:\n{}", failed.len(), failed.join("\n"));
}

#[test]
#[ignore = "minutes long: make lives"]
fn aks_converges_whatever_goes_wrong_once() {
    every_fault_at_every_effect(Kind::Aks);
}

#[test]
#[ignore = "minutes long: make lives"]
fn scaleway_converges_whatever_goes_wrong_once() {
    every_fault_at_every_effect(Kind::Scaleway);
}

#[test]
#[ignore = "minutes long: make lives"]
fn power_converges_whatever_goes_wrong_once() {
    every_fault_at_every_effect(Kind::Power);
}
