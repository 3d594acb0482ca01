//! The contract suite: what any provider must do, checked over its cloud's double. A provider that passes may spend money.
//!
//! `Subject` is what a provider's test brings; `run` goes through every `Case`, each over a fresh subject. Failures name the
//! case and the step, and all of them are told.

mod creating;
mod drive;
mod faults;
mod leftovers;
mod looking;
mod rebooting;
mod refusing;
mod removing;
mod subject;
mod through;

use core::fmt;

pub use drive::Failed;
pub use subject::{Fault, Foreign, Mishap, Request, Subject, Unobtainable, key};
pub use through::Through;

/// What is checked, one behaviour each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Case {
    OfferingsAreNamedAndTold,
    OneIsMade,
    AlreadySoIsNotMadeTwice,
    MakingGoesOnElsewhere,
    TwoNeverShareOne,
    NothingToRemoveIsConfirmed,
    RemovingLeavesNothingBilled,
    RemovingGoesOnElsewhere,
    RemovingInTheMiddleOfMaking,
    ForeignIsNotTouched,
    NoStockLeavesNothing,
    NoQuotaLeavesNothing,
    UnknownOfferingIsRefused,
    ThrottlingIsObeyed,
    OwnedIsCompleteAndOnlyOurs,
    LeftOversAreOwned,
    NoneIsAProof,
    EveryFaultWhileMaking,
    EveryFaultWhileRemoving,
    EveryFaultWhileThereIsNoStock,
    RebootingIsDoneOnce,
    EveryFaultWhileRebooting,
}

impl Case {
    pub const ALL: [Case; 22] = [
        Case::OfferingsAreNamedAndTold,
        Case::OneIsMade,
        Case::AlreadySoIsNotMadeTwice,
        Case::MakingGoesOnElsewhere,
        Case::TwoNeverShareOne,
        Case::NothingToRemoveIsConfirmed,
        Case::RemovingLeavesNothingBilled,
        Case::RemovingGoesOnElsewhere,
        Case::RemovingInTheMiddleOfMaking,
        Case::ForeignIsNotTouched,
        Case::NoStockLeavesNothing,
        Case::NoQuotaLeavesNothing,
        Case::UnknownOfferingIsRefused,
        Case::ThrottlingIsObeyed,
        Case::OwnedIsCompleteAndOnlyOurs,
        Case::LeftOversAreOwned,
        Case::NoneIsAProof,
        Case::EveryFaultWhileMaking,
        Case::EveryFaultWhileRemoving,
        Case::EveryFaultWhileThereIsNoStock,
        Case::RebootingIsDoneOnce,
        Case::EveryFaultWhileRebooting,
    ];

    /// What holds, as a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Case::OfferingsAreNamedAndTold => "offerings are never none, told once each, and carry the provider's name",
            Case::OneIsMade => "a fresh key becomes exactly one running instance that can be observed",
            Case::AlreadySoIsNotMadeTwice => "what is already so is not made twice",
            Case::MakingGoesOnElsewhere => "another machine goes on making, from the progress and from the key alone",
            Case::TwoNeverShareOne => "two claims that ask for the same at once never share an instance",
            Case::NothingToRemoveIsConfirmed => "where nothing is, gone is confirmed and nothing is changed",
            Case::RemovingLeavesNothingBilled => "gone is confirmed only when nothing is billed",
            Case::RemovingGoesOnElsewhere => {
                "another machine goes on removing, from the progress and from the key alone"
            }
            Case::RemovingInTheMiddleOfMaking => "what is only half made is removed too",
            Case::ForeignIsNotTouched => "what is somebody else's is not touched, adopted or counted",
            Case::NoStockLeavesNothing => "no stock is typed, has its scope, and leaves nothing",
            Case::NoQuotaLeavesNothing => "no quota is typed, has its scope, and leaves nothing",
            Case::UnknownOfferingIsRefused => {
                "an offering that does not exist is an invalid request, and nothing is changed"
            }
            Case::ThrottlingIsObeyed => "a cloud that asks to be called less often is obeyed",
            Case::OwnedIsCompleteAndOnlyOurs => "what is owned is told completely or not at all, and nothing else is",
            Case::LeftOversAreOwned => "whatever is billed at any moment of making and removing is owned",
            Case::NoneIsAProof => "none is observed only where there is none",
            Case::EveryFaultWhileMaking => "every single fault while making ends in exactly one, then none",
            Case::EveryFaultWhileRemoving => "every single fault while removing ends in none",
            Case::EveryFaultWhileThereIsNoStock => "every single fault while there is no stock ends in nothing",
            Case::RebootingIsDoneOnce => "a machine is started anew once for each operation, or not able and untouched",
            Case::EveryFaultWhileRebooting => {
                "every single fault while rebooting ends in a machine that was started anew"
            }
        }
    }
}

/// What became of a case that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// This cloud cannot be brought there; why.
    Skipped(&'static str),
}

/// A case that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub case: Case,
    pub failed: Failed,
}

/// All that failed. Its `Debug` is made for reading, so that a test can simply return it.
#[derive(Clone, PartialEq, Eq)]
pub struct Failures(pub Vec<Failure>);

/// What was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report(pub Vec<(Case, Outcome)>);

/// Runs every case. `make` brings a fresh cloud with nothing of ours in it.
pub async fn run<S: Subject>(make: impl AsyncFn() -> S) -> Result<Report, Failures> {
    let (mut outcomes, mut failures) = (vec![], vec![]);
    for case in Case::ALL {
        match check(case, &make).await {
            Ok(outcome) => outcomes.push((case, outcome)),
            Err(failure) => failures.push(failure),
        }
    }
    if failures.is_empty() { Ok(Report(outcomes)) } else { Err(Failures(failures)) }
}

/// Runs one case.
pub async fn check<S: Subject>(case: Case, make: &impl AsyncFn() -> S) -> Result<Outcome, Failure> {
    let outcome = match case {
        Case::OfferingsAreNamedAndTold => looking::offerings_are_named_and_told(&make().await).await,
        Case::OneIsMade => creating::one_is_made(&make().await).await,
        Case::AlreadySoIsNotMadeTwice => creating::already_so_is_not_made_twice(&make().await).await,
        Case::MakingGoesOnElsewhere => creating::goes_on_elsewhere(make).await,
        Case::TwoNeverShareOne => creating::two_never_share_one(make).await,
        Case::NothingToRemoveIsConfirmed => removing::nothing_is_confirmed(&make().await).await,
        Case::RemovingLeavesNothingBilled => removing::nothing_is_left(&make().await).await,
        Case::RemovingGoesOnElsewhere => removing::goes_on_elsewhere(make).await,
        Case::RemovingInTheMiddleOfMaking => removing::in_the_middle_of_making(make).await,
        Case::ForeignIsNotTouched => refusing::foreign_is_not_touched(&make().await).await,
        Case::NoStockLeavesNothing => refusing::no_stock_leaves_nothing(&make().await).await,
        Case::NoQuotaLeavesNothing => refusing::no_quota_leaves_nothing(&make().await).await,
        Case::UnknownOfferingIsRefused => refusing::unknown_offering_is_refused(&make().await).await,
        Case::ThrottlingIsObeyed => faults::throttling_is_obeyed(make).await,
        Case::OwnedIsCompleteAndOnlyOurs => looking::owned_is_complete_and_only_ours(make).await,
        Case::LeftOversAreOwned => leftovers::are_owned(make).await,
        Case::NoneIsAProof => looking::none_is_a_proof(make).await,
        Case::EveryFaultWhileMaking => faults::while_making(make).await,
        Case::EveryFaultWhileRemoving => faults::while_removing(make).await,
        Case::EveryFaultWhileThereIsNoStock => faults::while_there_is_no_stock(make).await,
        Case::RebootingIsDoneOnce => rebooting::is_done_once(make).await,
        Case::EveryFaultWhileRebooting => rebooting::every_fault(make).await,
    };
    outcome.map_err(|failed| Failure { case, failed })
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?}: {}\n      step: {}\n      why:  {}",
            self.case,
            self.case.name(),
            self.failed.step,
            self.failed.why
        )
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the provider breaks its contract in {} of {} cases", self.0.len(), Case::ALL.len())?;
        self.0.iter().try_for_each(|failure| write!(f, "\n  - {failure}"))
    }
}

impl fmt::Debug for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for Failures {}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(case, outcome)| match outcome {
            Outcome::Passed => writeln!(f, "passed   {}", case.name()),
            Outcome::Skipped(why) => writeln!(f, "skipped  {} ({why})", case.name()),
        })
    }
}
