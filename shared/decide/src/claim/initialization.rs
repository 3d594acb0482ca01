//! A Node has become usable: ready, without the taints of starting up, and with its accelerators to be had.

use core::time::Duration;
use model::{
    Action, Answer, ConditionKind, Effect, Next, Node, NodeChange, Plan, Quantity, Resources, Taint, Truth, names,
};

use super::{Ending, Situation, give_up, is_giving_up, joined, later, words};

use ConditionKind::{Initialized, Registered};

const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// Taints that the cluster itself puts on a node that is starting.
const PASSING: [(&str, Effect); 5] = [
    ("node.kubernetes.io/not-ready", Effect::NoSchedule),
    ("node.kubernetes.io/not-ready", Effect::NoExecute),
    ("node.kubernetes.io/unreachable", Effect::NoSchedule),
    ("node.cloudprovider.kubernetes.io/uninitialized", Effect::NoSchedule),
    (names::UNREGISTERED_TAINT, Effect::NoExecute),
];
const READINESS_PREFIX: &str = "readiness.k8s.io/";

/// What is still missing, in Karpenter's words and in ours.
struct Missing {
    reason: &'static str,
    message: String,
}

pub fn plan(seen: &Situation) -> Vec<Action> {
    let missing = missing(seen);
    // Nothing behind it: a cloud must not be asked for the machine of a claim that goes.
    if missing.is_some() && is_overdue(seen) {
        return vec![Action::DeleteClaim];
    }
    let unmarked = |node: &&Node| node.labels.get(names::INITIALIZED).is_none_or(|value| value != "true");
    let mark = node(seen).filter(unmarked).filter(|_| missing.is_none()).map(|node| {
        let mut change = NodeChange::new(node.name.clone(), node.version.clone());
        change.labels.insert(names::INITIALIZED.to_owned(), Some("true".to_owned()));
        Action::ChangeNode(change)
    });
    mark.into_iter().chain(joined::plan(seen)).collect()
}

fn is_overdue(seen: &Situation) -> bool {
    // A machine that was started anew begins anew.
    let begins = [Registered, ConditionKind::Rebooting].map(|kind| seen.claim.condition(kind).map(|one| one.since));
    let since = begins.into_iter().flatten().max();
    let patience = seen.policy.initialization.zip(since);
    patience.is_some_and(|(patience, since)| seen.now.duration_since(since) > patience)
}

/// The node that was registered; another one does not count.
fn node(seen: &Situation) -> Option<&Node> {
    let name = seen.claim.status.node.as_deref();
    seen.nodes.iter().find(|node| Some(node.name.as_str()) == name)
}

fn missing(seen: &Situation) -> Option<Missing> {
    let Some(node) = node(seen) else {
        let name = seen.claim.status.node.as_deref().unwrap_or("?");
        return Some(Missing { reason: "NodeNotFound", message: format!("node {name} is not there") });
    };
    if seen.claim.is(ConditionKind::Rebooting)
        && node.boot_id.as_ref() == seen.claim.annotations.get(names::REBOOT_PRE_BOOT_ID)
    {
        return Some(Missing { reason: "Rebooting", message: format!("node {} is not started anew yet", node.name) });
    }
    if node.ready != Truth::True {
        return Some(Missing { reason: "NodeNotReady", message: format!("node {} is not ready yet", node.name) });
    }
    let startup = seen.claim.startup_taints.iter().find(|taint| node.taints.iter().any(|one| one.is_same(taint)));
    if let Some(taint) = startup {
        let message = format!("node {} still has the startup taint {}", node.name, taint.key);
        return Some(Missing { reason: "StartupTaintsExist", message });
    }
    if let Some(taint) = node.taints.iter().find(|taint| is_passing(taint)) {
        let message = format!("node {} still has the taint {}", node.name, taint.key);
        return Some(Missing { reason: "KnownEphemeralTaintsExist", message });
    }
    let expected = expected(seen);
    let (absent, amount) = expected.iter().find(|(name, amount)| !is_allocatable(node, name, **amount))?;
    let message = match node.allocatable.get(absent) {
        Some(has) if *has > Quantity::default() => format!("node {} offers {has} of {amount} {absent} yet", node.name),
        _ => format!("node {} offers no {absent} yet", node.name),
    };
    Some(Missing { reason: "ResourceNotRegistered", message })
}

fn is_passing(taint: &Taint) -> bool {
    PASSING.iter().any(|(key, effect)| taint.key == *key && taint.effect == *effect)
        || taint.key.starts_with(READINESS_PREFIX)
}

/// Everything the claim asks for has to be there at all; accelerators have to be there in full, also those that the
/// claim did not ask for and the machine was chosen with.
fn expected(seen: &Situation) -> Resources {
    let one = Quantity::from_thousandths(1);
    let mut expected: Resources =
        seen.claim.requests.iter().filter(|(_, amount)| **amount >= one).map(|(name, _)| (name.clone(), one)).collect();
    // Disks are asked for under this name, and no node has it.
    expected.remove("storage");
    if let Some(record) = seen.claim.record() {
        let accelerators =
            record.offering.capacity.iter().filter(|(name, amount)| is_accelerator(name) && **amount >= one);
        expected.extend(accelerators.map(|(name, amount)| (name.clone(), *amount)));
    }
    expected
}

fn is_accelerator(resource: &str) -> bool {
    resource.contains('/') && !resource.starts_with("hugepages") && !resource.contains("attachable-volumes")
}

/// A GPU that is cut into slices shows slices of the same maker instead of itself. A slice that was asked for by name is
/// not another slice.
fn is_allocatable(node: &Node, resource: &str, amount: Quantity) -> bool {
    let has = |name: &str| node.allocatable.get(name).copied().unwrap_or_default();
    if has(resource) >= amount {
        return true;
    }
    let Some((maker, "gpu")) = resource.split_once('/') else { return false };
    let slices = |name: &str| {
        name.split_once('/')
            .is_some_and(|(other, kind)| other == maker && (kind.starts_with("mig-") || kind.ends_with(".shared")))
    };
    node.allocatable.iter().any(|(name, amount)| slices(name) && amount.thousandths() > 0)
}

/// `untold`: what is to be done about the join secret, if anything.
pub fn conclude(ending: &mut Ending, plan: &Plan, untold: Option<Next>) -> Next {
    let seen = ending.seen;
    let missing = missing(seen);
    if is_giving_up(plan) {
        let patience = seen.policy.initialization.unwrap_or_default();
        let what = missing.map(|missing| missing.message).unwrap_or_default();
        let message = format!("the node was not usable within {}: {what}", words::time(patience));
        return give_up(ending, "InitializationTimeout", message);
    }
    if let Some(Missing { reason, message }) = missing {
        ending.set(Initialized, Truth::Unknown, reason, &message);
        return later(&message, LOOK_AGAIN);
    }
    let Some(node) = node(seen) else { return later("the node is not there", LOOK_AGAIN) };
    let status = &mut ending.conclusion.status;
    (status.capacity, status.allocatable) = (node.capacity.clone(), node.allocatable.clone());
    ending.set(Initialized, Truth::True, "Initialized", &format!("node {} is usable", node.name));
    let waited = seen.now.duration_since(seen.claim.created_at);
    // Clocks that differ know nothing of how long it took.
    let after =
        if waited.is_negative() { String::new() } else { format!(", {} after it was asked for", words::time(waited)) };
    let text = format!("node {} is usable{after}", node.name);
    ending.note(false, "Ready", text.clone());
    untold.unwrap_or_else(|| Next::Answer(Answer::Done { reason: format!("{}: {text}", ending.subject()) }))
}
