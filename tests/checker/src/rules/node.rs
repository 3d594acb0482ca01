//! What a pod demands of its node by itself: taints, selectors, required affinity, ports, volumes. On a claim, every node that may
//! come of it has to do.

use std::collections::{BTreeMap, BTreeSet};

use crate::cluster::PodFacts;
use crate::daemons;
use crate::placement::{Place, Placement};
use crate::pods::untolerated;
use crate::{Rule, Violation};

pub fn check(placement: &Placement<'_>, found: &mut Vec<Violation>) {
    for (_, pod, index) in placement.moves() {
        let place = &placement.places[index];
        let (who, wherever) = (&pod.name, place.name());
        if matches!(place, Place::Machine(machine) if machine.leaving) {
            found.push(Violation::of(Rule::Answer, format!("{who} is sent to {wherever}, which is being deleted")));
        }
        if let Some(taint) = untolerated(&pod.pod, place.taints()) {
            let taint = format!("{}={}:{}", taint.key, taint.value.as_deref().unwrap_or_default(), taint.effect);
            found.push(Violation::of(Rule::Taints, format!("{who} does not tolerate {taint} of {wherever}")));
        }
        if let Some(case) = place.refuses(&pod.demand) {
            let message = format!("{who} does not accept the labels of {wherever}: {case}");
            found.push(Violation::of(Rule::NodeAffinity, message));
        }
        match placement.cluster.volumes.demands(&pod.pod) {
            Err(why) => found.push(Violation::of(Rule::Volumes, format!("{who} is sent to {wherever}, but {why}"))),
            Ok(demands) => {
                for case in demands.iter().filter_map(|demand| place.refuses(demand)) {
                    let message = format!("a volume of {who} cannot be on {wherever}: {case}");
                    found.push(Violation::of(Rule::Volumes, message));
                }
            }
        }
    }
    for index in 0..placement.places.len() {
        if placement.arrivals(index).next().is_some() {
            ports(placement, index, found);
            attachments(placement, index, found);
        }
    }
}

fn ports(placement: &Placement<'_>, index: usize, found: &mut Vec<Violation>) {
    let place = &placement.places[index];
    let pods: Vec<(&PodFacts, bool)> =
        placement.on[index].iter().map(|pod| (placement.pod(*pod), placement.moved[*pod])).collect();
    let mut taken: Vec<(&PodFacts, bool)> = pods.into_iter().filter(|(pod, _)| !pod.ports.is_empty()).collect();
    if taken.is_empty() {
        return;
    }
    if let Place::Fresh(fresh) = place {
        let mut seen = BTreeSet::new();
        for daemon in fresh.nodes().flat_map(|node| daemons::on_fresh(placement.cluster, fresh, node)) {
            if !daemon.ports.is_empty() && seen.insert(daemon.name.as_str()) {
                taken.push((daemon, false));
            }
        }
    }
    for (position, (one, arrives)) in taken.iter().enumerate() {
        for (other, follows) in &taken[position + 1..] {
            let clash = one.ports.iter().find(|port| other.ports.iter().any(|theirs| port.conflicts(theirs)));
            if let (true, Some(port)) = (*arrives || *follows, clash) {
                let message = format!(
                    "{} and {} both want port {}/{} of {}",
                    one.name,
                    other.name,
                    port.port,
                    port.protocol,
                    place.name()
                );
                found.push(Violation::of(Rule::HostPorts, message));
            }
        }
    }
}

/// Whether a node can attach what one more pod needs.
pub fn can_attach(placement: &Placement<'_>, index: usize, pod: &PodFacts) -> bool {
    let Place::Machine(machine) = &placement.places[index] else { return true };
    let volumes = &placement.cluster.volumes;
    let all = placement.on[index].iter().map(|there| placement.pod(*there)).chain([pod]);
    let mut by_driver: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (driver, claim) in all.flat_map(|pod| volumes.attachments(&pod.pod)) {
        by_driver.entry(driver).or_default().insert(claim);
    }
    by_driver
        .iter()
        .all(|(driver, claims)| machine.volume_limits.get(driver).is_none_or(|limit| claims.len() <= *limit))
}

fn attachments(placement: &Placement<'_>, index: usize, found: &mut Vec<Violation>) {
    let Place::Machine(machine) = &placement.places[index] else { return };
    if machine.volume_limits.is_empty() {
        return;
    }
    let mut by_driver: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut arriving: BTreeSet<String> = BTreeSet::new();
    for pod in &placement.on[index] {
        for (driver, claim) in placement.cluster.volumes.attachments(&placement.pod(*pod).pod) {
            if placement.moved[*pod] {
                arriving.insert(driver.clone());
            }
            by_driver.entry(driver).or_default().insert(claim);
        }
    }
    for (driver, claims) in by_driver {
        let Some(limit) = machine.volume_limits.get(&driver).copied() else { continue };
        if claims.len() > limit && arriving.contains(&driver) {
            let message = format!("{} can attach {limit} volumes of {driver}, not {}", machine.place, claims.len());
            found.push(Violation::of(Rule::Volumes, message));
        }
    }
}
