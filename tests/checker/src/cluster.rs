//! The cluster as a planner finds it: objects completed, workloads turned into pods, and every pod's part in the plan.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use k8s_openapi::api::core::v1::Pod;

use crate::catalog::Catalog;
use crate::labels::{Labels, NodeDemand, selects};
use crate::load::{LoadError, Objects};
use crate::machines::{self, Machine};
use crate::objects::NodePool;
use crate::pods::{self, HostPort, full_name, name, namespace};
use crate::quantity::Resources;
use crate::volumes::Volumes;
use crate::{complete, workloads};

#[derive(Debug, Clone, Default)]
pub struct Cluster {
    pub pods: Vec<PodFacts>,
    pub machines: Vec<Machine>,
    pub pools: Vec<NodePool>,
    /// One pod a DaemonSet, as it would run on any node that suits it.
    pub daemons: Vec<PodFacts>,
    pub volumes: Volumes,
    pub namespaces: BTreeMap<String, Labels>,
}

/// A pod, and what is asked of it again and again.
#[derive(Debug, Clone, Default)]
pub struct PodFacts {
    pub pod: Pod,
    pub name: String,
    pub namespace: String,
    pub labels: Labels,
    pub requests: Resources,
    pub ports: Vec<HostPort>,
    pub demand: NodeDemand,
    pub role: Role,
}

/// The part of a pod in a plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Role {
    /// It waits, or its node is leaving: the plan has to say where it goes.
    Waiting,
    /// The plan may speak of it, with the reason why it need not.
    Optional(&'static str),
    /// It stays where it is: the machine's number.
    Bound(usize),
    /// Over, or on a node that does not exist.
    #[default]
    Gone,
}

impl Cluster {
    pub fn read(paths: &[PathBuf], catalog: &Catalog) -> Result<Self, LoadError> {
        Ok(Self::new(Objects::read(paths)?, catalog))
    }

    pub fn new(mut objects: Objects, catalog: &Catalog) -> Self {
        workloads::expand(&mut objects);
        for pod in &mut objects.pods {
            if let Some(spec) = &mut pod.spec {
                complete::run_by(spec, &objects.runtime_classes);
            }
            complete::pod(pod);
        }
        objects.nodes.iter_mut().for_each(complete::node);
        complete::volume_claims(&mut objects.volume_claims, &objects.storage_classes);
        let machines = machines::assemble(&objects.nodes, &objects.claims, &objects.csi_nodes, catalog);
        let by_node: HashMap<&str, usize> =
            machines.iter().enumerate().filter_map(|(index, one)| Some((one.node.as_deref()?, index))).collect();
        let guarded = |pod: &Pod| {
            objects.budgets.iter().any(|budget| {
                let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
                let labels = pod.metadata.labels.clone().unwrap_or_default();
                namespace(&budget.metadata) == namespace(&pod.metadata) && selects(selector, &labels)
            })
        };
        let role = |pod: &Pod| role_of(pod, &machines, &by_node, &guarded);
        let pods: Vec<PodFacts> = objects.pods.into_iter().map(|pod| PodFacts::new(role(&pod), pod)).collect();
        let daemons = objects.daemon_sets.into_iter().map(|set| {
            // Its newest pod shows what admission made of the template.
            let own = |pod: &&PodFacts| {
                let owners = pod.pod.metadata.owner_references.iter().flatten();
                let of_set =
                    owners.filter(|owner| owner.kind == "DaemonSet").any(|owner| owner.name == name(&set.metadata));
                of_set && pod.namespace == namespace(&set.metadata) && !pods::is_terminal(&pod.pod)
            };
            let newest = pods.iter().filter(own).max_by_key(|pod| pod.pod.metadata.creation_timestamp.clone());
            let spec = set.spec.unwrap_or_default();
            let mut pod = Pod { metadata: set.metadata, spec: spec.template.spec, status: None };
            pod.metadata.labels = spec.template.metadata.and_then(|meta| meta.labels);
            if let Some(spec) = &mut pod.spec {
                complete::pod_spec(spec);
            }
            let mut daemon = PodFacts::new(Role::Gone, pod);
            if let Some(newest) = newest {
                daemon.requests.clone_from(&newest.requests);
            }
            daemon
        });
        let daemons: Vec<PodFacts> = daemons.collect();
        let mut namespaces: BTreeMap<String, Labels> = objects
            .namespaces
            .into_iter()
            .map(|one| (name(&one.metadata).to_owned(), one.metadata.labels.unwrap_or_default()))
            .collect();
        for pod in &pods {
            namespaces.entry(pod.namespace.clone()).or_default();
        }
        for (name, labels) in &mut namespaces {
            labels.insert("kubernetes.io/metadata.name".to_owned(), name.clone());
        }
        Self {
            daemons,
            pods,
            pools: objects.pools,
            volumes: Volumes::new(objects.volume_claims, objects.volumes, objects.storage_classes),
            namespaces,
            machines,
        }
    }

    pub fn pool(&self, name: &str) -> Option<&NodePool> {
        self.pools.iter().find(|pool| pool.name() == name)
    }
}

impl PodFacts {
    fn new(role: Role, pod: Pod) -> Self {
        Self {
            name: full_name(&pod),
            namespace: namespace(&pod.metadata).to_owned(),
            labels: pod.metadata.labels.clone().unwrap_or_default(),
            requests: pods::requests(&pod),
            ports: pods::host_ports(&pod),
            demand: NodeDemand::of(&pod),
            role,
            pod,
        }
    }

    /// Whether it counts where pods are counted: a pod that is going does not.
    pub fn counts(&self) -> bool {
        !pods::is_terminating(&self.pod) || matches!(self.role, Role::Waiting | Role::Optional(_))
    }
}

fn role_of(pod: &Pod, machines: &[Machine], by_node: &HashMap<&str, usize>, guarded: &dyn Fn(&Pod) -> bool) -> Role {
    if pods::is_terminal(pod) {
        return Role::Gone;
    }
    let Some(node) = pods::node_name(pod) else {
        return match (pods::is_terminating(pod), pods::not_ours(pod)) {
            (true, _) => Role::Gone,
            (false, Some(why)) => Role::Optional(why),
            (false, None) => Role::Waiting,
        };
    };
    let Some(&index) = by_node.get(node) else { return Role::Gone };
    let moves = !pods::is_terminating(pod) || pods::is_owned_by(pod, "StatefulSet");
    let fixed = pods::is_owned_by(pod, "DaemonSet") || pods::is_owned_by(pod, "Node");
    if !machines[index].leaving || !moves || fixed {
        return Role::Bound(index);
    }
    let kept = pod.metadata.annotations.iter().flatten().any(|(key, _)| key == "karpenter.sh/do-not-disrupt");
    if kept || guarded(pod) { Role::Optional("it may have to stay on its node") } else { Role::Waiting }
}
