//! The bundled catalogue of all providers: how long it takes to find something in it.

use model::{CapacityType, Offering};
use provider_scaleway::catalogue::{GPU_ZONES, bundled_offerings};
use std::collections::BTreeSet;
use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::Result;
use crate::report::Measurement;

const ZONES: [&str; 3] = ["1", "2", "3"];
/// The catalogue is made, walked and searched this often; the medians count.
const ROUNDS: usize = 101;
/// Walks in a round: one alone is shorter than a clock can tell well.
const WALKS: u32 = 100;

pub fn measure() -> Result<Vec<Measurement>> {
    let offerings = bundled();
    // Every size that KAITO knows is among AKS's own, which the tests of that provider hold; so all of those are looked up.
    let sizes: BTreeSet<&str> = offerings.iter().map(|one| one.id.instance_type.as_str()).collect();
    let sizes: Vec<&str> = sizes.into_iter().filter(|name| name.starts_with("Standard_N")).collect();
    if let Some(missing) = sizes.iter().find(|size| cheapest_of_size(&offerings, size).is_none()) {
        return Err(format!("the bundled catalogue has {missing} and no way to have it on demand").into());
    }
    let lookups = u32::try_from(sizes.len())?;

    let built = median_ns(1, bundled);
    let walked = median_ns(WALKS, || total_gpus(black_box(&offerings)));
    let all_sizes = median_ns(1, || {
        for size in &sizes {
            black_box(cheapest_of_size(black_box(&offerings), size));
        }
    });
    let by_size = all_sizes / f64::from(lookups);
    let by_requirement = median_ns(WALKS, || cheapest_with_memory(black_box(&offerings), 80 * 1024));
    Ok(vec![
        Measurement::new("catalogue.offerings", offerings.len() as f64, ""),
        Measurement::new("catalogue.build_us", built / 1000.0, "µs"),
        Measurement::new("catalogue.walk_ns", walked, "ns"),
        Measurement::new("catalogue.lookup_ns", by_size, "ns"),
        Measurement::new("catalogue.lookup_ratio", by_size / walked, "x"),
        Measurement::new("catalogue.lookup_ns.gpu_memory", by_requirement, "ns"),
        Measurement::new("catalogue.lookup_ratio.gpu_memory", by_requirement / walked, "x"),
    ])
}

/// What can be had in one region of Azure and in all zones of Scaleway. The machines of a rack are settings, not a catalogue.
fn bundled() -> Vec<Offering> {
    let mut all = provider_aks::bundled("eastus", &ZONES);
    all.extend(bundled_offerings(&GPU_ZONES.map(str::to_owned)));
    all
}

/// The yardstick: the least that a look at every offering can cost.
fn total_gpus(offerings: &[Offering]) -> u64 {
    offerings.iter().filter_map(|one| one.gpu.as_ref()).map(|gpu| u64::from(gpu.count)).sum()
}

/// As a Workspace asks: this very size, in any zone, on demand.
fn cheapest_of_size<'a>(offerings: &'a [Offering], size: &str) -> Option<&'a Offering> {
    cheapest(offerings, |one| one.id.instance_type == size)
}

/// As a model asks: so much memory on one GPU, from whomever.
fn cheapest_with_memory(offerings: &[Offering], mebibytes: u64) -> Option<&Offering> {
    cheapest(offerings, |one| one.gpu.as_ref().is_some_and(|gpu| gpu.memory_mib >= mebibytes))
}

fn cheapest(offerings: &[Offering], fits: impl Fn(&Offering) -> bool) -> Option<&Offering> {
    let fitting = offerings.iter().filter(|one| one.id.capacity_type == CapacityType::OnDemand && fits(one));
    fitting.min_by_key(|one| one.price.as_ref().map_or(u64::MAX, |price| price.millionths_per_hour))
}

/// The time of one call, where `calls` are timed together.
fn median_ns<T>(calls: u32, mut work: impl FnMut() -> T) -> f64 {
    let mut times: Vec<Duration> = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let started = Instant::now();
        for _ in 0..calls {
            black_box(work());
        }
        times.push(started.elapsed());
    }
    crate::statistics::median(&times) * 1_000_000.0 / f64::from(calls)
}

#[cfg(test)]
mod tests {
    use super::{bundled, cheapest_of_size, cheapest_with_memory};

    #[test]
    fn the_cheapest_that_fits_is_found_whoever_sells_it() {
        let offerings = bundled();
        let by_size = cheapest_of_size(&offerings, "Standard_NC24ads_A100_v4").unwrap();
        assert_eq!((by_size.id.provider.as_str(), by_size.gpu.as_ref().unwrap().count), ("aks", 1));
        let price = |one: &model::Offering| one.price.as_ref().unwrap().millionths_per_hour;
        let by_memory = cheapest_with_memory(&offerings, 80 * 1024).unwrap();
        assert!(by_memory.gpu.as_ref().unwrap().memory_mib >= 80 * 1024 && price(by_memory) <= price(by_size));
        assert!(cheapest_of_size(&offerings, "Standard_B2s").is_none());
    }
}
