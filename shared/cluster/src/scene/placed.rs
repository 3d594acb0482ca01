//! A pod that is on a node: what it takes there, and whom it keeps away.

use k8s_openapi::api::core::v1::{Pod as KubePod, PodSpec};
use model::{Pod, PodKind, place::PodThere};

use super::{
    daemons::Daemons,
    requests::{host_ports, requests},
    rules::affinities,
    volumes::Lookup,
};

/// An error is an amount, a port or a rule that cannot be read: the pod would count for less than it takes.
pub(super) fn pod(
    volumes: &Lookup<'_>,
    daemons: &Daemons,
    raw: &KubePod,
    spec: &PodSpec,
    pod: &Pod,
    node: usize,
) -> Result<PodThere, String> {
    Ok(PodThere {
        namespace: pod.namespace.clone(),
        name: pod.name.clone(),
        node,
        labels: raw.metadata.labels.clone().unwrap_or_default(),
        requests: requests(spec)?,
        anti_affinity: affinities(spec)?.apart,
        host_ports: host_ports(spec)?,
        volumes: volumes.handles(raw),
        terminating: pod.deleted_at.is_some(),
        daemon: (pod.kind == PodKind::Daemon).then(|| daemons.of(&raw.metadata)).flatten(),
    })
}
