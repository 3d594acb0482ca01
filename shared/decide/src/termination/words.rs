//! How a drain is told to people. Without times in it: what says the same thing must read the same, or it is written again.

use model::{Node, Pod, PodRef};

use super::stage::Left;

/// What came of asking the pods.
#[derive(Debug, Default)]
pub(super) struct Asked<'a> {
    /// A disruption budget did not let them go.
    pub refused: Vec<(&'a PodRef, &'a str)>,
    /// It could not be asked.
    pub failed: Vec<(&'a PodRef, &'a str)>,
    /// It was gone already.
    pub gone: usize,
}

/// `3 pods left, 1 held by a disruption budget (team/db-0)`.
pub(super) fn pods_left(holding: usize, protected: &[&Pod], asked: &Asked<'_>) -> String {
    let mut parts = vec![counted(holding.saturating_sub(asked.gone), "pod") + " left"];
    let of_refs = |refs: &[(&PodRef, &str)]| refs.iter().map(|(pod, _)| ref_name(pod)).collect::<Vec<_>>();
    let groups = [
        (of_refs(&asked.refused), "held by a disruption budget"),
        (of_refs(&asked.failed), "not evicted because of errors"),
        (protected.iter().map(|pod| pod_name(pod)).collect(), "marked do-not-disrupt"),
    ];
    for (names, why) in groups.into_iter().filter(|(names, _)| !names.is_empty()) {
        parts.push(format!("{} {why} ({})", names.len(), some_of(&names)));
    }
    parts.join(", ")
}

/// `the deadline passed with 1 pod left (team/db-0)`.
pub(super) fn deadline_passed_with(names: &[String], what: &str) -> String {
    format!("the deadline passed with {} left ({})", counted(names.len(), what), some_of(names))
}

pub(super) fn pods_of(left: &Left<'_>) -> Vec<String> {
    left.pods.iter().map(|pod| pod_name(pod)).collect()
}

/// `2 pods`, `1 pod`.
pub(super) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// `node a`, `nodes a, b`.
pub(super) fn nodes(nodes: &[Node]) -> String {
    let names: Vec<String> = nodes.iter().map(|node| node.name.to_string()).collect();
    format!("node{} {}", if names.len() == 1 { "" } else { "s" }, some_of(&names))
}

/// Three of them, and how many more.
pub(super) fn some_of(names: &[String]) -> String {
    let shown = names.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(3) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

pub(super) fn pod_name(pod: &Pod) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

pub(super) fn ref_name(pod: &PodRef) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}
