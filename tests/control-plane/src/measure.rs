//! What was measured of one system, and all of them as one table.

use serde::Serialize;
use std::collections::BTreeMap;

use crate::seen::Seen;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Measured {
    pub system: &'static str,
    pub pods: usize,
    pub running: usize,
    pub single: Latency,
    pub burst: Latency,
    /// From the first pod of the burst to the last that runs.
    pub all_running_ms: Option<f64>,
    pub claims: usize,
    pub price_an_hour: f64,
    /// By process, when it has read the cluster and before pods come.
    pub memory_before_mib: BTreeMap<&'static str, f64>,
    pub memory_peak_mib: BTreeMap<&'static str, f64>,
    pub cpu_seconds: f64,
    pub requests: usize,
}

/// Until there was a NodeClaim for a pod, in milliseconds, sorted. A pod that found room on a claim of before it waited for none.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Latency {
    /// Since the pod was made.
    pub since_made: Vec<f64>,
    /// Since the scheduler said that it finds no node for it.
    pub since_unschedulable: Vec<f64>,
}

impl Latency {
    /// Of the pods whose names begin so. `of_pods` names the claim that each got.
    pub fn of(prefix: &str, of_pods: &BTreeMap<String, String>, made: &Seen, waiting: &Seen, claims: &Seen) -> Self {
        let mut latency = Latency::default();
        for (pod, claim) in of_pods.iter().filter(|(pod, _)| pod.starts_with(prefix)) {
            let Some(at) = claims.at(claim) else { continue };
            let since = |seen: &Seen| Some(at.saturating_duration_since(seen.at(pod)?).as_secs_f64() * 1e3);
            latency.since_made.extend(since(made));
            latency.since_unschedulable.extend(since(waiting));
        }
        latency.since_made.sort_by(f64::total_cmp);
        latency.since_unschedulable.sort_by(f64::total_cmp);
        latency
    }
}

/// The value that so much of all is not above.
fn percentile(sorted: &[f64], part: f64) -> Option<f64> {
    let at = (sorted.len() as f64 * part).ceil() as usize;
    sorted.get(at.saturating_sub(1)).copied()
}

/// One column a system.
pub fn table(all: &[Measured]) -> String {
    type Cell<'a> = &'a dyn Fn(&Measured) -> String;
    let both = |values: &[f64]| match (percentile(values, 0.5), percentile(values, 0.99)) {
        (Some(middle), Some(late)) => format!("{middle:.0} / {late:.0} ms"),
        _ => "-".to_owned(),
    };
    let sum = |values: &BTreeMap<&str, f64>| format!("{:.1} MiB", values.values().sum::<f64>());
    let rows: [(&str, Cell<'_>); 13] = [
        ("", &|one| one.system.to_owned()),
        ("pods that run in the end", &|one| format!("{} of {}", one.running, one.pods)),
        ("one by one: pod to NodeClaim, p50 / p99", &|one| both(&one.single.since_made)),
        ("  since Unschedulable", &|one| both(&one.single.since_unschedulable)),
        ("all at once: pod to NodeClaim, p50 / p99", &|one| both(&one.burst.since_made)),
        ("  since Unschedulable", &|one| both(&one.burst.since_unschedulable)),
        ("  until all run (another cloud each)", &|one| {
            one.all_running_ms.map_or("-".to_owned(), |ms| format!("{:.1} s", ms / 1e3))
        }),
        ("NodeClaims, and their price an hour", &|one| format!("{}, {:.2} EUR", one.claims, one.price_an_hour)),
        ("memory before pods wait", &|one| sum(&one.memory_before_mib)),
        ("memory at its peak", &|one| sum(&one.memory_peak_mib)),
        ("CPU time", &|one| format!("{:.1} s", one.cpu_seconds)),
        ("API requests", &|one| one.requests.to_string()),
        ("API requests a pod", &|one| format!("{:.1}", one.requests as f64 / one.pods.max(1) as f64)),
    ];
    let line = |(title, cell): &(&str, Cell<'_>)| {
        let cells: String = all.iter().map(|one| format!("{:>26}", cell(one))).collect();
        format!("{title:42}{cells}\n")
    };
    let mut text: String = rows.iter().map(line).collect();
    for one in all.iter().filter(|one| one.memory_peak_mib.len() > 1) {
        let each = one.memory_peak_mib.iter().map(|(name, mib)| format!("{name} {mib:.1}"));
        text += &format!("\n{}: at its peak, in MiB: {}", one.system, each.collect::<Vec<_>>().join(", "));
    }
    text + DIFFERENCES
}

/// What is not the same on both sides, for whoever reads the table.
const DIFFERENCES: &str = "

The same for all: one control plane, pods, NodePool requirements, types, capacities and prices; one warm-up pod that is not counted.
Not the same: Karpenter waits 1 s for further pods before it plans (its default; BATCH_IDLE_DURATION sets it for us too). Its KWOK provider
makes Nodes itself at once and holds a little CPU and memory back from each type; ours orders servers from a simulated Scaleway whose
minutes are a fifth of a second, so only the times up to the NodeClaim compare. Our requests include those that bring each claim to life.
Karpenter's account may do everything and takes part in no election; ours have their own rights and their Leases.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_value_that_was_measured() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!((percentile(&values, 0.5), percentile(&values, 0.99)), (Some(5.0), Some(10.0)));
        assert_eq!((percentile(&values[..1], 0.5), percentile(&[], 0.5)), (Some(1.0), None));
    }
}
