//! A claim that has no node yet: what it will be, from what is known of it.
//!
//! Its status says it; before that the launch record does; before that the claim is nothing but requirements, and the cheapest
//! offering that keeps them is what will be tried first.

use decide::requirement::{Allowed, Requirements};
use model::{
    Claim, Operator, Requirement, Resources, names,
    place::{Catalogue, InstanceType, Offered},
};
use std::collections::BTreeMap;

use super::SceneSource;

pub(super) struct Launched {
    pub labels: BTreeMap<String, String>,
    pub capacity: Resources,
    pub allocatable: Resources,
    pub volume_limits: BTreeMap<String, u32>,
}

/// The error is why it counts for nothing.
pub(super) fn launched(source: &SceneSource, claim: &Claim) -> Result<Launched, String> {
    let mut labels = labels(claim);
    let status = &claim.status;
    if !status.capacity.is_empty() || !status.allocatable.is_empty() {
        let or = |first: &Resources, other: &Resources| if first.is_empty() { other.clone() } else { first.clone() };
        let volume_limits = known_type(source, &labels).map(|found| found.volume_limits.clone()).unwrap_or_default();
        return Ok(Launched {
            labels,
            capacity: or(&status.capacity, &status.allocatable),
            allocatable: or(&status.allocatable, &status.capacity),
            volume_limits,
        });
    }
    if let Some(record) = claim.record().filter(|record| !record.is_spent()) {
        let offering = &record.offering;
        for (key, value) in &offering.labels {
            labels.entry(key.clone()).or_insert_with(|| value.clone());
        }
        return Ok(Launched {
            labels,
            capacity: offering.capacity.clone(),
            allocatable: offering.capacity.clone(),
            volume_limits: BTreeMap::new(),
        });
    }
    let (found, offered) = cheapest(source, claim)
        .ok_or("it is not launched, and nothing that can be had now suits it: it counts for nothing")?;
    for (key, value) in labels_of(found, offered) {
        labels.entry(key).or_insert(value);
    }
    Ok(Launched {
        labels,
        capacity: found.capacity.clone(),
        allocatable: found.allocatable.clone(),
        volume_limits: found.volume_limits.clone(),
    })
}

/// Its own, and every requirement that leaves one value.
pub(super) fn labels(claim: &Claim) -> BTreeMap<String, String> {
    let mut labels = claim.labels.clone();
    for (key, allowed) in Requirements::new(&claim.requirements).iter() {
        if let (Some([value]), false) = (allowed.listed(), allowed.allows_absent()) {
            labels.entry(key.to_owned()).or_insert_with(|| (*value).to_owned());
        }
    }
    labels
}

/// Those of its pool; a claim of no pool may be of any.
fn catalogues<'a>(source: &'a SceneSource, labels: &BTreeMap<String, String>) -> Vec<&'a Catalogue> {
    let name = labels.get(names::NODE_POOL);
    let pool = source.pools.iter().find(|one| name.is_some() && one.pool.metadata.name.as_ref() == name);
    match pool.map(|one| &one.catalogue) {
        Some(Ok(at)) => source.catalogues.get(*at).into_iter().collect(),
        Some(Err(_)) => vec![],
        None => source.catalogues.iter().collect(),
    }
}

fn known_type<'a>(source: &'a SceneSource, labels: &BTreeMap<String, String>) -> Option<&'a InstanceType> {
    let name = labels.get(names::INSTANCE_TYPE)?;
    catalogues(source, labels).into_iter().flat_map(|one| &one.types).find(|one| one.name == *name)
}

fn cheapest<'a>(source: &'a SceneSource, claim: &Claim) -> Option<(&'a InstanceType, &'a Offered)> {
    let as_required = |(key, value): (&String, &String)| Requirement {
        key: key.clone(),
        operator: Operator::In,
        values: vec![value.clone()],
    };
    let own: Vec<Requirement> = claim.labels.iter().map(as_required).collect();
    let mut required = Requirements::new(&claim.requirements);
    required.require_all(&Requirements::new(&own));
    let mut best: Option<(&InstanceType, &Offered)> = None;
    for found in catalogues(source, &claim.labels).into_iter().flat_map(|catalogue| &catalogue.types) {
        if !fits(&claim.requests, &found.allocatable) || !Requirements::new(&found.requirements).intersects(&required) {
            continue;
        }
        for offered in found.offerings.iter().filter(|offered| offered.available && suits(found, offered, &required)) {
            let price = |of: &Offered| of.price.unwrap_or(u64::MAX);
            if best.is_none_or(|(_, other)| price(offered) < price(other)) {
                best = Some((found, offered));
            }
        }
    }
    best
}

fn fits(requests: &Resources, allocatable: &Resources) -> bool {
    requests.iter().all(|(name, amount)| *amount <= allocatable.get(name).copied().unwrap_or_default())
}

/// Whether name, zone, capacity type and its own labels keep what is required. The machine's other labels were looked at.
fn suits(found: &InstanceType, offered: &Offered, required: &Requirements<'_>) -> bool {
    let has = |key: &str, value: Option<&str>| {
        required.on(key).is_none_or(|allowed: &Allowed<'_>| match value {
            Some(value) => allowed.has(value),
            None => allowed.allows_absent(),
        })
    };
    has(names::INSTANCE_TYPE, Some(&found.name))
        && has(names::ZONE, offered.zone.as_deref())
        && has(names::CAPACITY_TYPE, Some(offered.capacity_type.as_str()))
        && Requirements::new(&offered.requirements).intersects(required)
}

fn labels_of(found: &InstanceType, offered: &Offered) -> Vec<(String, String)> {
    let mut labels = vec![
        (names::INSTANCE_TYPE.to_owned(), found.name.clone()),
        (names::CAPACITY_TYPE.to_owned(), offered.capacity_type.as_str().to_owned()),
    ];
    labels.extend(offered.zone.clone().map(|zone| (names::ZONE.to_owned(), zone)));
    let single = |one: &Requirement| match (one.operator, one.values.as_slice()) {
        (Operator::In, [value]) => Some((one.key.clone(), value.clone())),
        _ => None,
    };
    labels.extend(offered.requirements.iter().chain(&found.requirements).filter_map(single));
    labels
}
