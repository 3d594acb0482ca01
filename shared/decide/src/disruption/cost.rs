//! What it costs to disturb: pods by their own word, nodes by their pods.

use model::disruption::PodHere;

use crate::place::is_accelerator;

/// Where the words of users end: a pod is worth at most so much, and at least so little.
const MOST: f64 = 10.0;

/// What evicting a pod costs. An ordinary one costs 1; every GPU that it holds counts as one pod more.
pub fn of_pod(pod: &PodHere) -> f64 {
    let by_user = f64::from(pod.cost) / f64::from(1 << 27);
    let by_priority = f64::from(pod.priority) / f64::from(1 << 25);
    (1.0 + by_user + by_priority + gpus(pod)).clamp(-MOST, MOST)
}

/// What emptying a node costs.
pub fn of_node<'p>(pods: impl Iterator<Item = &'p PodHere>) -> f64 {
    1.0 + pods.map(|pod| of_pod(pod).max(0.0)).sum::<f64>()
}

/// Whether a pod uses a GPU or the like.
pub fn uses_gpus(pod: &PodHere) -> bool {
    gpus(pod) > 0.0
}

fn gpus(pod: &PodHere) -> f64 {
    let requests = pod.moves.iter().flat_map(|pod| &pod.requests);
    let held = requests.filter(|(name, _)| is_accelerator(name)).map(|(_, amount)| amount.thousandths());
    // A slice of a device is no less work than a whole one.
    held.map(|amount| if amount > 0 { (amount as f64 / 1000.0).clamp(1.0, MOST) } else { 0.0 }).sum()
}
