//! Whether a fast decision is a right one: every pod of a node that goes has one place, and no node gets more than it holds.

use std::collections::{BTreeMap, BTreeSet};

use decide::disruption::Situation;
use model::disruption::{Decision, To};

use crate::Result;

pub fn decision(situation: &Situation, decision: &Decision) -> Result<()> {
    let scene = &situation.provision.scene;
    let gone: BTreeSet<&str> =
        decision.disruptions.iter().flat_map(|one| &one.nodes).map(|one| one.node.as_str()).collect();
    if gone.len() + decision.kept.len() != scene.nodes.len() {
        return Err("a node neither goes nor stays".into());
    }
    let by_name: BTreeMap<&str, usize> =
        scene.bound.iter().enumerate().map(|(at, pod)| (pod.name.as_str(), at)).collect();
    let mut on: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut moved: BTreeSet<usize> = BTreeSet::new();
    for (number, one) in decision.disruptions.iter().enumerate() {
        if one.saves <= 0 {
            return Err(format!("a command saves {}", one.saves).into());
        }
        for step in &one.moves {
            let Some(pod) = by_name.get(step.pod.name.as_str()) else {
                return Err("a pod that is not there moves".into());
            };
            if !moved.insert(*pod) || !gone.contains(step.from.as_str()) {
                return Err(format!("{} moves twice, or without need", step.pod.name).into());
            }
            let to = match &step.to {
                To::Node(node) if !gone.contains(node.as_str()) => node.to_string(),
                To::Replacement(at) => format!("new {number} {at}"),
                To::Node(_) | To::Later => return Err(format!("{} goes where nothing is", step.pod.name).into()),
            };
            on.entry(to).or_default().push(*pod);
        }
    }
    let mut room: BTreeMap<String, &model::Resources> = BTreeMap::new();
    for (at, node) in scene.nodes.iter().enumerate().filter(|(_, node)| !gone.contains(node.name.as_str())) {
        room.insert(node.name.to_string(), &node.allocatable);
        let own = scene.bound.iter().enumerate().filter(|(_, pod)| pod.node == at).map(|(pod, _)| pod);
        on.entry(node.name.to_string()).or_default().extend(own);
    }
    for (number, one) in decision.disruptions.iter().enumerate() {
        for (at, new) in one.replacements.iter().enumerate() {
            let of = new.planned.offerings.iter().map(|of| &scene.catalogues[0].types[of.instance_type as usize]);
            let Some(smallest) = of.min_by_key(|of| of.allocatable.get("cpu").copied()) else {
                return Err("a replacement lists nothing".into());
            };
            room.insert(format!("new {number} {at}"), &smallest.allocatable);
        }
    }
    let stood: usize = on.values().map(Vec::len).sum();
    if stood != scene.bound.len() {
        return Err(format!("{stood} of {} pods have a place", scene.bound.len()).into());
    }
    for (place, pods) in &on {
        for name in ["cpu", "memory"] {
            let used: i128 = pods.iter().map(|pod| scene.bound[*pod].requests[name].thousandths()).sum();
            let has = room.get(place).and_then(|has| has.get(name)).map_or(0, |has| has.thousandths());
            if used > has {
                return Err(format!("{place} has {used} of {name} and holds {has}").into());
            }
        }
    }
    Ok(())
}
