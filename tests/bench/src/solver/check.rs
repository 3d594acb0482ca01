//! Whether a fast answer is a right one. Plain loops over the scene and the answer; an answer that fails here has no time worth telling.

use std::collections::{BTreeMap, BTreeSet};

use model::place::{ClaimPlanned, Placing, PodToPlace, Scene, Where};
use model::{Resources, names};

use crate::Result;

/// Every pod has a place, and every type that a claim lists holds all its pods.
pub fn capacity(scene: &Scene, placing: &Placing) -> Result<()> {
    if let Some(why) = placing.pods.iter().find_map(|on| match on {
        Where::Nowhere(why) => Some(why),
        Where::Node(_) | Where::Claim(_) => None,
    }) {
        return Err(format!("a pod has no place: {}", why.reason).into());
    }
    let listed: usize = placing.claims.iter().map(|claim| claim.pods.len()).sum();
    if listed != scene.pods.len() {
        return Err(format!("claims list {listed} pods of {}", scene.pods.len()).into());
    }
    for claim in &placing.claims {
        let mut sum: BTreeMap<&str, i128> = BTreeMap::from([("pods", 1000 * claim.pods.len() as i128)]);
        for pod in pods(scene, claim) {
            for (name, amount) in pod.requests.iter().filter(|(name, _)| !is_share(scene, name)) {
                *sum.entry(name).or_default() += amount.thousandths();
            }
        }
        for kind in types(scene, claim) {
            if let Some((name, _)) = sum.iter().find(|(name, amount)| **amount > has(kind, name)) {
                return Err(format!("{} is too small a type for {} in {name}", claim.name, claim.pods.len()).into());
            }
        }
    }
    Ok(())
}

/// The rules of the benchmark's pods: who must be apart, together, or spread. For spread there must be an order in which the pods
/// could have come: those that share a constraint and count for it may not pass the least domain by more than the skew, which is 1.
pub fn mix(scene: &Scene, placing: &Placing) -> Result<()> {
    capacity(scene, placing)?;
    let mut all: Counts<'_> = BTreeMap::new();
    let mut sharing: Counts<'_> = BTreeMap::new();
    let mut homes: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for claim in &placing.claims {
        let zones = zones(scene, claim);
        let mut on_host: BTreeMap<&str, u32> = BTreeMap::new();
        let mut apart = 0;
        for pod in pods(scene, claim) {
            apart += usize::from(!pod.anti_affinity.is_empty());
            let by_zone = spread_by(pod, names::ZONE);
            if (by_zone.is_some() || !pod.affinity.is_empty()) && zones.len() != 1 {
                return Err(format!("{} leaves its zone open to a pod that needs to know it", claim.name).into());
            }
            if let Some(label) = pod.labels.get("my-label") {
                for zone in &zones {
                    *all.entry(label).or_default().entry(zone).or_default() += 1;
                    *sharing.entry(label).or_default().entry(zone).or_default() +=
                        u32::from(by_zone == Some(label.as_str()));
                }
                *on_host.entry(label).or_default() +=
                    u32::from(spread_by(pod, names::HOSTNAME) == Some(label.as_str()));
            }
            if let Some(group) = pod.labels.get("my-affininity") {
                homes.entry(group).or_default().extend(&zones);
            }
        }
        if apart > 1 || on_host.values().any(|count| *count > 1) {
            return Err(format!("{} holds pods that must not share a host", claim.name).into());
        }
    }
    if let Some((group, _)) = homes.iter().find(|(_, zones)| zones.len() != 1) {
        return Err(format!("the pods of group {group} are not in one zone").into());
    }
    for (label, counts) in &sharing {
        let least = all.get(label).and_then(|all| all.values().min()).copied().unwrap_or(0);
        if counts.values().any(|count| *count > least + 1) {
            return Err(format!("pods with label {label} are spread {counts:?}, the least is {least}").into());
        }
    }
    Ok(())
}

/// By label, then zone.
type Counts<'s> = BTreeMap<&'s str, BTreeMap<&'s str, u32>>;

/// The label that a pod's spread over a key selects.
fn spread_by<'s>(pod: &'s PodToPlace, key: &str) -> Option<&'s str> {
    let rule = pod.spread.iter().find(|rule| rule.topology_key == key)?;
    rule.selector.as_ref()?.labels.values().next().map(String::as_str)
}

/// Amounts, and shares that fit into single devices.
pub fn shares(scene: &Scene, placing: &Placing) -> Result<()> {
    capacity(scene, placing)?;
    for claim in &placing.claims {
        for parts in &scene.device_parts {
            let of = |requests: &Resources, name: &str| requests.get(name).map_or(0, |amount| amount.thousandths());
            let whole: i128 = pods(scene, claim).map(|pod| of(&pod.requests, &parts.device)).sum();
            let mut shares: Vec<i128> =
                pods(scene, claim).map(|pod| of(&pod.requests, &parts.resource)).filter(|share| *share > 0).collect();
            shares.sort_unstable_by(|left, right| right.cmp(left));
            let devices = types(scene, claim).map(|kind| has(kind, &parts.device)).min().unwrap_or(0);
            let free = usize::try_from((devices - whole) / 1000)?;
            if !fit(&shares, &mut vec![parts.per_device.thousandths(); free]) {
                return Err(format!("shares of {} do not fit into {free} devices", claim.name).into());
            }
        }
    }
    Ok(())
}

/// Whether the shares, largest first, fit into the devices, by trying.
fn fit(shares: &[i128], devices: &mut Vec<i128>) -> bool {
    let Some((first, rest)) = shares.split_first() else { return true };
    let mut tried = BTreeSet::new();
    (0..devices.len()).any(|at| {
        let left = devices[at];
        if left < *first || !tried.insert(left) {
            return false;
        }
        devices[at] -= first;
        let fits = fit(rest, devices);
        devices[at] = left;
        fits
    })
}

fn pods<'s>(scene: &'s Scene, claim: &'s ClaimPlanned) -> impl Iterator<Item = &'s PodToPlace> {
    claim.pods.iter().map(|at| &scene.pods[*at])
}

/// The types that a claim lists, each once.
fn types<'s>(scene: &'s Scene, claim: &'s ClaimPlanned) -> impl Iterator<Item = &'s Resources> {
    let all = &scene.catalogues[scene.pools[claim.pool].catalogue].types;
    let listed: BTreeSet<u32> = claim.offerings.iter().map(|of| of.instance_type).collect();
    listed.into_iter().map(|of| &all[of as usize].allocatable)
}

fn zones<'s>(scene: &'s Scene, claim: &ClaimPlanned) -> BTreeSet<&'s str> {
    let all = &scene.catalogues[scene.pools[claim.pool].catalogue].types;
    claim
        .offerings
        .iter()
        .filter_map(|of| all[of.instance_type as usize].offerings[of.offering as usize].zone.as_deref())
        .collect()
}

fn has(resources: &Resources, name: &str) -> i128 {
    resources.get(name).map_or(0, |amount| amount.thousandths())
}

fn is_share(scene: &Scene, name: &str) -> bool {
    scene.device_parts.iter().any(|parts| parts.resource == name)
}
