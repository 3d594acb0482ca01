//! What a pod asks for and whose it is: requests, ports, tolerations, and whether a planner is to place it at all.

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, Taint, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::quantity::{self, ONE, Resources};

/// `namespace/name`.
pub fn full_name(pod: &Pod) -> String {
    format!("{}/{}", namespace(&pod.metadata), name(&pod.metadata))
}

pub fn namespace(meta: &ObjectMeta) -> &str {
    meta.namespace.as_deref().unwrap_or("default")
}

pub fn name(meta: &ObjectMeta) -> &str {
    meta.name.as_deref().unwrap_or_default()
}

/// The node a pod is bound to.
pub fn node_name(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|name| !name.is_empty())
}

pub fn is_terminal(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

pub fn is_terminating(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

pub fn is_owned_by(pod: &Pod, kind: &str) -> bool {
    pod.metadata.owner_references.iter().flatten().any(|owner| owner.kind == kind)
}

/// Why no planner should place a pod that waits, whatever there is room for.
pub fn not_ours(pod: &Pod) -> Option<&'static str> {
    let spec = pod.spec.as_ref()?;
    let nominated = pod.status.as_ref().and_then(|status| status.nominated_node_name.as_deref());
    if is_owned_by(pod, "DaemonSet") {
        Some("it belongs to a DaemonSet")
    } else if is_owned_by(pod, "Node") {
        Some("it is a static pod")
    } else if spec.scheduling_gates.iter().flatten().next().is_some() {
        Some("it has scheduling gates")
    } else if nominated.is_some_and(|name| !name.is_empty()) {
        Some("it is nominated for a node already")
    } else if is_not_looked_at(pod) {
        Some("the scheduler has not given up on it")
    } else if spec.resource_claims.iter().flatten().next().is_some() {
        Some("it asks for dynamic resources")
    } else {
        None
    }
}

/// The scheduler says something of it, and not that it found no node. Where a file says nothing, it did.
fn is_not_looked_at(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref()).into_iter().flatten();
    let said: Vec<_> = conditions.filter(|one| one.type_ == "PodScheduled").collect();
    !said.is_empty() && said.iter().all(|one| one.reason.as_deref() != Some("Unschedulable"))
}

/// What a pod takes of its node, with `pods: 1`.
pub fn requests(pod: &Pod) -> Resources {
    let mut sum = pod.spec.as_ref().map(requests_of_spec).unwrap_or_default();
    sum.insert("pods".to_owned(), ONE);
    sum
}

fn requests_of_spec(spec: &PodSpec) -> Resources {
    let mut running = Resources::new();
    for container in &spec.containers {
        quantity::add(&mut running, &container_requests(container));
    }
    // Sidecars start in their order and stay; any other init container runs beside the sidecars before it.
    let mut sidecars = Resources::new();
    let mut starting = Resources::new();
    for container in spec.init_containers.iter().flatten() {
        let own = container_requests(container);
        if container.restart_policy.as_deref() == Some("Always") {
            quantity::add(&mut sidecars, &own);
            quantity::greatest(&mut starting, &sidecars);
        } else {
            let mut beside = sidecars.clone();
            quantity::add(&mut beside, &own);
            quantity::greatest(&mut starting, &beside);
        }
    }
    quantity::add(&mut running, &sidecars);
    quantity::greatest(&mut running, &starting);
    // Requests of the pod as a whole stand for those of its containers.
    let whole = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    for (name, amount) in quantity::resources(whole.into_iter().flatten()) {
        if matches!(name.as_str(), "cpu" | "memory") || name.starts_with("hugepages-") {
            running.insert(name, amount);
        }
    }
    quantity::add(&mut running, &quantity::resources(spec.overhead.iter().flatten()));
    running.retain(|_, amount| *amount != 0);
    running
}

fn container_requests(container: &Container) -> Resources {
    let requests = container.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    quantity::resources(requests.into_iter().flatten())
}

/// A port that a pod takes on its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    pub address: String,
    pub port: i32,
    pub protocol: String,
}

impl HostPort {
    pub fn conflicts(&self, other: &Self) -> bool {
        let anywhere = |address: &str| matches!(address, "" | "0.0.0.0" | "::");
        let meets = self.address == other.address || anywhere(&self.address) || anywhere(&other.address);
        self.port == other.port && self.protocol == other.protocol && meets
    }
}

/// The host ports of a pod's containers (init containers have none that count).
pub fn host_ports(pod: &Pod) -> Vec<HostPort> {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let ports = containers.flat_map(|container| container.ports.iter().flatten());
    let taken = ports.filter_map(|port| {
        let number = port.host_port.filter(|number| *number != 0)?;
        Some(HostPort {
            address: port.host_ip.clone().unwrap_or_default(),
            port: number,
            protocol: port.protocol.clone().unwrap_or_else(|| "TCP".to_owned()),
        })
    });
    taken.collect()
}

/// The first taint that keeps a pod away. A taint that only asks to be avoided does not.
pub fn untolerated<'a>(pod: &Pod, taints: &'a [Taint]) -> Option<&'a Taint> {
    let tolerations = pod.spec.as_ref().and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
    taints
        .iter()
        .filter(|taint| matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute"))
        .find(|taint| !tolerations.iter().any(|toleration| tolerates(toleration, taint)))
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    if given(&toleration.effect).is_some_and(|effect| effect != taint.effect) {
        return false;
    }
    if given(&toleration.key).is_some_and(|key| key != taint.key) {
        return false;
    }
    let (wanted, found) = (toleration.value.as_deref().unwrap_or_default(), taint.value.as_deref().unwrap_or_default());
    let numbers = || Some((found.parse::<i64>().ok()?, wanted.parse::<i64>().ok()?));
    match toleration.operator.as_deref().filter(|operator| !operator.is_empty()).unwrap_or("Equal") {
        "Exists" => true,
        "Equal" => given(&toleration.key).is_some() && wanted == found,
        "Gt" => numbers().is_some_and(|(found, wanted)| found > wanted),
        "Lt" => numbers().is_some_and(|(found, wanted)| found < wanted),
        _ => false,
    }
}
