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
    requests::{each_host_port, requests},
    rules::apart,
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

/// And what of it cannot be read, in words: the rest counts all the same, for the pod is there. Whether its other rules make sense
/// does not matter to anybody else.
pub fn taken(spec: &PodSpec) -> (Taken, Vec<String>) {
    let mut unread = Vec::new();
    let mut taken = Taken::default();
    match requests(spec) {
        Ok(requests) => taken.requests = requests,
        Err(why) => unread.push(why),
    }
    keep_read(apart(spec), &mut taken.anti_affinity, &mut unread);
    keep_read(each_host_port(spec), &mut taken.host_ports, &mut unread);
    (taken, unread)
}

fn keep_read<T>(all: Vec<Result<T, String>>, read: &mut Vec<T>, unread: &mut Vec<String>) {
    for one in all {
        match one {
            Ok(one) => read.push(one),
            Err(why) => unread.push(why),
        }
    }
}

/// The second are sentences about what could not be read.
pub(super) fn pod(
    volumes: &Lookup<'_>,
    daemons: &Daemons,
    raw: &KubePod,
    spec: &PodSpec,
    pod: &Pod,
    node: usize,
) -> (PodThere, Vec<String>) {
    let (Taken { requests, anti_affinity, host_ports }, unread) = taken(spec);
    let there = PodThere {
        namespace: pod.namespace.clone(),
        name: pod.name.clone(),
        node,
        labels: raw.metadata.labels.clone().unwrap_or_default().into(),
        requests,
        anti_affinity,
        host_ports,
        volumes: volumes.handles(raw),
        terminating: pod.deleted_at.is_some(),
        daemon: (pod.kind == PodKind::Daemon).then(|| daemons.of(&raw.metadata)).flatten(),
    };
    (there, unread)
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
