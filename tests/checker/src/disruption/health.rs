//! Whether a node is not well, and for longer than that is borne: by its conditions, where those say since when.

use jiff::{SignedDuration, Timestamp};

use super::facts::NodeFacts;

/// Condition, status, and the least time in minutes that anybody bears it.
const SICK: [(&str, &str, i64); 14] = [
    ("Ready", "False", 10),
    ("Ready", "Unknown", 10),
    ("kubernetes.azure.com/NodeHealthy", "False", 10),
    ("KernelDeadlock", "True", 10),
    ("ReadonlyFilesystem", "True", 10),
    ("CorruptDockerOverlay2", "True", 10),
    ("FrequentKubeletRestart", "True", 20),
    ("FrequentDockerRestart", "True", 20),
    ("FrequentContainerdRestart", "True", 20),
    ("FrequentUnregisterNetDevice", "True", 20),
    ("XIDErrors", "True", 5),
    ("GPUMissing", "True", 5),
    ("NVLinkStatusInactive", "True", 5),
    ("IBLinkFlapping", "True", 10),
];
/// The machine goes by itself: neither budgets nor others that are sick hold it.
const NOTICES: [&str; 3] = ["PreemptionScheduled", "PreemptScheduled", "TerminateScheduled"];
const OF_GPUS: (&str, &str, i64) = ("AcceleratedHardwareReady", "False", 5);

pub fn is_sick(node: &NodeFacts<'_>) -> bool {
    let lasts = |since: Timestamp, minutes: i64| node.now.duration_since(since) >= SignedDuration::from_mins(minutes);
    let sick = conditions(node).filter(|one| !is_of_a_program(&one.3)).any(|(kind, status, since, _)| {
        let known = SICK.iter().chain([&OF_GPUS]).find(|one| one.0 == kind && one.1 == status);
        known.is_some_and(|(_, _, minutes)| since.is_some_and(|since| lasts(since, *minutes)))
    });
    sick || is_about_to_go(node)
}

pub fn is_about_to_go(node: &NodeFacts<'_>) -> bool {
    conditions(node).any(|(kind, status, ..)| NOTICES.contains(&kind) && status == "True")
}

/// More of its pool than a fifth, and more than one.
pub fn fails_with_others(node: &NodeFacts<'_>, nodes: &[NodeFacts<'_>]) -> bool {
    let of_pool = || nodes.iter().filter(|other| other.pool_label == node.pool_label && super::is_up(other));
    let sick = of_pool().filter(|other| is_sick(other) && !is_about_to_go(other)).count();
    sick > (of_pool().count() * 20).div_ceil(100).max(1)
}

/// Faults of GPUs that a program made: `XID13` and the like.
fn is_of_a_program(reason: &str) -> bool {
    let number = reason.to_ascii_lowercase().strip_prefix("xid").map(|rest| rest.trim_start_matches('-').to_owned());
    number.is_some_and(|number| ["8", "13", "31", "43", "45", "68", "69", "94"].contains(&number.as_str()))
}

/// Kind, status, since when, and reason.
fn conditions<'n>(
    node: &NodeFacts<'n>,
) -> impl Iterator<Item = (&'n str, &'n str, Option<Timestamp>, String)> + use<'n> {
    let all = node.node.status.as_ref().and_then(|status| status.conditions.as_ref());
    all.into_iter().flatten().map(|one| {
        let since = one.last_transition_time.as_ref().map(|time| time.0);
        (one.type_.as_str(), one.status.as_str(), since, one.reason.clone().unwrap_or_default())
    })
}
