//! Resources: what pods and DaemonSets request is there, on nodes and on every node that may come of a claim. Only resources
//! that an arriving pod requests are looked at: what was overcommitted before is not the plan's fault.

use std::collections::{BTreeMap, BTreeSet};

use crate::daemons;
use crate::fresh::Fresh;
use crate::placement::{Place, Placement};
use crate::quantity::{self, Resources, show};
use crate::{Rule, Violation};

pub fn check(placement: &Placement<'_>, found: &mut Vec<Violation>) {
    for (index, place) in placement.places.iter().enumerate() {
        let arriving = daemons::total(placement.arrivals(index));
        if arriving.is_empty() {
            continue;
        }
        match place {
            Place::Machine(machine) => {
                let mut wanted = daemons::total(placement.on[index].iter().map(|pod| placement.pod(*pod)));
                quantity::add(&mut wanted, &daemons::outstanding(placement.cluster, machine, index));
                if let Some(lack) = lacks(&arriving, &wanted, &machine.allocatable) {
                    found.push(Violation::of(Rule::Capacity, format!("{} {lack}", machine.place)));
                }
            }
            Place::Fresh(fresh) => on_fresh(placement, fresh, &arriving, found),
        }
    }
}

fn on_fresh(placement: &Placement<'_>, fresh: &Fresh<'_>, arriving: &Resources, found: &mut Vec<Violation>) {
    let mut seen = BTreeSet::new();
    for (one, offering) in fresh.nodes() {
        let daemons = daemons::on_fresh(placement.cluster, fresh, (one, offering));
        let names: Vec<&str> = daemons.iter().map(|daemon| daemon.name.as_str()).collect();
        if !seen.insert((one.name.as_str(), names)) {
            continue;
        }
        let mut wanted = daemons::total(daemons.into_iter());
        quantity::add(&mut wanted, arriving);
        if let Some(lack) = lacks(arriving, &wanted, &one.capacity) {
            let message = format!("claim/{} as {} {lack}", fresh.answer.name, one.name);
            found.push(Violation::of(Rule::Capacity, message));
            return;
        }
    }
}

/// What is not enough, in words.
pub fn lacks(arriving: &Resources, wanted: &Resources, there: &Resources) -> Option<String> {
    let short: BTreeMap<&String, (i128, i128)> = arriving
        .iter()
        .filter(|(_, amount)| **amount > 0)
        .map(|(name, _)| (name, (wanted.get(name).copied().unwrap_or(0), there.get(name).copied().unwrap_or(0))))
        .filter(|(_, (wanted, there))| wanted > there)
        .collect();
    if short.is_empty() {
        return None;
    }
    let words: Vec<String> = short
        .into_iter()
        .map(|(name, (wanted, there))| format!("has {} {name}, and {} is asked for", show(there), show(wanted)))
        .collect();
    Some(words.join("; "))
}
