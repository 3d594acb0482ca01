//! Reservations: which offerings draw on each of them, in words that tell one from the other.

use model::place::Scene;
use model::{CapacityType, Operator, Requirement, names};
use std::collections::{BTreeMap, BTreeSet};

use super::needs::{Need, of_requirements};
use super::words::Words;

/// A type in a zone: all that a claim can say of a reserved offering.
type Cell<'a> = (&'a str, Option<&'a str>);

/// Machines that were paid for in advance.
pub struct Reserved {
    pub name: String,
    pub left: u32,
    /// What draws on it: one of these is kept.
    pub blocks: Vec<Need>,
}

/// Every reservation, the cheapest first. Those that a claim cannot tell apart count together.
pub fn all(scene: &Scene, words: &Words<'_>) -> Vec<Reserved> {
    let mut by_id: BTreeMap<&str, (u32, u64, BTreeSet<Cell<'_>>)> = BTreeMap::new();
    for of in scene.catalogues.iter().flat_map(|catalogue| &catalogue.types) {
        for offered in &of.offerings {
            let Some(reservation) = &offered.reservation else { continue };
            let price = offered.price.unwrap_or(u64::MAX);
            let known = by_id.entry(&reservation.id).or_insert((reservation.left, price, BTreeSet::new()));
            known.1 = known.1.min(price);
            known.2.insert((&of.name, offered.zone.as_deref()));
        }
    }
    let mut alike: BTreeMap<BTreeSet<Cell<'_>>, (u64, Vec<&str>, u32)> = BTreeMap::new();
    for (id, (left, price, cells)) in by_id {
        let known = alike.entry(cells).or_insert((price, vec![], 0));
        known.0 = known.0.min(price);
        known.1.push(id);
        known.2 += left;
    }
    let mut sorted: Vec<_> = alike.into_iter().collect();
    sorted.sort_by_key(|(_, (price, ids, _))| (*price, ids.clone()));
    let reserved = |(cells, (_, ids, left)): (BTreeSet<Cell<'_>>, (u64, Vec<&str>, u32))| Reserved {
        name: format!("reservation {}", ids.join(" and ")),
        left,
        blocks: blocks(&cells).into_iter().map(|(types, zones)| need(types, zones, words)).collect(),
    };
    sorted.into_iter().map(reserved).collect()
}

/// One block if every type is in every zone; else a block for each type.
fn blocks<'a>(cells: &BTreeSet<Cell<'a>>) -> Vec<(Vec<&'a str>, Vec<&'a str>)> {
    let types: BTreeSet<&str> = cells.iter().map(|(of, _)| *of).collect();
    let zones = |of: Option<&str>| -> BTreeSet<Option<&'a str>> {
        cells.iter().filter(|(own, _)| of.is_none_or(|of| of == *own)).map(|(_, zone)| *zone).collect()
    };
    let named = |zones: BTreeSet<Option<&'a str>>| zones.into_iter().flatten().collect();
    if types.len() * zones(None).len() == cells.len() {
        return vec![(types.into_iter().collect(), named(zones(None)))];
    }
    types.into_iter().map(|of| (vec![of], named(zones(Some(of))))).collect()
}

fn need(types: Vec<&str>, zones: Vec<&str>, words: &Words<'_>) -> Need {
    let one_of = |key: &str, values: Vec<&str>| Requirement {
        key: key.to_owned(),
        operator: Operator::In,
        values: values.into_iter().map(str::to_owned).collect(),
    };
    let mut asked =
        vec![one_of(names::INSTANCE_TYPE, types), one_of(names::CAPACITY_TYPE, vec![CapacityType::Reserved.as_str()])];
    if !zones.is_empty() {
        asked.push(one_of(names::ZONE, zones));
    }
    of_requirements(&asked, words)
}
