//! DaemonSets: which of them run on a node, and what they take there before any other pod.

use crate::catalog::{InstanceType, Offering};
use crate::cluster::{Cluster, PodFacts, Role};
use crate::fresh::Fresh;
use crate::machines::Machine;
use crate::pods::{is_owned_by, untolerated};
use crate::quantity::{self, Resources};

/// The daemons that may run on a node that comes of a claim.
pub fn on_fresh<'a>(cluster: &'a Cluster, fresh: &Fresh<'_>, node: (&InstanceType, &Offering)) -> Vec<&'a PodFacts> {
    let suits = |daemon: &&PodFacts| {
        untolerated(&daemon.pod, &fresh.pool.spec.template.spec.taints).is_none()
            && fresh.may_accept(node, &daemon.demand)
    };
    cluster.daemons.iter().filter(suits).collect()
}

/// What daemons still have to get on a machine: all that suit it, less those that run there.
pub fn outstanding(cluster: &Cluster, machine: &Machine, index: usize) -> Resources {
    let value = |key: &str| machine.labels.get(key).map(String::as_str);
    let suits = |daemon: &&PodFacts| {
        untolerated(&daemon.pod, &machine.taints).is_none() && daemon.demand.accepts(machine.node.as_deref(), value)
    };
    let mut expected = total(cluster.daemons.iter().filter(suits));
    let runs = |pod: &&PodFacts| pod.role == Role::Bound(index) && is_owned_by(&pod.pod, "DaemonSet");
    for (name, amount) in total(cluster.pods.iter().filter(runs)) {
        *expected.entry(name).or_default() -= amount;
    }
    expected.retain(|_, amount| *amount > 0);
    expected
}

/// What some pods request together.
pub fn total<'a>(pods: impl Iterator<Item = &'a PodFacts>) -> Resources {
    let mut sum = Resources::new();
    for pod in pods {
        quantity::add(&mut sum, &pod.requests);
    }
    sum
}
