//! Machines of one's own: each is there once, so each claim for one names the machine, and none is named twice.

use model::{
    Claim, ObjectName, Operator, Quantity, names,
    place::{ClaimPlanned, InstanceType, NodeStage, NodeThere, OfferingRef, Placing, PodToPlace, Scene},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Situation, nominations::as_bound};

const POWER: &str = "power";

/// A claim that is to have one machine and no other.
pub(super) struct Pin {
    pub planned: ClaimPlanned,
    machine: String,
}

/// Machines that claims have, or were made for, are nobody else's.
pub(crate) fn take_from_racks(scene: &mut Scene, situation: &Situation) {
    let taken: BTreeSet<&str> = situation.claims.iter().filter_map(machine_of).collect();
    for name in taken {
        take(scene, &racks(situation), name);
    }
}

/// Claims of racks that get the machine they would like best, each a machine of its own. The others are placed anew when those
/// are gone: what is left may hold several of their pods.
pub(super) fn pin(scene: &Scene, situation: &Situation, placing: &Placing) -> Vec<Pin> {
    let mut used: BTreeSet<&str> = BTreeSet::new();
    let mut pins = vec![];
    for planned in &placing.claims {
        if situation.pools.get(planned.pool).is_none_or(|pool| pool.provider != POWER) {
            continue;
        }
        let Some(best) = planned.offerings.first() else { continue };
        let alike = |one: &&OfferingRef| is_alike(scene, planned, one, best);
        let free = planned.offerings.iter().filter(alike).find_map(|one| {
            let machine = type_of(scene, planned, one)?;
            (!used.contains(machine.name.as_str())).then_some((*one, machine.name.as_str()))
        });
        if let Some((offering, machine)) = free {
            used.insert(machine);
            let planned = ClaimPlanned { offerings: Arc::from([offering]), ..planned.clone() };
            pins.push(Pin { planned, machine: machine.to_owned() });
        }
    }
    pins
}

/// The machines are on their way, with the pods that they are for.
pub(super) fn give(scene: &mut Scene, pins: Vec<Pin>) {
    let mut gone: BTreeMap<usize, usize> = BTreeMap::new();
    for Pin { planned, machine } in pins {
        let Some(node) = in_flight(scene, &planned, &machine) else { continue };
        let at = scene.nodes.len();
        if let Some(pool) = scene.pools.get_mut(planned.pool) {
            let nodes = pool.used.entry("nodes".to_owned()).or_default();
            *nodes = Quantity::from_thousandths(nodes.thousandths() + 1000);
            for (name, amount) in &node.promised {
                let used = pool.used.entry(name.clone()).or_default();
                *used = Quantity::from_thousandths(used.thousandths().saturating_add(amount.thousandths()));
            }
        }
        scene.nodes.push(node);
        gone.extend(planned.pods.iter().map(|pod| (*pod, at)));
        let all: Vec<usize> = (0..scene.catalogues.len()).collect();
        take(scene, &all, &machine);
    }
    let pods: Vec<PodToPlace> = core::mem::take(&mut scene.pods);
    for (index, pod) in pods.into_iter().enumerate() {
        match gone.get(&index) {
            Some(node) => scene.bound.push(as_bound(&pod, *node)),
            None => scene.pods.push(pod),
        }
    }
}

fn in_flight(scene: &Scene, planned: &ClaimPlanned, machine: &str) -> Option<NodeThere> {
    let pool = scene.pools.get(planned.pool)?;
    let shape = planned.offerings.first().and_then(|offering| type_of(scene, planned, offering))?;
    let mut labels = planned.labels.clone();
    labels.insert(names::INSTANCE_TYPE.to_owned(), machine.to_owned());
    Some(NodeThere {
        name: ObjectName::new(machine).ok()?,
        stage: NodeStage::InFlight,
        labels,
        taints: pool.taints.clone(),
        startup_taints: pool.startup_taints.clone(),
        allocatable: shape.allocatable.clone(),
        promised: shape.capacity.clone(),
        pool: Some(pool.name.clone()),
        deleting: false,
        volume_limits: shape.volume_limits.clone(),
    })
}

/// The machine that a claim of a rack has, or asks for by name.
fn machine_of(claim: &Claim) -> Option<&str> {
    if claim.class.kind != "PowerNodeClass" {
        return None;
    }
    let chosen = claim.record().map(|record| record.offering.id.instance_type.as_str());
    let asked = claim.requirements.iter().find(|one| one.key == names::INSTANCE_TYPE && one.operator == Operator::In);
    chosen.or_else(|| match asked?.values.as_slice() {
        [one] => Some(one),
        _ => None,
    })
}

fn racks(situation: &Situation) -> Vec<usize> {
    let of_pools = situation.pools.iter().zip(&situation.scene.pools);
    of_pools.filter(|(facts, _)| facts.provider == POWER).map(|(_, pool)| pool.catalogue).collect()
}

fn take(scene: &mut Scene, catalogues: &[usize], machine: &str) {
    for at in catalogues {
        let types = scene.catalogues.get_mut(*at).map(|catalogue| catalogue.types.as_mut_slice());
        for known in types.unwrap_or_default().iter_mut().filter(|known| known.name == machine) {
            known.offerings.iter_mut().for_each(|offered| offered.available = false);
        }
    }
}

fn type_of<'a>(scene: &'a Scene, planned: &ClaimPlanned, offering: &OfferingRef) -> Option<&'a InstanceType> {
    let pool = scene.pools.get(planned.pool)?;
    scene.catalogues.get(pool.catalogue)?.types.get(usize::try_from(offering.instance_type).ok()?)
}

/// Machines of one size and price are as good as each other.
fn is_alike(scene: &Scene, planned: &ClaimPlanned, one: &OfferingRef, other: &OfferingRef) -> bool {
    let shape = |offering: &OfferingRef| {
        let machine = type_of(scene, planned, offering)?;
        let offered = machine.offerings.get(usize::try_from(offering.offering).ok()?)?;
        Some((&machine.allocatable, offered.price))
    };
    shape(one) == shape(other)
}
