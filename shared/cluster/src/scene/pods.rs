//! Which pods want a place, which have one, and which are somebody else's business.

use k8s_openapi::api::core::v1::{Pod as KubePod, PodSpec};
use model::{Operator, Pod, PodKind, PodRef, names};

use super::{
    LeftOut, Problem, SceneRead, SceneSource, budgets, daemons::Daemons, name_of, nodes::Nodes, placed,
    volumes::Lookup, waiting,
};
use crate::read_pod::read_pod;

const NOT_PROVISIONABLE: &str = "NotProvisionable";
const OPTED_OUT: &str = "OptedOut";

/// Puts every pod where it belongs: to be placed, on its node, or left out.
pub(super) fn sort(source: &SceneSource, volumes: &Lookup<'_>, nodes: &Nodes, daemons: &Daemons, read: &mut SceneRead) {
    for raw in &source.pods {
        if let Err(why) = sort_one(source, volumes, nodes, daemons, read, raw) {
            read.problems.push(Problem { kind: "Pod", name: name_of(&raw.metadata), why });
        }
    }
}

/// An error is a pod without an identity or without its node, or something of it that does not count because it cannot be read.
fn sort_one(
    source: &SceneSource,
    volumes: &Lookup<'_>,
    nodes: &Nodes,
    daemons: &Daemons,
    read: &mut SceneRead,
    raw: &KubePod,
) -> Result<(), String> {
    let pod = read_pod(raw)?;
    let empty = PodSpec::default();
    let spec = raw.spec.as_ref().unwrap_or(&empty);
    if pod.terminal {
        return Ok(());
    }
    let Some(node_name) = spec.node_name.as_deref().filter(|name| !name.is_empty()) else {
        // One that is being deleted before it ever ran needs no node.
        if pod.deleted_at.is_some() {
            return Ok(());
        }
        match left_out(raw, &pod, spec) {
            Some((code, why)) => {
                let Pod { namespace, name, uid, .. } = pod;
                read.left_out.push(LeftOut { pod: PodRef { namespace, name, uid }, code, why });
            }
            None => read.scene.pods.push(waiting::pod(source, volumes, Some(nodes), raw, spec, &pod)),
        }
        return Ok(());
    };
    let Some(at) = nodes.by_name(node_name) else {
        return Err(format!("spec.nodeName: it is on the node {node_name}, which is not there"));
    };
    let leaving = nodes.there.get(at).is_some_and(|node| node.deleting) && moves(raw, &pod);
    if leaving && !budgets::stays(raw, &pod, &source.budgets, source.now) {
        read.scene.pods.push(waiting::pod(source, volumes, Some(nodes), raw, spec, &pod));
    } else {
        let (there, unread) = placed::pod(volumes, daemons, raw, spec, &pod, at);
        read.scene.bound.push(there);
        if !unread.is_empty() {
            return Err(unread.join("; "));
        }
    }
    Ok(())
}

/// Whether the scheduler finds no node for it, and it is ours to see to that.
pub(crate) fn waits(raw: &KubePod) -> bool {
    let empty = PodSpec::default();
    let spec = raw.spec.as_ref().unwrap_or(&empty);
    let unbound = spec.node_name.as_deref().unwrap_or_default().is_empty();
    let wanted = |pod: Pod| !pod.terminal && pod.deleted_at.is_none() && left_out(raw, &pod, spec).is_none();
    unbound && read_pod(raw).is_ok_and(wanted)
}

/// Whether it will run somewhere else when its node is gone. The name of a StatefulSet's pod has to come back, so that one counts
/// although it is being deleted.
pub(super) fn moves(raw: &KubePod, pod: &Pod) -> bool {
    let owners = raw.metadata.owner_references.iter().flatten();
    let of_stateful_set = owners.into_iter().any(|owner| owner.kind == "StatefulSet");
    pod.kind == PodKind::Ordinary && (pod.deleted_at.is_none() || of_stateful_set)
}

/// Why a pod without a node is not ours to place; `None` if it is.
fn left_out(raw: &KubePod, pod: &Pod, spec: &PodSpec) -> Option<(&'static str, String)> {
    let status = raw.status.as_ref();
    let nominated = status.and_then(|status| status.nominated_node_name.as_deref()).filter(|node| !node.is_empty());
    let conditions = status.and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let unschedulable =
        conditions.iter().any(|one| one.type_ == "PodScheduled" && one.reason.as_deref() == Some("Unschedulable"));
    let why = match pod.kind {
        PodKind::Daemon => "pods of a DaemonSet get no nodes of their own".to_owned(),
        PodKind::Mirror => "static pods get no nodes of their own".to_owned(),
        PodKind::Ordinary => match nominated {
            Some(node) => format!("it is about to run on the node {node}, where others make room for it"),
            None if !unschedulable => match spec.scheduling_gates.as_deref().and_then(|gates| gates.first()) {
                Some(gate) => format!("the scheduling gate {} holds it back", gate.name),
                None => "the scheduler has not said that it finds no node for it".to_owned(),
            },
            None if wants_no_pool(spec) => {
                let why = format!("it asks for nodes without the label {}: those of no pool", names::NODE_POOL);
                return Some((OPTED_OUT, why));
            }
            None => return None,
        },
    };
    Some((NOT_PROVISIONABLE, why))
}

/// One term of several that lets a pool's nodes in is enough to be placed.
fn wants_no_pool(spec: &PodSpec) -> bool {
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required = affinity.and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    let terms = required.map(|required| required.node_selector_terms.as_slice()).unwrap_or_default();
    let without = |term: &k8s_openapi::api::core::v1::NodeSelectorTerm| {
        let all = term.match_expressions.as_deref().unwrap_or_default();
        all.iter().any(|one| one.key == names::NODE_POOL && one.operator == Operator::DoesNotExist.as_str())
    };
    !terms.is_empty() && terms.iter().all(without)
}
