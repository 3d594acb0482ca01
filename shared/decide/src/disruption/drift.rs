//! Whether a node is still what its pool would make today.

use jiff::{SignedDuration, Timestamp};
use model::{
    Requirement,
    disruption::{Drift, Hash, NodeHere, PoolHere},
    names,
    place::{Catalogue, NodeStage, NodeThere, Pool},
};
use std::collections::BTreeMap;

use super::Situation;
use crate::requirement::{Requirements, normalised};

/// A type that is missing from the catalogue of a young node may only not have been read yet.
const OLD_ENOUGH: SignedDuration = SignedDuration::from_hours(1);

const POOL: &str = "NodePoolDrifted";
const REQUIREMENTS: &str = "RequirementsDrifted";
const CLASS: &str = "NodeClassDrifted";
const IMAGE: &str = "ImageDrift";
const VERSION: &str = "K8sVersionDrift";
const TYPE: &str = "InstanceTypeNotFound";

/// What a drift is judged by.
pub struct Now<'a> {
    pub pool: &'a Pool,
    pub here: &'a PoolHere,
    pub catalogue: Option<&'a Catalogue>,
    pub now: Timestamp,
}

impl<'a> Now<'a> {
    /// Of the pool at this position. What a closed pool could make, nobody knows.
    pub fn of(situation: &'a Situation, at: usize) -> Option<Self> {
        let scene = &situation.provision.scene;
        let (pool, here) = (scene.pools.get(at)?, situation.inventory.pools.get(at)?);
        let open = match &here.fixed_size {
            Some(fixed) => fixed.closed.is_none(),
            None => pool.closed.is_none(),
        };
        let catalogue = scene.catalogues.get(pool.catalogue).filter(|_| open);
        Some(Now { pool, here, catalogue, now: situation.provision.now })
    }
}

/// The first drift that is found. What somebody else said in the condition stands where we cannot judge it ourselves; what we
/// can judge is judged anew, so that a condition of ours goes when it is no longer so.
pub fn drift(node: &NodeThere, here: &NodeHere, pool: &Now<'_>) -> Option<Drift> {
    let claim = here.claim.as_ref();
    let said = claim.and_then(|claim| claim.drifted.as_ref());
    if let Some(said) = said.filter(|said| !is_judged(&said.reason, here, pool)) {
        return Some(said.clone());
    }
    let since = claim.map_or(here.created_at, |claim| claim.created_at);
    let (reason, message) = judge(node, here, pool, since)?;
    let since = said.map_or(since, |said| said.since);
    Some(Drift { reason: reason.to_owned(), message, since })
}

/// Reason and words.
fn judge(node: &NodeThere, here: &NodeHere, pool: &Now<'_>, since: Timestamp) -> Option<(&'static str, String)> {
    let claim = here.claim.as_ref();
    let name = &pool.pool.name;
    if differ(claim.and_then(|claim| claim.pool_hash.as_ref()), pool.here.hash.as_ref()) {
        return Some((POOL, format!("the template of NodePool {name} has changed since it was made")));
    }
    if let Some(key) = broken(node, claim.is_some(), pool.pool) {
        let value = node.labels.get(key).map_or("nothing", String::as_str);
        return Some((REQUIREMENTS, format!("NodePool {name} no longer allows its {key}, which is {value}")));
    }
    if differ(claim.and_then(|claim| claim.class_hash.as_ref()), pool.here.class_hash.as_ref()) {
        return Some((CLASS, "its node class has changed since it was made".to_owned()));
    }
    if let Some(image) = claim.and_then(|claim| claim.image.as_ref())
        && !pool.here.images.is_empty()
        && !pool.here.images.contains(image)
    {
        return Some((IMAGE, format!("its image {image} is not one that new nodes get")));
    }
    if let (Some(own), Some(wanted)) = (&here.kubelet_version, &pool.here.kubernetes_version)
        && own.trim_start_matches('v') != wanted.trim_start_matches('v')
    {
        return Some((VERSION, format!("it runs Kubernetes {own}, and new nodes get {wanted}")));
    }
    let of_type = node.labels.get(names::INSTANCE_TYPE)?;
    let known = types_that_can_be_had(pool).is_none_or(|all| all.types.iter().any(|one| one.name == *of_type));
    let gone = !known && pool.now.duration_since(since) >= OLD_ENOUGH;
    gone.then(|| (TYPE, format!("instance type {of_type} is not on offer any more")))
}

/// Nothing where what is missing may be had all the same.
fn types_that_can_be_had<'a>(pool: &Now<'a>) -> Option<&'a Catalogue> {
    pool.catalogue.filter(|all| all.complete && !all.types.is_empty())
}

/// Whether everything that this reason is judged by is known here.
fn is_judged(reason: &str, here: &NodeHere, pool: &Now<'_>) -> bool {
    let claim = here.claim.as_ref();
    match reason {
        POOL => comparable(claim.and_then(|claim| claim.pool_hash.as_ref()), pool.here.hash.as_ref()),
        REQUIREMENTS => true,
        CLASS => comparable(claim.and_then(|claim| claim.class_hash.as_ref()), pool.here.class_hash.as_ref()),
        IMAGE => claim.is_some_and(|claim| claim.image.is_some()) && !pool.here.images.is_empty(),
        VERSION => here.kubelet_version.is_some() && pool.here.kubernetes_version.is_some(),
        TYPE => types_that_can_be_had(pool).is_some(),
        _ => false,
    }
}

/// By the name of its node, every claim that can be judged: what it has drifted by, or nothing.
pub fn drifts(situation: &Situation) -> BTreeMap<&str, Option<Drift>> {
    let scene = &situation.provision.scene;
    let judged = |here: &NodeHere| {
        here.claim.as_ref()?;
        let node = scene.nodes.get(here.node).filter(|node| !node.deleting && node.stage == NodeStage::Initialized)?;
        let at = scene.pools.iter().position(|pool| Some(&pool.name) == node.pool.as_ref())?;
        Some((node.name.as_str(), drift(node, here, &Now::of(situation, at)?)))
    };
    situation.inventory.nodes.iter().filter_map(judged).collect()
}

/// Only hashes that were made by the same rule say anything.
fn comparable(own: Option<&Hash>, wanted: Option<&Hash>) -> bool {
    matches!((own, wanted), (Some(own), Some(wanted)) if own.version == wanted.version)
}

fn differ(own: Option<&Hash>, wanted: Option<&Hash>) -> bool {
    comparable(own, wanted) && own.map(|own| &own.value) != wanted.map(|wanted| &wanted.value)
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
