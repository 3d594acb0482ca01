//! Which label keys matter in a scene, and all their values. What no rule names is left out, which is most of it.

use model::place::{NodeTerm, PodToPlace, Scene};
use model::{CapacityType, Operator, Requirement, names};
use std::collections::BTreeMap;

use super::needs::{NeedId, Needs, of_requirements};
use super::reserved;
use super::shapes::Shape;
use super::words::{HOST, Key, Words};

/// Every key that a rule names, with the values that rules, offerings and nodes have of it; and which keys are topology keys.
pub fn words<'a>(scene: &'a Scene, shapes: &[Shape<'a>]) -> (Words<'a>, Vec<Key>) {
    let mut words = Words::new();
    let pool_key = words.learn_key(names::NODE_POOL);
    for pool in &scene.pools {
        words.learn(pool_key, pool.name.as_str());
        labels(&mut words, &pool.labels);
        requirements(&mut words, pool.requirements.iter().map(|of| &of.requirement));
    }
    for daemon in &scene.daemons {
        labels(&mut words, &daemon.node_selector);
        terms(&mut words, &daemon.node_affinity);
    }
    for quota in &scene.quotas {
        requirements(&mut words, &quota.counts);
    }
    let mut slots = vec![];
    for shape in shapes {
        of_pod(&mut words, shape.example, &mut slots);
    }
    let averse = scene.bound.iter().flat_map(|pod| &pod.anti_affinity).map(|term| term.topology_key.as_str());
    let by_default = scene.default_spread.iter().map(|spread| spread.topology_key.as_str());
    averse.chain(by_default).for_each(|key| slot(&mut words, key, &mut slots));
    if has_reservations(scene) {
        [names::INSTANCE_TYPE, names::ZONE].into_iter().for_each(|key| _ = words.learn_key(key));
    }
    let taints_spot = scene.pools.iter().any(|pool| !pool.spot_taints.is_empty());
    if has_reservations(scene) || !scene.quotas.is_empty() || taints_spot {
        let key = words.learn_key(names::CAPACITY_TYPE);
        CAPACITY_TYPES.into_iter().for_each(|of| _ = words.learn(key, of.as_str()));
    }
    of_catalogues(&mut words, scene);
    for node in &scene.nodes {
        known_labels(&mut words, &node.labels);
    }
    (words, slots)
}

/// The ways of buying that are tried one after the other, so that a limit on one of them leaves the others: each reservation, so that
/// no claim holds two, then all else, then each capacity type by itself. Without such limits, all together.
pub fn ways_to_buy(scene: &Scene, words: &Words<'_>, needs: &mut Needs) -> Vec<NeedId> {
    let reserved = reserved::all(scene, words);
    let mut ways: Vec<NeedId> = reserved.into_iter().flat_map(|of| of.blocks).map(|block| needs.id(block)).collect();
    let mut way = |operator: Operator, of: CapacityType| {
        let requirement =
            Requirement { key: names::CAPACITY_TYPE.to_owned(), operator, values: vec![of.as_str().to_owned()] };
        needs.id(of_requirements([&requirement], words))
    };
    ways.push(if ways.is_empty() { 0 } else { way(Operator::NotIn, CapacityType::Reserved) });
    if !scene.quotas.is_empty() {
        ways.extend(CAPACITY_TYPES.map(|of| way(Operator::In, of)));
    }
    ways
}

/// Anything but a spot machine.
pub fn not_spot(words: &Words<'_>, needs: &mut Needs) -> NeedId {
    let values = vec![CapacityType::Spot.as_str().to_owned()];
    let requirement = Requirement { key: names::CAPACITY_TYPE.to_owned(), operator: Operator::NotIn, values };
    needs.id(of_requirements([&requirement], words))
}

const CAPACITY_TYPES: [CapacityType; 3] = [CapacityType::Reserved, CapacityType::Spot, CapacityType::OnDemand];

fn has_reservations(scene: &Scene) -> bool {
    let mut offerings = scene.catalogues.iter().flat_map(|catalogue| &catalogue.types).flat_map(|of| &of.offerings);
    offerings.any(|offered| offered.reservation.is_some())
}

fn of_pod<'a>(words: &mut Words<'a>, pod: &'a PodToPlace, slots: &mut Vec<Key>) {
    labels(words, &pod.node_selector);
    terms(words, &pod.node_affinity);
    terms(words, pod.preferred_node_affinity.iter().map(|wish| &wish.term));
    requirements(words, pod.volumes.iter().flat_map(|volume| volume.alternatives.iter().flatten()));
    let required = pod.affinity.iter().chain(&pod.anti_affinity);
    let preferred = pod.preferred_affinity.iter().chain(&pod.preferred_anti_affinity).map(|wish| &wish.term);
    required.chain(preferred).for_each(|term| slot(words, &term.topology_key, slots));
    pod.spread.iter().for_each(|spread| slot(words, &spread.topology_key, slots));
}

fn slot<'a>(words: &mut Words<'a>, key: &'a str, slots: &mut Vec<Key>) {
    let key = words.learn_key(key);
    if key != HOST && !slots.contains(&key) {
        slots.push(key);
    }
}

fn labels<'a>(words: &mut Words<'a>, labels: impl IntoIterator<Item = (&'a String, &'a String)>) {
    for (key, value) in labels {
        let key = words.learn_key(key);
        words.learn(key, value);
    }
}

/// The values of keys that are known already.
fn known_labels<'a>(words: &mut Words<'a>, labels: &'a BTreeMap<String, String>) {
    for (key, value) in labels {
        // Hostnames are learnt from rules alone: nodes whose name nobody asks for need not be told apart.
        if let Some(key) = words.key(key).filter(|key| *key != HOST) {
            words.learn(key, value);
        }
    }
}

fn terms<'a>(words: &mut Words<'a>, terms: impl IntoIterator<Item = &'a NodeTerm>) {
    for term in terms {
        requirements(words, &term.expressions);
    }
}

fn requirements<'a>(words: &mut Words<'a>, requirements: impl IntoIterator<Item = &'a Requirement>) {
    for requirement in requirements {
        let key = words.learn_key(&requirement.key);
        for value in &requirement.values {
            words.learn(key, value);
        }
    }
}

fn of_catalogues<'a>(words: &mut Words<'a>, scene: &'a Scene) {
    let [name, zone, capacity_type] =
        [names::INSTANCE_TYPE, names::ZONE, names::CAPACITY_TYPE].map(|key| words.key(key));
    let mut learn = |key: Option<Key>, value: &'a str| {
        if let Some(key) = key {
            words.learn(key, value);
        }
    };
    let types = || scene.catalogues.iter().flat_map(|catalogue| &catalogue.types);
    for of in types() {
        learn(name, &of.name);
        for offered in &of.offerings {
            learn(capacity_type, offered.capacity_type.as_str());
            if let Some(value) = &offered.zone {
                learn(zone, value);
            }
        }
    }
    for of in types() {
        let stated = of.requirements.iter().chain(of.offerings.iter().flat_map(|offered| &offered.requirements));
        for requirement in stated {
            if let Some(key) = words.key(&requirement.key).filter(|key| *key != HOST) {
                for value in &requirement.values {
                    words.learn(key, value);
                }
            }
        }
    }
}
