//! The filters that look at one node alone, and its score; the answer is kept until the node changes.

use serde_json::Value;
use std::sync::Arc;

use super::{cluster::Node, node_terms::untolerated, shape::Shape};
use crate::controllers::node_lifecycle::UNSCHEDULABLE;

/// The plugins of the real scheduler, as bits: a pod is tried again when something changes that its plugin waits for.
pub(super) mod plugin {
    pub(in crate::controllers::scheduler) const NODE: u16 = 1;
    pub(in crate::controllers::scheduler) const PORTS: u16 = 2;
    pub(in crate::controllers::scheduler) const FIT: u16 = 4;
    pub(in crate::controllers::scheduler) const VOLUMES: u16 = 8;
    pub(in crate::controllers::scheduler) const SPREAD: u16 = 16;
    pub(in crate::controllers::scheduler) const PODS: u16 = 32;
}

/// Why a node will not do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejection {
    pub(super) plugin: u16,
    pub(super) reasons: Vec<String>,
    /// Removing other pods would not help.
    pub(super) for_good: bool,
}

impl Rejection {
    pub(super) fn new(plugin: u16, reason: impl Into<String>, for_good: bool) -> Self {
        Rejection { plugin, reasons: vec![reason.into()], for_good }
    }
}

/// What is known of a shape on a node.
#[derive(Debug, Clone)]
pub(super) struct Known {
    generation: u64,
    version: u64,
    pub(super) affinity: bool,
    pub(super) tolerated: bool,
    /// The score, or the reason against it.
    pub(super) verdict: Result<i64, Arc<Rejection>>,
    unchanging: Option<Arc<Rejection>>,
    /// The part of the score that pods do not change.
    liking: i64,
}

/// Looks at a node, unless the last look still holds.
pub(super) fn look(known: Option<&Known>, shape: &Shape, node: &Node) -> Option<Known> {
    if known.is_some_and(|known| known.version == node.version) {
        return None;
    }
    let mut next = match known.filter(|known| known.generation == node.generation) {
        Some(known) => known.clone(),
        None => look_at_labels_and_taints(shape, node),
    };
    next.version = node.version;
    next.verdict = match &next.unchanging {
        Some(rejection) => Err(rejection.clone()),
        None => look_at_room(shape, node).map(|()| next.liking + least_allocated(shape, node)).map_err(Arc::new),
    };
    Some(next)
}

fn look_at_labels_and_taints(shape: &Shape, node: &Node) -> Known {
    let selected = shape.selector.iter().all(|(key, value)| node.labels.get(key) == Some(value));
    let required =
        shape.required.as_ref().is_none_or(|terms| terms.iter().any(|term| term.matches(&node.name, &node.labels)));
    let affinity = selected && required;
    let tolerated = untolerated(&shape.tolerations, &node.taints).is_none();
    let closed = node.unschedulable && !tolerates_unschedulable(shape);
    let unchanging = if closed {
        Some(Rejection::new(plugin::NODE, "node(s) were unschedulable", true))
    } else if !tolerated {
        Some(Rejection::new(plugin::NODE, "node(s) had untolerated taint(s)", true))
    } else if !affinity {
        Some(Rejection::new(plugin::NODE, "node(s) didn't match Pod's node affinity/selector", true))
    } else {
        None
    };
    // The pre-filter leaves nodes out before any filter sees them.
    let left_out = shape.only_nodes.as_ref().is_some_and(|names| !names.contains(&node.name));
    let unchanging = if left_out {
        Some(Rejection::new(plugin::NODE, "node(s) didn't satisfy plugin(s) [NodeAffinity]", true))
    } else {
        unchanging
    };
    Known {
        generation: node.generation,
        version: 0,
        affinity,
        tolerated,
        verdict: Ok(0),
        unchanging: unchanging.map(Arc::new),
        liking: liking(shape, node),
    }
}

fn tolerates_unschedulable(shape: &Shape) -> bool {
    let taint = serde_json::json!({ "key": UNSCHEDULABLE, "effect": "NoSchedule" });
    untolerated(&shape.tolerations, std::slice::from_ref(&taint)).is_none()
}

fn look_at_room(shape: &Shape, node: &Node) -> Result<(), Rejection> {
    let taken = shape.ports.iter().any(|(protocol, port, address)| {
        node.ports.keys().any(|(other, number, there)| {
            let any = address == "0.0.0.0" || there == "0.0.0.0" || address == there;
            protocol == other && port == number && any
        })
    });
    if taken {
        return Err(Rejection::new(plugin::PORTS, "node(s) didn't have free ports for the requested pod ports", false));
    }
    let mut rejection = Rejection { plugin: plugin::FIT, reasons: Vec::new(), for_good: false };
    if node.pods + 1 > node.most_pods {
        rejection.reasons.push("Too many pods".to_owned());
    }
    for (resource, wanted) in &shape.requests {
        let all = node.allocatable.get(resource).copied().unwrap_or(0);
        let used = node.used.get(resource).copied().unwrap_or(0);
        if *wanted > all - used {
            rejection.reasons.push(format!("Insufficient {resource}"));
            rejection.for_good |= *wanted > all;
        }
    }
    if rejection.reasons.is_empty() { Ok(()) } else { Err(rejection) }
}

/// One point of the real scheduler's scores is a thousand here, so that there are fewer ties.
const POINT: i64 = 1000;

/// The share that would stay free, for processor and memory.
fn least_allocated(shape: &Shape, node: &Node) -> i64 {
    let free = |all: i64, used: i64| {
        let left = i128::from((all - used).max(0)) * i128::from(100 * POINT);
        i64::try_from(left / i128::from(all.max(1))).unwrap_or(0)
    };
    let cpu = free(node.size.0, node.assumed.0 + shape.assumed.0);
    let memory = free(node.size.1, node.assumed.1 + shape.assumed.1);
    (cpu + memory) / 2
}

/// Preferred node affinity (weight 2) and taints to be avoided (weight 3).
fn liking(shape: &Shape, node: &Node) -> i64 {
    let most: i64 = shape.preferred.iter().map(|(weight, _)| weight).sum();
    let met = shape.preferred.iter().filter(|(_, term)| term.matches(&node.name, &node.labels));
    let met: i64 = met.map(|(weight, _)| weight).sum();
    let avoided = |taint: &Value| {
        let as_hard = serde_json::json!({ "key": taint["key"], "value": taint["value"], "effect": "NoSchedule" });
        let soft: Vec<Value> = shape
            .tolerations
            .iter()
            .filter(|one| one["effect"] != "NoSchedule" && one["effect"] != "NoExecute")
            .cloned()
            .map(without_effect)
            .collect();
        taint["effect"] == "PreferNoSchedule" && untolerated(&soft, std::slice::from_ref(&as_hard)).is_some()
    };
    let penalty = if node.taints.iter().any(avoided) { 300 * POINT } else { 0 };
    200 * POINT * met / most.max(1) - penalty
}

fn without_effect(mut toleration: Value) -> Value {
    if let Some(toleration) = toleration.as_object_mut() {
        toleration.remove("effect");
    }
    toleration
}
