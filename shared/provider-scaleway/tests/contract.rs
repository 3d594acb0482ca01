//! Scaleway keeps the provider contract, bare and dressed, whatever the world's double of it does to a request.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;
#[path = "contract/double.rs"]
mod double;

use double::{Double, Told, Tongue};
use provider::contract::{Case, Failure, Failures, Outcome, Through, check, run};
use provider::{Settings, dressed};
use world::scaleway::options::ShortageManner;

#[tokio::test(start_paused = true)]
#[ignore = "long: make lives"]
async fn scaleway_keeps_the_contract() -> Result<(), Failures> {
    let told = Told::default();
    let report = run(async || Double::start(&told)).await?;
    println!("{report}{told}");
    assert!(report.0.iter().all(|(_, outcome)| *outcome == Outcome::Passed), "nothing is skipped here:\n{report}");
    Ok(())
}

#[tokio::test(start_paused = true)]
#[ignore = "long: make lives"]
async fn dressed_scaleway_keeps_the_contract() -> Result<(), Failures> {
    let told = Told::default();
    let around = |inner| dressed(inner, Settings::default());
    let report = run(async || Through { subject: Double::start(&told), around }).await?;
    println!("{report}{told}");
    assert!(report.0.iter().all(|(_, outcome)| *outcome == Outcome::Passed), "nothing is skipped here:\n{report}");
    Ok(())
}

/// The suite says "reset" and "bad gateway"; a world has more words for an answer that is lost, and faults.rs has them all.
#[tokio::test(start_paused = true)]
#[ignore = "long: make lives"]
async fn an_answer_is_lost_alike_in_another_tongue_of_the_world() -> Result<(), Failure> {
    let told = Told::default();
    for case in [
        Case::EveryFaultWhileMaking,
        Case::EveryFaultWhileRemoving,
        Case::EveryFaultWhileThereIsNoStock,
        Case::LeftOversAreOwned,
    ] {
        check(case, &async || Double::start(&told).speaking(Tongue::Harsh)).await?;
    }
    println!("{told}");
    Ok(())
}

#[tokio::test(start_paused = true)]
#[ignore = "long: make lives"]
async fn no_stock_is_typed_and_leaves_nothing_however_it_shows() -> Result<(), Failure> {
    for manner in [ShortageManner::RefusesCreate, ShortageManner::FallsBackToStopped, ShortageManner::StaysAllocating] {
        let told = Told::default();
        let make = async || Double::without_stock(&told, manner);
        check(Case::NoStockLeavesNothing, &make).await?;
        // One that stays in allocating is polled for five minutes, all polls alike: stock.rs has the others.
        if manner != ShortageManner::StaysAllocating {
            check(Case::EveryFaultWhileThereIsNoStock, &make).await?;
        }
        println!("{manner:?}:\n{told}");
    }
    Ok(())
}
