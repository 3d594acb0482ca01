//! Deciding which nodes go: clusters of 500 and 2,000 nodes, half empty as after a day's load, every node of them a candidate.

mod check;
mod crowd;

use std::time::{Duration, Instant};

use model::disruption::Decision;

use crate::Result;
use crate::report::Measurement;
use crate::statistics::milliseconds;

/// Nodes, and the goal in milliseconds.
const SIZES: [(usize, f64); 2] = [(500, 250.0), (2000, 2000.0)];
/// Runs of each decision; the fastest counts, because others share the machine.
const RUNS: usize = 3;

pub fn measure() -> Result<Vec<Measurement>> {
    let mut measurements = vec![];
    for (nodes, goal) in SIZES {
        let situation = crowd::situation(nodes)?;
        let mut best: Option<(Duration, Decision)> = None;
        for _ in 0..RUNS {
            let begun = Instant::now();
            let decision = decide::disruption::decide(&situation, &mut || true);
            let took = begun.elapsed();
            if best.as_ref().is_none_or(|(known, _)| took < *known) {
                best = Some((took, decision));
            }
        }
        let Some((took, decision)) = best else { continue };
        check::decision(&situation, &decision)?;
        let name = |what: &str| format!("consolidate.{what}.{nodes}_nodes");
        let gone: usize = decision.disruptions.iter().map(|one| one.nodes.len()).sum();
        let new: usize = decision.disruptions.iter().map(|one| one.replacements.len()).sum();
        let saved: i64 = decision.disruptions.iter().map(|one| one.saves).sum();
        let cost = crowd::cost(&situation);
        measurements.push(Measurement::at_most(name("ms"), milliseconds(took), "ms", goal));
        measurements.push(Measurement::new(name("gone"), gone as f64, "nodes"));
        measurements.push(Measurement::new(name("new"), new as f64, "nodes"));
        measurements.push(Measurement::new(name("saved"), saved as f64 / cost as f64 * 100.0, "%"));
    }
    Ok(measurements)
}
