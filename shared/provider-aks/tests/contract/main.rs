//! The provider contract over the world's Azure: bare, dressed, and in every weather the world knows.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../azure/mod.rs"]
mod azure;
mod subject;
mod weather;

use provider::contract::{Case, Failures, Outcome, Report, Through, check, run};
use provider::{Settings, dressed};
use subject::{Azure, Tally};
use weather::Weather;
use world::arm::{QuotaAnswer, When};

/// Nothing is skipped that Azure can be brought to: the machine of an agent pool is never started anew.
fn tell(what: &str, report: &Report, tally: &Tally) {
    println!("{what}: {} cases, {tally}\n{report}", report.0.len());
    assert_eq!(report.0.len(), Case::ALL.len());
    let cannot = |case: &Case| matches!(case, Case::RebootingIsDoneOnce | Case::EveryFaultWhileRebooting);
    let as_it_should = |(case, outcome): &(Case, Outcome)| (*outcome == Outcome::Passed) != cannot(case);
    assert!(report.0.iter().all(as_it_should), "{report}");
}

#[tokio::test(start_paused = true)]
async fn the_contract_is_kept() -> Result<(), Failures> {
    let tally = Tally::default();
    let report = run(async || Azure::start(Weather::PLAIN, When::AtOnce, QuotaAnswer::Preflight, &tally)).await?;
    tell("bare", &report, &tally);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_contract_is_kept_dressed() -> Result<(), Failures> {
    let tally = Tally::default();
    let make = async || Through {
        subject: Azure::start(Weather::PLAIN, When::InOperation, QuotaAnswer::Conflict, &tally),
        around: |inner| dressed(inner, Settings::default()),
    };
    tell("dressed", &run(make).await?, &tally);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_contract_is_kept_where_refusals_come_late_and_nested() -> Result<(), Failures> {
    let tally = Tally::default();
    let make = async || Azure::start(Weather::CRASHES, When::InOperationNested, QuotaAnswer::Operation, &tally);
    tell("crashes, late refusals", &run(make).await?, &tally);
    Ok(())
}

/// The cases that go through every request, in each weather that is left.
#[tokio::test(start_paused = true)]
async fn every_fault_of_the_world_at_every_request_ends_as_the_contract_says() {
    let cases = [
        Case::LeftOversAreOwned,
        Case::NoneIsAProof,
        Case::OwnedIsCompleteAndOnlyOurs,
        Case::EveryFaultWhileMaking,
        Case::EveryFaultWhileRemoving,
        Case::EveryFaultWhileThereIsNoStock,
    ];
    for weather in Weather::OTHERS {
        let tally = Tally::default();
        let make = async || Azure::start(weather, When::InOperation, QuotaAnswer::Preflight, &tally);
        for case in cases {
            let outcome = check(case, &make).await.unwrap_or_else(|failure| panic!("{}: {failure}", weather.name));
            assert_eq!(outcome, Outcome::Passed, "{}: {}", weather.name, case.name());
        }
        println!("{}: {} cases, {tally}", weather.name, cases.len());
    }
}
