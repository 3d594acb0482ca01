//! What a provider adds to the requests it makes: looking for an instance, against its requests sent without it.

use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use world::World;
use world::serve::Listening;

use super::clouds::{self, Stage};
use super::wire::Wire;
use crate::Result;
use crate::paused::paused;
use crate::report::Measurement;
use crate::statistics::median;

/// Rounds of ours and of the bare requests are taken in turns, so that both see the same machine.
const ROUNDS: usize = 31;
const CALLS: u32 = 100;

pub fn measure() -> Result<Vec<Measurement>> {
    let mut measurements = vec![];
    measurements.extend(paused(async { of("aks", &clouds::aks(unlimited(), 1).await?).await })?);
    measurements.extend(paused(async { of("scaleway", &clouds::scaleway(unlimited(), 1).await?).await })?);
    measurements.extend(paused(async { of("power", &clouds::power(unlimited(), 1).await?).await })?);
    // Sockets are real, so time is too.
    let runtime = Builder::new_current_thread().enable_all().build()?;
    measurements.extend(runtime.block_on(async { of("scaleway.http", &scaleway_over_loopback().await?).await })?);
    Ok(measurements)
}

fn unlimited() -> world::WorldOptions {
    let mut options = clouds::options(1);
    options.arm.rates = clouds::UNLIMITED;
    options
}

/// The client of the provider, and the world behind a socket in the same thread: both sides are in the time, twice.
async fn scaleway_over_loopback() -> Result<Stage> {
    let world = World::start(unlimited());
    let listening = Listening::bind(0).await?;
    let url = format!("http://{}", listening.address()?);
    tokio::spawn(listening.serve(world.scaleway(), None));
    clouds::scaleway_over(world, Wire::to(provider_scaleway::Https::new(false)), &url, 1)
}

async fn of(name: &str, stage: &Stage) -> Result<Vec<Measurement>> {
    let request = stage.requests.first().ok_or("a stage without a claim")?;
    stage.provider.ensure(request, None).await?;
    stage.wire.keep();
    let found = stage.provider.observe(&request.key).await?;
    found.ok_or_else(|| format!("{name}: the instance that was just made is not found"))?;
    let bare = stage.wire.kept();

    let (mut with_provider, mut without) = (vec![], vec![]);
    for _ in 0..ROUNDS {
        let started = Instant::now();
        for _ in 0..CALLS {
            stage.provider.observe(&request.key).await?;
        }
        with_provider.push(started.elapsed());
        let started = Instant::now();
        for _ in 0..CALLS {
            for one in &bare {
                stage.wire.send(one.clone()).await?;
            }
        }
        without.push(started.elapsed());
    }
    let in_a_round = f64::from(CALLS) * bare.len() as f64;
    let per_second = |times: &[Duration]| in_a_round * 1000.0 / median(times);
    let ratio = median(&with_provider) / median(&without);
    Ok(vec![
        Measurement::new(format!("provider.{name}.requests_per_second"), per_second(&with_provider), "1/s"),
        Measurement::new(format!("provider.{name}.bare_requests_per_second"), per_second(&without), "1/s"),
        Measurement::new(format!("provider.{name}.time_to_bare_ratio"), ratio, "x"),
    ])
}
