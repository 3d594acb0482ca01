//! DaemonSets: the pod that comes to every node it fits.

use k8s_openapi::api::{
    apps::v1::DaemonSet,
    core::v1::{Pod as KubePod, PodSpec},
};
use kube::api::ObjectMeta;
use model::{
    DaemonShape, Effect, Namespace, ObjectName, PodShape, Resources, Toleration,
    place::{Daemon, HostPort},
};
use std::collections::BTreeMap;

use super::{
    Problem, SceneSource, name_of,
    requests::{host_ports, requests},
    rules::node_terms,
};
use crate::read_pod::toleration;

/// What the controller of DaemonSets lets its pods tolerate, whatever the template says.
const TOLERATED: [(&str, Effect); 6] = [
    ("node.kubernetes.io/not-ready", Effect::NoExecute),
    ("node.kubernetes.io/unreachable", Effect::NoExecute),
    ("node.kubernetes.io/disk-pressure", Effect::NoSchedule),
    ("node.kubernetes.io/memory-pressure", Effect::NoSchedule),
    ("node.kubernetes.io/pid-pressure", Effect::NoSchedule),
    ("node.kubernetes.io/unschedulable", Effect::NoSchedule),
];
/// And this, in the network of the node.
const TOLERATED_ON_HOST: (&str, Effect) = ("node.kubernetes.io/network-unavailable", Effect::NoSchedule);

pub(super) struct Daemons {
    pub all: Vec<Daemon>,
}

impl Daemons {
    /// Which of them a pod belongs to.
    pub(super) fn of(&self, pod: &ObjectMeta) -> Option<usize> {
        let owner = pod.owner_references.iter().flatten().find(|owner| is_daemon_set(&owner.kind))?;
        self.named(pod.namespace.as_deref().unwrap_or_default(), &owner.name)
    }

    pub(super) fn named(&self, namespace: &str, name: &str) -> Option<usize> {
        let is_it = |daemon: &Daemon| daemon.name.as_str() == name && daemon.namespace.as_str() == namespace;
        self.all.iter().position(is_it)
    }
}

pub(super) fn daemons(source: &SceneSource, problems: &mut Vec<Problem>) -> Daemons {
    let mut all = Vec::new();
    for set in source.daemon_sets.iter().filter(|set| set.metadata.deletion_timestamp.is_none()) {
        match daemon(set, source) {
            Ok(daemon) => all.push(daemon),
            Err(why) => problems.push(Problem { kind: "DaemonSet", name: name_of(&set.metadata), why }),
        }
    }
    Daemons { all }
}

/// The newest pod shows what admission made of the template; before there is one, the template has to do. Where it may go is the
/// template's word alone: the controller ties each pod to its node.
fn daemon(set: &DaemonSet, source: &SceneSource) -> Result<Daemon, String> {
    let bad = |error: model::InvalidId| error.to_string();
    let template = set.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
    let template = template.ok_or_else(|| "spec.template.spec is missing".to_owned())?;
    let shape = match newest(set, source) {
        Some(Live::Read(pod)) => Shape::of("", pod.spec.as_ref().unwrap_or(template))?,
        Some(Live::Seen(seen, daemon)) => Shape::seen(seen, daemon),
        None => Shape::of("spec.template.", template)?,
    };
    let required = template
        .affinity
        .as_ref()
        .and_then(|affinity| affinity.node_affinity.as_ref())
        .and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    let terms = required.map(|required| required.node_selector_terms.as_slice());
    let path =
        "spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    Ok(Daemon {
        namespace: Namespace::new(set.metadata.namespace.clone().unwrap_or_default()).map_err(bad)?,
        name: ObjectName::new(set.metadata.name.clone().unwrap_or_default()).map_err(bad)?,
        requests: shape.requests,
        node_selector: shape.node_selector,
        node_affinity: terms.map(|terms| node_terms(path, terms)).transpose()?.unwrap_or_default(),
        tolerations: tolerations(shape.tolerations, shape.host_network),
        host_ports: shape.host_ports,
    })
}

/// What a pod of a DaemonSet says about those that are to come.
struct Shape {
    requests: Resources,
    node_selector: BTreeMap<String, String>,
    tolerations: Vec<Toleration>,
    host_network: bool,
    host_ports: Vec<HostPort>,
}

impl Shape {
    /// `place` stands before the path of a field that cannot be read.
    fn of(place: &str, spec: &PodSpec) -> Result<Self, String> {
        let there = |why: String| format!("{place}{why}");
        Ok(Shape {
            requests: requests(spec).map_err(there)?,
            node_selector: spec.node_selector.clone().unwrap_or_default(),
            tolerations: spec.tolerations.iter().flatten().filter_map(toleration).collect(),
            host_network: spec.host_network.unwrap_or(false),
            host_ports: host_ports(spec).map_err(there)?,
        })
    }

    fn seen(pod: &PodShape, daemon: &DaemonShape) -> Self {
        Shape {
            requests: pod.requests.clone(),
            node_selector: daemon.node_selector.clone(),
            tolerations: daemon.tolerations.clone(),
            host_network: daemon.host_network,
            host_ports: pod.host_ports.clone(),
        }
    }
}

/// A pod of a DaemonSet, as it was read or as somebody else has seen it.
enum Live<'a> {
    Read(&'a KubePod),
    Seen(&'a PodShape, &'a DaemonShape),
}

/// Of two that are as old, the one with the later name.
fn newest<'a>(set: &DaemonSet, source: &'a SceneSource) -> Option<Live<'a>> {
    let name = set.metadata.name.as_deref().unwrap_or_default();
    let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
    let read = source.pods.iter().filter(|pod| {
        let owners = pod.metadata.owner_references.iter().flatten();
        pod.metadata.namespace == set.metadata.namespace
            && owners.into_iter().any(|owner| is_daemon_set(&owner.kind) && owner.name == name)
    });
    let read = read.map(|pod| {
        let created = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
        ((created, pod.metadata.name.as_deref().unwrap_or_default()), Live::Read(pod))
    });
    let snapshot = source.seen.iter().map(|seen| &seen.snapshot);
    let seen = snapshot.flat_map(|snapshot| snapshot.daemons.iter().map(move |one| (snapshot, one)));
    let seen = seen.filter_map(|(snapshot, one)| {
        let shape = snapshot.shapes.get(one.shape)?;
        let daemon = shape.daemon.as_ref()?;
        let is_it = daemon.set.as_str() == name && shape.namespace.as_str() == namespace;
        is_it.then(|| ((Some(one.created_at), one.pod.as_str()), Live::Seen(shape, daemon)))
    });
    read.chain(seen).max_by_key(|(age, _)| *age).map(|(_, live)| live)
}

fn tolerations(mut all: Vec<Toleration>, host_network: bool) -> Vec<Toleration> {
    let on_host = host_network.then_some(TOLERATED_ON_HOST);
    for (key, effect) in TOLERATED.into_iter().chain(on_host) {
        let added = Toleration { key: Some(key.to_owned()), value: None, effect: Some(effect) };
        if !all.contains(&added) {
            all.push(added);
        }
    }
    all
}

fn is_daemon_set(kind: &str) -> bool {
    kind == "DaemonSet"
}
