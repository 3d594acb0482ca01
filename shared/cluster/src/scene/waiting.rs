//! A pod that wants a place, with every rule it brings. What cannot be read of it is its reason for having none.

use k8s_openapi::api::core::v1::{Pod as KubePod, PodSpec};
use model::{
    Pod,
    place::{Code, Invalid, NodeTerm, PodToPlace},
};

use super::{
    SceneSource,
    nodes::Nodes,
    pools::is_karpenters_own,
    requests::{host_ports, requests, whole_devices},
    rules::{affinities, spreads},
    selectors::default_selector,
    volumes::Lookup,
};

const MALFORMED: &str = "Malformed";

pub(super) fn pod(
    source: &SceneSource,
    volumes: &Lookup<'_>,
    nodes: Option<&Nodes>,
    raw: &KubePod,
    spec: &PodSpec,
    pod: &Pod,
) -> PodToPlace {
    let mut placing = PodToPlace {
        created_at: raw.metadata.creation_timestamp.as_ref().map(|time| time.0),
        priority: priority(source, spec),
        labels: raw.metadata.labels.clone().unwrap_or_default().into(),
        node_selector: spec.node_selector.clone().unwrap_or_default().into(),
        default_selector: default_selector(source, raw).map(Box::new),
        tolerations: pod.tolerations.clone(),
        planned: source.planned.get(&pod.uid).and_then(|name| nodes?.planned(name.as_str())),
        ..PodToPlace::new(pod.namespace.clone(), pod.name.clone(), pod.uid.clone())
    };
    placing.invalid = fill(&mut placing, volumes, raw, spec).err().map(Box::new);
    placing
}

fn fill(placing: &mut PodToPlace, volumes: &Lookup<'_>, raw: &KubePod, spec: &PodSpec) -> Result<(), Invalid> {
    let malformed = |why: String| Invalid { code: MALFORMED.to_owned(), why };
    if spec.containers.is_empty() {
        return Err(malformed("spec.containers is empty: a pod has at least one container".to_owned()));
    }
    placing.requests = requests(spec).map_err(malformed)?;
    whole_devices(spec).map_err(malformed)?;
    placing.host_ports = host_ports(spec).map_err(malformed)?;
    let affinities = affinities(spec).map_err(malformed)?;
    placing.node_affinity = affinities.node;
    let says_nothing = |term: &NodeTerm| term.expressions.is_empty() && term.fields.is_empty();
    if !placing.node_affinity.is_empty() && placing.node_affinity.iter().all(says_nothing) {
        let why = "every term of its required node affinity is empty, and an empty term matches no node".to_owned();
        return Err(Invalid { code: Code::Labels.as_str().to_owned(), why });
    }
    if let Some(key) = asked_of_nodes(placing).find(|key| is_karpenters_own(key)) {
        let why = format!("the pod asks for the label {key}, which is Karpenter's own and not for pods to ask for");
        return Err(Invalid { code: Code::NotServed.as_str().to_owned(), why });
    }
    placing.preferred_node_affinity = affinities.preferred_node;
    placing.affinity = affinities.near;
    placing.preferred_affinity = affinities.preferred_near;
    placing.anti_affinity = affinities.apart;
    placing.preferred_anti_affinity = affinities.preferred_apart;
    placing.spread = spreads(spec).map_err(malformed)?;
    if let Some(claim) = spec.resource_claims.as_deref().and_then(|claims| claims.first()) {
        let why = format!(
            "spec.resourceClaims: {} asks for devices through a ResourceClaim, which is not served; ask for a resource such as nvidia.com/gpu",
            claim.name
        );
        return Err(Invalid { code: "ResourceClaimsNotServed".to_owned(), why });
    }
    placing.volumes = volumes.volumes(raw)?;
    Ok(())
}

/// The labels that its node must or must not have.
fn asked_of_nodes(placing: &PodToPlace) -> impl Iterator<Item = &str> {
    let terms = placing.node_affinity.iter().flat_map(|term| &term.expressions).map(|one| one.key.as_str());
    placing.node_selector.keys().map(String::as_str).chain(terms)
}

/// The API server fills it in; a file may name only the class.
pub(super) fn priority(source: &SceneSource, spec: &PodSpec) -> i32 {
    if let Some(priority) = spec.priority {
        return priority;
    }
    let named = spec.priority_class_name.as_deref().filter(|name| !name.is_empty());
    let found = source.priority_classes.iter().find(|class| match named {
        Some(name) => class.metadata.name.as_deref() == Some(name),
        None => class.global_default == Some(true),
    });
    match (found, named) {
        (Some(class), _) => class.value.unwrap_or(0),
        (None, Some("system-node-critical")) => 2_000_001_000,
        (None, Some("system-cluster-critical")) => 2_000_000_000,
        (None, _) => 0,
    }
}
