//! DaemonSets: the pod that comes to every node it fits.

use k8s_openapi::api::{
    apps::v1::DaemonSet,
    core::v1::{NodeSelectorTerm, Pod as KubePod, PodSpec},
};
use kube::api::ObjectMeta;
use model::{Effect, Namespace, ObjectName, Toleration, place::Daemon};

use super::{
    Problem, SceneSource, name_of,
    requests::{host_ports, requests},
    rules::{each, node_term},
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
        let namespace = pod.namespace.as_deref().unwrap_or_default();
        let is_owner = |daemon: &Daemon| daemon.name.as_str() == owner.name && daemon.namespace.as_str() == namespace;
        self.all.iter().position(is_owner)
    }
}

pub(super) fn daemons(source: &SceneSource, problems: &mut Vec<Problem>) -> Daemons {
    let mut all = Vec::new();
    for set in source.daemon_sets.iter().filter(|set| set.metadata.deletion_timestamp.is_none()) {
        match daemon(set, &source.pods) {
            Ok(daemon) => all.push(daemon),
            Err(why) => problems.push(Problem { kind: "DaemonSet", name: name_of(&set.metadata), why }),
        }
    }
    Daemons { all }
}

/// The newest pod shows what admission made of the template; before there is one, the template has to do. Where it may go is the
/// template's word alone: the controller ties each pod to its node.
fn daemon(set: &DaemonSet, pods: &[KubePod]) -> Result<Daemon, String> {
    let bad = |error: model::InvalidId| error.to_string();
    let template = set.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
    let template = template.ok_or_else(|| "spec.template.spec is missing".to_owned())?;
    let live = newest(set, pods).and_then(|pod| pod.spec.as_ref());
    let shape = live.unwrap_or(template);
    let required = template
        .affinity
        .as_ref()
        .and_then(|affinity| affinity.node_affinity.as_ref())
        .and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    let terms: &[NodeSelectorTerm] =
        required.map(|required| required.node_selector_terms.as_slice()).unwrap_or_default();
    let path =
        "spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let in_template = |why: String| if live.is_some() { why } else { why.replacen("spec.", "spec.template.spec.", 1) };
    Ok(Daemon {
        namespace: Namespace::new(set.metadata.namespace.clone().unwrap_or_default()).map_err(bad)?,
        name: ObjectName::new(set.metadata.name.clone().unwrap_or_default()).map_err(bad)?,
        requests: requests(shape).map_err(in_template)?,
        node_selector: shape.node_selector.clone().unwrap_or_default(),
        node_affinity: each(path, terms, node_term)?,
        tolerations: tolerations(shape),
        host_ports: host_ports(shape).map_err(in_template)?,
    })
}

fn newest<'a>(set: &DaemonSet, pods: &'a [KubePod]) -> Option<&'a KubePod> {
    let name = set.metadata.name.as_deref().unwrap_or_default();
    let own = pods.iter().filter(|pod| {
        let owners = pod.metadata.owner_references.iter().flatten();
        pod.metadata.namespace == set.metadata.namespace
            && owners.into_iter().any(|owner| is_daemon_set(&owner.kind) && owner.name == name)
    });
    own.max_by_key(|pod| pod.metadata.creation_timestamp.as_ref().map(|time| time.0))
}

fn tolerations(spec: &PodSpec) -> Vec<Toleration> {
    let mut all: Vec<Toleration> = spec.tolerations.iter().flatten().filter_map(toleration).collect();
    let on_host = spec.host_network.unwrap_or(false).then_some(TOLERATED_ON_HOST);
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
