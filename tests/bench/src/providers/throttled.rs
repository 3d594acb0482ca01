//! The same burst of claims twice, before a cloud that never says 429 and before one that does: what the second asks more.
//!
//! The first is the yardstick, and not a lower bound: looks at what is under way are in it, and a claim that is served later
//! looks less often, so the ratio can be below one. What a claim needs:
//!
//! - AKS: one PUT, a look at the operation each ten seconds, a last look at the pool: about twenty where nobody else wants
//!   anything. A cluster takes one change at a time, so the claims wait for each other, and while one is served somebody of
//!   the others asks each ten seconds whether it is over: a PUT that is refused with 409 and a look whether that was about
//!   a pool of its own. That is AKS's own order, not throttling, so it is on both sides of the ratio.
//! - Scaleway: a list of each zone, the image, the server, its user data and volume, poweron, then a look each five seconds.
//! - Power: a look, the command, and a look after the settle window.

use std::time::Duration;
use world::WorldOptions;
use world::arm::{Rate, Rates};
use world::faults::{Fault, Matching, Mishap};

use super::burst::{self, Burst};
use super::clouds::{self, Stage, UNLIMITED};
use crate::Result;
use crate::paused::paused;
use crate::report::Measurement;

const CLAIMS: usize = 1000;
/// All that a cluster of AKS has room for beside its system pool: it ends at a hundred pools.
const AKS_CLAIMS: usize = 99;
const MOST_RATIO: f64 = 1.2;

pub fn measure() -> Result<Vec<Measurement>> {
    let mut measurements = vec![];
    measurements.extend(rows("aks", AKS_CLAIMS, paused(aks(UNLIMITED))?, paused(aks(narrow()))?));
    let twenty_a_second = Some((20, Duration::from_secs(1)));
    measurements.extend(rows("scaleway", CLAIMS, paused(scaleway(None))?, paused(scaleway(twenty_a_second))?));
    measurements.extend(rows("power", CLAIMS, paused(power(false))?, paused(power(true))?));
    Ok(measurements)
}

fn rows(name: &str, claims: usize, free: Burst, throttled: Burst) -> Vec<Measurement> {
    // Counts are far below 2^52.
    let (unthrottled, asked) = (free.counts.requests as f64, throttled.counts.requests as f64);
    let seconds = |burst: &Burst| burst.took.as_secs_f64();
    vec![
        Measurement::new(format!("provider.burst.requests_unthrottled.{name}.{claims}"), unthrottled, ""),
        Measurement::new(format!("provider.burst.requests.{name}.{claims}"), asked, ""),
        Measurement::new(format!("provider.burst.throttled.{name}.{claims}"), throttled.counts.throttled as f64, ""),
        Measurement::at_most(format!("provider.burst.requests_ratio.{name}"), asked / unthrottled, "x", MOST_RATIO),
        Measurement::new(format!("provider.burst.time_ratio.{name}"), seconds(&throttled) / seconds(&free), "x"),
    ]
}

/// A small part of what Azure grants: what is left of a subscription that others use too.
fn narrow() -> Rates {
    let rate = |size, per_second| Some(Rate { size, per_second });
    Rates { reads: rate(5.0, 0.2), writes: rate(2.0, 0.1), ..UNLIMITED }
}

async fn aks(rates: Rates) -> Result<Burst> {
    let mut options = clouds::options(AKS_CLAIMS);
    options.arm.rates = rates;
    run(clouds::aks(options, AKS_CLAIMS).await?).await
}

/// The gateway's limit is not published. A claim alone makes ten requests a second and is well below this one.
async fn scaleway(limit: Option<(u32, Duration)>) -> Result<Burst> {
    let options = clouds::options(CLAIMS);
    let scaleway = world::scaleway::Options { rate_limit: limit, ..options.scaleway.clone() };
    run(clouds::scaleway(WorldOptions { scaleway, ..options }, CLAIMS).await?).await
}

/// A rack has no limit of its own. What stands before it answers 429 to everybody for ten seconds of each thirty.
async fn power(throttled: bool) -> Result<Burst> {
    let stage = clouds::power(clouds::options(CLAIMS), CLAIMS).await?;
    let begin = stage.world.clock.now();
    for window in (0..20_u64).filter(|_| throttled) {
        let from = begin + Duration::from_secs(5 + 30 * window);
        let until = from + Duration::from_secs(10);
        let on = Matching { from: Some(from.to_string()), until: Some(until.to_string()), ..every_request() };
        stage.world.faults.add(Fault { on, then: Mishap::Answer { status: 429, done: false, retry_after: Some(10) } });
    }
    run(stage).await
}

/// Every answer takes a tenth of a second, so that calls are on their way together and are refused together.
async fn run(stage: Stage) -> Result<Burst> {
    stage.world.faults.add(Fault { on: every_request(), then: Mishap::Slow { milliseconds: 100 } });
    burst::run(stage).await
}

fn every_request() -> Matching {
    Matching { times: Some(u64::MAX), ..Matching::default() }
}
