//! Limits of pools: what is there, and for each new claim the largest type it lists, resource by resource, stays below them.

use std::collections::BTreeMap;

use crate::fresh::Fresh;
use crate::placement::{Place, Placement};
use crate::quantity::{self, ONE, Resources, show};
use crate::{Rule, Violation};

pub fn check(placement: &Placement<'_>, found: &mut Vec<Violation>) {
    for pool in &placement.cluster.pools {
        let limits = quantity::resources(&pool.spec.limits);
        let Usage { before, added } = usage(placement, pool.name());
        for (name, limit) in limits {
            let new = added.get(&name).copied().unwrap_or(0);
            let all = new + before.get(&name).copied().unwrap_or(0);
            if new > 0 && all > limit {
                let rule = if name == "nodes" { Rule::NodeLimit } else { Rule::Limits };
                let message =
                    format!("pool {} may use {} {name}, and comes to {}", pool.name(), show(limit), show(all));
                found.push(Violation::of(rule, message));
            }
        }
    }
}

/// What a pool uses, `nodes` among it.
pub struct Usage {
    pub before: Resources,
    pub added: Resources,
}

pub fn usage(placement: &Placement<'_>, pool: &str) -> Usage {
    let mut usage = Usage { before: Resources::new(), added: Resources::new() };
    for place in &placement.places {
        match place {
            Place::Machine(machine) if machine.pool() == Some(pool) && !machine.leaving => {
                quantity::add(&mut usage.before, &machine.capacity);
                quantity::add(&mut usage.before, &one_node());
            }
            Place::Fresh(fresh) if fresh.pool.name() == pool => {
                quantity::add(&mut usage.added, &largest(placement, fresh));
                quantity::add(&mut usage.added, &one_node());
            }
            Place::Machine(_) | Place::Fresh(_) => {}
        }
    }
    usage
}

fn largest(placement: &Placement<'_>, fresh: &Fresh<'_>) -> Resources {
    let mut most = Resources::new();
    let mut seen = BTreeMap::new();
    for one in &fresh.answer.offerings {
        let Some(index) = placement.catalog.index_of(&one.instance_type) else { continue };
        if seen.insert(index, ()).is_none() {
            quantity::greatest(&mut most, &placement.catalog.types[index].capacity);
        }
    }
    most
}

fn one_node() -> Resources {
    Resources::from([("nodes".to_owned(), ONE)])
}
