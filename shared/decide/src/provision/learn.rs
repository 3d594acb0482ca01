//! What nodes of a type really have for pods: less than the type promises, for the system keeps some of it. Nodes that are there tell.

use model::{
    Quantity, Resources, names,
    place::{NodeStage, Scene},
};
use std::collections::BTreeMap;

/// Lowers what each type has to the least that a node of it has. Without this, a pod that just does not fit would get one node
/// after the other.
pub(crate) fn learn(scene: &mut Scene) {
    let mut least: BTreeMap<&str, Resources> = BTreeMap::new();
    for node in scene.nodes.iter().filter(|node| node.stage == NodeStage::Initialized) {
        let Some(instance_type) = node.labels.get(names::INSTANCE_TYPE) else { continue };
        let known = least.entry(instance_type).or_default();
        for (name, amount) in &node.allocatable {
            let own = known.entry(name.clone()).or_insert(*amount);
            *own = (*own).min(*amount);
        }
    }
    for shape in scene.catalogues.iter_mut().flat_map(|catalogue| &mut catalogue.types) {
        let Some(known) = least.get(shape.name.as_str()) else { continue };
        for (name, amount) in shape.allocatable.iter_mut() {
            // A device that one node lacks at the moment is not lacking on all of them.
            if let Some(seen) = known.get(name).filter(|seen| **seen > Quantity::default()) {
                *amount = (*amount).min(*seen);
            }
        }
    }
}
