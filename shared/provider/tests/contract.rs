//! The fake keeps the contract, bare and dressed.

use provider::contract::{Case, Failures, Outcome, Report, Through, run};
use provider::fake::FakeCloud;
use provider::{Settings, dressed};

fn all_passed(report: &Report) {
    assert_eq!(report.0.len(), Case::ALL.len());
    assert!(report.0.iter().all(|(_, outcome)| *outcome == Outcome::Passed), "the fake skips nothing:\n{report}");
}

#[tokio::test(start_paused = true)]
async fn the_fake_keeps_the_contract() -> Result<(), Failures> {
    all_passed(&run(async || FakeCloud::default()).await?);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_dressed_fake_keeps_the_contract() -> Result<(), Failures> {
    let make = async || Through { subject: FakeCloud::default(), around: |inner| dressed(inner, Settings::default()) };
    all_passed(&run(make).await?);
    Ok(())
}
