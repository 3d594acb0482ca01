//! Whether a node is still what its pool would make today.

use jiff::{SignedDuration, Timestamp};
use model::{
    Requirement,
    disruption::{Drift, Hash, NodeHere, PoolHere},
    names,
    place::{Catalogue, NodeThere, Pool},
};

use crate::requirement::{Requirements, normalised};

/// A type that is missing from the catalogue of a young node may only not have been read yet.
const OLD_ENOUGH: SignedDuration = SignedDuration::from_hours(1);

/// What a drift is judged by.
pub struct Now<'a> {
    pub pool: &'a Pool,
    pub here: &'a PoolHere,
    pub catalogue: Option<&'a Catalogue>,
    pub now: Timestamp,
}

/// The first drift that is found; a condition that somebody set counts before all others.
pub fn drift(node: &NodeThere, here: &NodeHere, pool: &Now<'_>) -> Option<Drift> {
    let claim = here.claim.as_ref();
    if let Some(said) = claim.and_then(|claim| claim.drifted.clone()) {
        return Some(said);
    }
    let since = claim.map_or(here.created_at, |claim| claim.created_at);
    let found = |reason: &str, message: String| Some(Drift { reason: reason.to_owned(), message, since });
    let name = &pool.pool.name;
    if differ(claim.and_then(|claim| claim.pool_hash.as_ref()), pool.here.hash.as_ref()) {
        return found("NodePoolDrifted", format!("the template of NodePool {name} has changed since it was made"));
    }
    if let Some(key) = broken(node, claim.is_some(), pool.pool) {
        let value = node.labels.get(key).map_or("nothing", String::as_str);
        return found("RequirementsDrifted", format!("NodePool {name} no longer allows its {key}, which is {value}"));
    }
    if differ(claim.and_then(|claim| claim.class_hash.as_ref()), pool.here.class_hash.as_ref()) {
        return found("NodeClassDrifted", "its node class has changed since it was made".to_owned());
    }
    if let Some(image) = claim.and_then(|claim| claim.image.as_ref())
        && !pool.here.images.is_empty()
        && !pool.here.images.contains(image)
    {
        return found("ImageDrift", format!("its image {image} is not one that new nodes get"));
    }
    if let (Some(own), Some(wanted)) = (&here.kubelet_version, &pool.here.kubernetes_version)
        && own.trim_start_matches('v') != wanted.trim_start_matches('v')
    {
        return found("K8sVersionDrift", format!("it runs Kubernetes {own}, and new nodes get {wanted}"));
    }
    let of_type = node.labels.get(names::INSTANCE_TYPE)?;
    let known =
        pool.catalogue.is_none_or(|all| all.types.is_empty() || all.types.iter().any(|one| one.name == *of_type));
    if !known && pool.now.duration_since(since) >= OLD_ENOUGH {
        return found("InstanceTypeNotFound", format!("instance type {of_type} is not on offer any more"));
    }
    None
}

/// Only hashes that were made by the same rule say anything.
fn differ(own: Option<&Hash>, wanted: Option<&Hash>) -> bool {
    matches!((own, wanted), (Some(own), Some(wanted)) if own.version == wanted.version && own.value != wanted.value)
}

/// The first key whose requirement its labels do not keep. Where only the Node is known, a label that is missing says nothing.
fn broken<'p>(node: &NodeThere, strictly: bool, pool: &'p Pool) -> Option<&'p str> {
    let mut required = pool.requirements.iter().map(|one| &one.requirement);
    let breaks = |one: &&'p Requirement| {
        let known = strictly || node.labels.contains_key(normalised(&one.key));
        known && !Requirements::new(core::slice::from_ref(*one)).kept_by(&node.labels)
    };
    required.find(breaks).map(|one| one.key.as_str())
}
