//! What on-pending-pod must know: the pod, what it asks for, and where the picture of the cluster comes from.

use model::{PodPending, SnapshotCarried};

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The pod, as the event names it.
    pub pod: String,
    /// What it asks for, in words, the scarcest thing first.
    pub asks_for: String,
    pub snapshot: SnapshotCarried,
}

pub fn read(event: PodPending) -> Seen {
    // Extended resources carry a domain and are what a pod waits for; cpu and memory come last.
    let mut requests: Vec<_> = event.pod.requests.iter().collect();
    requests.sort_by_key(|(name, _)| (!name.contains('/'), name.as_str()));
    let words: Vec<String> = requests.into_iter().map(|(name, amount)| format!("{amount} {name}")).collect();
    let asks_for = if words.is_empty() { "nothing in particular".to_owned() } else { words.join(", ") };
    Seen { pod: event.subject, asks_for, snapshot: event.snapshot }
}
