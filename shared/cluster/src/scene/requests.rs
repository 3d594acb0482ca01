//! What a pod takes of a node: its requests as the scheduler counts them, and ports of the node.

use k8s_openapi::{
    api::core::v1::{Container, ContainerPort, PodSpec, ResourceRequirements},
    apimachinery::pkg::api::resource::Quantity as Amount,
};
use model::{
    Resources,
    place::{HostPort, Protocol},
};

use std::collections::BTreeMap;

use super::amounts::{add, raise};
use crate::fields;

/// The larger of what starting and running take, and the overhead. Amounts of nothing are left out: they ask for nothing.
pub(super) fn requests(spec: &PodSpec) -> Result<Resources, String> {
    let mut running = Resources::new();
    for (index, container) in spec.containers.iter().enumerate() {
        add(&mut running, &asked(&format!("spec.containers[{index}]"), container.resources.as_ref())?);
    }
    // Sidecars start one after the other and stay; another init container runs beside those before it.
    let (mut sidecars, mut starting) = (Resources::new(), Resources::new());
    for (index, container) in spec.init_containers.iter().flatten().enumerate() {
        let own = asked(&format!("spec.initContainers[{index}]"), container.resources.as_ref())?;
        if is_sidecar(container) {
            add(&mut running, &own);
            add(&mut sidecars, &own);
            raise(&mut starting, &sidecars);
        } else {
            let mut together = sidecars.clone();
            add(&mut together, &own);
            raise(&mut starting, &together);
        }
    }
    raise(&mut running, &starting);
    whole_pod(spec.resources.as_ref(), &mut running)?;
    add(&mut running, &amounts("spec.overhead", spec.overhead.as_ref())?);
    running.retain(|_, amount| amount.thousandths() != 0);
    Ok(running)
}

/// What the pod asks for as a whole stands for what its containers ask for. A limit alone is a request only of what no container
/// asks for: so the API server has it.
fn whole_pod(given: Option<&ResourceRequirements>, running: &mut Resources) -> Result<(), String> {
    let Some(given) = given else { return Ok(()) };
    let requested = amounts("spec.resources.requests", given.requests.as_ref())?;
    let limited = amounts("spec.resources.limits", given.limits.as_ref())?;
    for (name, amount) in requested.into_iter().filter(|(name, _)| is_of_pods(name)) {
        running.insert(name, amount);
    }
    for (name, amount) in limited.into_iter().filter(|(name, _)| is_of_pods(name)) {
        running.entry(name).or_insert(amount);
    }
    Ok(())
}

fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

/// What may be asked for the pod as a whole, instead of container by container.
fn is_of_pods(name: &str) -> bool {
    name == "cpu" || name == "memory" || name.starts_with("hugepages-")
}

/// A limit without a request is a request, as the API server has it.
fn asked(path: &str, given: Option<&ResourceRequirements>) -> Result<Resources, String> {
    let Some(given) = given else { return Ok(Resources::new()) };
    let mut asked = amounts(&format!("{path}.resources.requests"), given.requests.as_ref())?;
    for (name, amount) in amounts(&format!("{path}.resources.limits"), given.limits.as_ref())? {
        asked.entry(name).or_insert(amount);
    }
    Ok(asked)
}

fn amounts(path: &str, given: Option<&BTreeMap<String, Amount>>) -> Result<Resources, String> {
    given.map_or_else(|| Ok(Resources::new()), |given| fields::resources(path, given))
}

/// Devices are not shared: the API server refuses a part of one.
pub(super) fn whole_devices(spec: &PodSpec) -> Result<(), String> {
    let containers = spec.containers.iter().enumerate().map(|(at, one)| (format!("spec.containers[{at}]"), one));
    let starting = spec.init_containers.iter().flatten().enumerate();
    let starting = starting.map(|(at, one)| (format!("spec.initContainers[{at}]"), one));
    for (path, given) in containers.chain(starting).filter_map(|(path, one)| Some((path, one.resources.as_ref()?))) {
        for (field, given) in [("requests", &given.requests), ("limits", &given.limits)] {
            let path = format!("{path}.resources.{field}");
            let asked = amounts(&path, given.as_ref())?;
            if let Some((name, amount)) =
                asked.iter().find(|(name, amount)| is_device(name) && amount.thousandths() % 1000 != 0)
            {
                return Err(format!("{path}.{name} is {amount}: only whole ones can be had"));
            }
        }
    }
    Ok(())
}

/// Extended resources, as Kubernetes calls them: those with a domain that is not its own.
fn is_device(name: &str) -> bool {
    name.contains('/') && !name.contains("kubernetes.io/")
}

pub(super) fn host_ports(spec: &PodSpec) -> Result<Vec<HostPort>, String> {
    each_host_port(spec).into_iter().collect()
}

/// Regular containers only. In the network of the node, every port is one of the node. The errors name the field.
pub(super) fn each_host_port(spec: &PodSpec) -> Vec<Result<HostPort, String>> {
    let on_host = spec.host_network.unwrap_or(false);
    let mut ports = Vec::new();
    for (index, container) in spec.containers.iter().enumerate() {
        for (place, port) in container.ports.iter().flatten().enumerate() {
            let wanted = port.host_port.filter(|port| *port != 0).or(on_host.then_some(port.container_port));
            let Some(wanted) = wanted else { continue };
            ports.push(host_port(&format!("spec.containers[{index}].ports[{place}]"), wanted, port));
        }
    }
    ports
}

fn host_port(path: &str, wanted: i32, given: &ContainerPort) -> Result<HostPort, String> {
    let port = u16::try_from(wanted).map_err(|_| format!("{path}: {wanted} is not a port: 1 to 65535"))?;
    let protocol = match given.protocol.as_deref().unwrap_or("TCP") {
        "TCP" | "" => Protocol::Tcp,
        "UDP" => Protocol::Udp,
        "SCTP" => Protocol::Sctp,
        other => return Err(format!("{path}.protocol: {other:?} is not a protocol: TCP, UDP or SCTP")),
    };
    Ok(HostPort { ip: given.host_ip.clone().unwrap_or_default(), port, protocol })
}
