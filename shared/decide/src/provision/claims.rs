//! From a planned claim to the NodeClaim that is made: everything that the pool's template says, and what its pods need.

use model::{
    ClaimToMake, ClassRef, ObjectName, Offering, Quantity, Resources, Uid,
    money::amount,
    names,
    place::{ClaimPlanned, OfferingRef, Scene},
};
use std::collections::{BTreeMap, BTreeSet};

use super::{PoolFacts, Situation, naming::claim_name, purse::Purse, words};
use crate::claim::made_for_gpu_provisioner;

/// Of the pods that stand on a claim. More than a node holds; what is over finds the claim's room like any other pod.
const MOST_PODS: usize = 500;

/// Disks are made to measure, by the provider, out of these requests.
const MADE_TO_MEASURE: [&str; 2] = ["storage", "ephemeral-storage"];

/// The disk of an AKS node of which nobody says how large it is to be: AKSNodeClass has it so.
pub const USUAL_DISK_GIB: u32 = 128;

/// Makes claims whose names nobody has.
pub(crate) struct Maker<'a> {
    situation: &'a Situation,
    taken: BTreeSet<ObjectName>,
    purse: Purse,
}

impl<'a> Maker<'a> {
    pub fn new(situation: &'a Situation) -> Self {
        let taken = situation.claims.iter().map(|claim| claim.key.name.clone()).collect();
        Maker { situation, taken, purse: Purse::new(situation) }
    }

    /// An error says why there is no money for it; or that its pool is not there, which no answer of ours has.
    pub fn make(&mut self, scene: &Scene, planned: &ClaimPlanned) -> Result<ClaimToMake, String> {
        let (Some(facts), Some(pool)) = (self.situation.pools.get(planned.pool), scene.pools.get(planned.pool)) else {
            return Err("its pool is not there".to_owned());
        };
        let mut requirements = planned.all_requirements(scene);
        let of_class = class_label(&facts.class);
        // The class is named by the claim itself; no machine has such a label of its own.
        requirements.retain(|one| may_be_required(&one.requirement.key) && one.requirement.key != of_class);
        let pods: Vec<&Uid> = planned.pods.iter().filter_map(|at| scene.pods.get(*at)).map(|pod| &pod.uid).collect();
        let offerings = offerings(scene, planned, facts);
        if let Some(why) = self.purse.refuses(planned.pool, &offerings) {
            return Err(why);
        }
        let name = claim_name(&pool.name, &pods, &requirements, &self.taken);
        self.taken.insert(name.clone());
        Ok(ClaimToMake {
            owner: facts.owner.clone(),
            labels: labels(planned, &facts.class),
            annotations: self.annotations(facts, planned, &pods, &offerings),
            class: facts.class.clone(),
            requests: requests(planned, &facts.class, &offerings),
            requirements,
            taints: pool.taints.clone(),
            startup_taints: pool.startup_taints.clone(),
            expire_after: facts.expire_after.clone(),
            termination_grace_period: facts.termination_grace_period.clone(),
            name,
        })
    }

    fn annotations(
        &self,
        facts: &PoolFacts,
        planned: &ClaimPlanned,
        pods: &[&Uid],
        offerings: &[&Offering],
    ) -> BTreeMap<String, String> {
        let mut annotations = facts.annotations.clone();
        let pods: Vec<&str> = pods.iter().take(MOST_PODS).map(|uid| uid.as_str()).collect();
        annotations.insert(names::PODS.to_owned(), pods.join(","));
        let minutes = words::minutes_to_ready(&self.situation.claims, facts);
        annotations.insert(names::EXPECTED.to_owned(), words::expected(offerings, minutes));
        let is_counted = facts.allowance.cluster.is_some() || facts.allowance.pool.is_some();
        if let Some(price) = offerings.first().and_then(|first| first.price.as_ref()).filter(|_| is_counted) {
            let text = format!("{} {}", amount(price.millionths_per_hour), price.currency);
            annotations.insert(names::EXPECTED_PRICE.to_owned(), text);
        }
        if planned.min_values_relaxed {
            annotations.insert(names::MIN_VALUES_RELAXED.to_owned(), "true".to_owned());
        }
        annotations
    }
}

/// A claim may not ask for a host, nor for labels that Karpenter keeps for itself.
fn may_be_required(key: &str) -> bool {
    let reserved = key.split('/').next().is_some_and(|domain| domain.ends_with("karpenter.sh"));
    key != names::HOSTNAME && (!reserved || [names::CAPACITY_TYPE, names::NODE_POOL].contains(&key))
}

/// With the one that names its class, as Karpenter has it: `karpenter.azure.com/aksnodeclass: default`.
fn labels(planned: &ClaimPlanned, class: &ClassRef) -> BTreeMap<String, String> {
    let mut labels = planned.labels.clone();
    labels.remove(names::HOSTNAME);
    labels.insert(class_label(class), class.name.to_string());
    labels
}

fn class_label(class: &ClassRef) -> String {
    format!("{}/{}", class.group, class.kind.to_ascii_lowercase())
}

/// What its pods ask for, as far as anybody lists it: what nobody lists (the processors of a machine that only says how many
/// GPUs it has) nobody could promise.
fn requests(planned: &ClaimPlanned, class: &ClassRef, offerings: &[&Offering]) -> Resources {
    let listed = |name: &String| {
        MADE_TO_MEASURE.contains(&name.as_str()) || offerings.iter().any(|one| one.capacity.contains_key(name))
    };
    let own = planned.requests.iter().filter(|(name, _)| listed(name));
    let mut own: Resources = own.map(|(name, amount)| (name.clone(), *amount)).collect();
    // gpu-provisioner makes no machine without a word about its disk, reads no class that could say it, and pods say nothing.
    if made_for_gpu_provisioner(class, &planned.labels) && !MADE_TO_MEASURE.iter().any(|name| own.contains_key(*name)) {
        let bytes = i128::from(USUAL_DISK_GIB) << 30;
        own.insert("storage".to_owned(), Quantity::from_thousandths(bytes * 1000));
    }
    own
}

/// What stands behind its offerings, in their order.
fn offerings<'a>(scene: &Scene, planned: &ClaimPlanned, facts: &'a PoolFacts) -> Vec<&'a Offering> {
    let types = scene.pools.get(planned.pool).and_then(|pool| scene.catalogues.get(pool.catalogue));
    let types = types.map(|catalogue| catalogue.types.as_slice()).unwrap_or_default();
    let behind = |at: &OfferingRef| {
        let shape = types.get(usize::try_from(at.instance_type).ok()?)?;
        let offered = shape.offerings.get(usize::try_from(at.offering).ok()?)?;
        let is_it = |one: &&Offering| {
            one.id.instance_type == shape.name
                && one.labels.get(names::ZONE).or(one.id.zone.as_ref()) == offered.zone.as_ref()
                && one.id.capacity_type == offered.capacity_type
        };
        facts.offerings.iter().find(is_it)
    };
    planned.offerings.iter().filter_map(behind).collect()
}
