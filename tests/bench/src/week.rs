//! A week of mixed load on fifty nodes of three providers: what is paid for and what is used, with three rules for taking nodes away.

mod clouds;
mod karpenter;
mod load;
mod ours;
mod play;
mod site;

use crate::Result;
use crate::report::Measurement;
use play::{Rule, Tally};

const SEED: u64 = 42;
const RULES: [(Rule, &str); 3] = [(Rule::Never, "never"), (Rule::Karpenter, "karpenter"), (Rule::Ours, "ours")];

/// The same jobs under each rule. Simulated time: the figures do not depend on the machine.
pub fn measure() -> Result<Vec<Measurement>> {
    let (clouds, jobs) = (clouds::clouds()?, load::jobs(SEED));
    let mut measurements = vec![Measurement::new("week.jobs", jobs.len() as f64, "pods")];
    for (rule, name) in RULES {
        let tally = play::play(rule, &clouds, &jobs)?;
        measurements.extend(rows(name, &tally));
    }
    Ok(measurements)
}

fn rows(rule: &str, tally: &Tally) -> Vec<Measurement> {
    let name = |what: &str| format!("week.{what}.{rule}");
    let hours = |minutes: u64| minutes as f64 / 60.0;
    vec![
        Measurement::new(name("gpu_hours_paid"), hours(tally.paid), "h"),
        Measurement::new(name("gpu_hours_used"), hours(tally.used), "h"),
        Measurement::new(name("paid_to_used"), tally.paid as f64 / tally.used.max(1) as f64, "ratio"),
        Measurement::new(
            name("paid_to_useful"),
            tally.paid as f64 / tally.used.saturating_sub(tally.lost).max(1) as f64,
            "ratio",
        ),
        Measurement::new(name("cost"), tally.cost as f64 / 1e6, "USD"),
        Measurement::new(name("evictions"), tally.evictions.into(), "pods"),
        Measurement::new(name("evictions_gpu"), tally.gpu_evictions.into(), "pods"),
        Measurement::new(name("gpu_hours_lost"), hours(tally.lost), "h"),
        Measurement::at_most(name("killed"), tally.killed.into(), "pods", 0.0),
        Measurement::new(name("finished"), tally.finished.into(), "pods"),
        Measurement::new(name("most_nodes"), tally.most_nodes as f64, "nodes"),
        Measurement::new(name("wait_p50_min"), percentile(&tally.waits, 50), "min"),
        Measurement::new(name("wait_p99_min"), percentile(&tally.waits, 99), "min"),
    ]
}

fn percentile(waits: &[u32], percent: usize) -> f64 {
    let mut sorted = waits.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).map_or(f64::NAN, |minutes| f64::from(*minutes))
}
