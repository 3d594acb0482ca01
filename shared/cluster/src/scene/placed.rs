//! A pod that is on a node: what it takes there, and whom it keeps away.

use k8s_openapi::api::core::v1::{Pod as KubePod, PodSpec};
use model::{
    DaemonShape, NodeSeen, Pod, PodKind, PodShape, Resources,
    place::{HostPort, PodTerm, PodThere},
};

use super::{
    Seen,
    daemons::Daemons,
    nodes::Nodes,
    requests::{host_ports, requests},
    rules::affinities,
    volumes::Lookup,
};

/// What a pod takes of its node, and whom it keeps away.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Taken {
    pub requests: Resources,
    /// Required terms.
    pub anti_affinity: Vec<PodTerm>,
    pub host_ports: Vec<HostPort>,
}

/// An error is an amount, a port or a rule that cannot be read: the pod would count for less than it takes.
pub fn taken(spec: &PodSpec) -> Result<Taken, String> {
    Ok(Taken { requests: requests(spec)?, anti_affinity: affinities(spec)?.apart, host_ports: host_ports(spec)? })
}

pub(super) fn pod(
    volumes: &Lookup<'_>,
    daemons: &Daemons,
    raw: &KubePod,
    spec: &PodSpec,
    pod: &Pod,
    node: usize,
) -> Result<PodThere, String> {
    let Taken { requests, anti_affinity, host_ports } = taken(spec)?;
    Ok(PodThere {
        namespace: pod.namespace.clone(),
        name: pod.name.clone(),
        node,
        labels: raw.metadata.labels.clone().unwrap_or_default(),
        requests,
        anti_affinity,
        host_ports,
        volumes: volumes.handles(raw),
        terminating: pod.deleted_at.is_some(),
        daemon: (pod.kind == PodKind::Daemon).then(|| daemons.of(&raw.metadata)).flatten(),
    })
}

/// The pods of a snapshot. They are alike by the dozen and have no names of their own: each goes by that of its node.
pub(super) fn seen(seen: &Seen, volumes: &Lookup<'_>, nodes: &Nodes, daemons: &Daemons) -> Vec<PodThere> {
    let mut all = Vec::new();
    let snapshot = &seen.snapshot;
    for node in snapshot.nodes.iter().filter(|node| !seen.read_anew.contains(&node.name)) {
        let Some(at) = nodes.by_name(node.name.as_str()) else { continue };
        for pods in &node.pods {
            let Some(shape) = snapshot.shapes.get(pods.shape) else { continue };
            let one = there(shape, node, at, volumes, daemons);
            all.extend((0..pods.count).map(|_| one.clone()));
        }
    }
    all
}

fn there(shape: &PodShape, node: &NodeSeen, at: usize, volumes: &Lookup<'_>, daemons: &Daemons) -> PodThere {
    let PodShape { namespace, labels, requests, anti_affinity, host_ports, volume_claims, terminating, daemon } = shape;
    let position = |daemon: &DaemonShape| daemons.named(namespace.as_str(), daemon.set.as_str());
    PodThere {
        namespace: namespace.clone(),
        name: node.name.clone(),
        node: at,
        labels: labels.clone(),
        requests: requests.clone(),
        anti_affinity: anti_affinity.clone(),
        host_ports: host_ports.clone(),
        volumes: volumes.handles_of(namespace.as_str(), volume_claims),
        terminating: *terminating,
        daemon: daemon.as_ref().and_then(position),
    }
}
