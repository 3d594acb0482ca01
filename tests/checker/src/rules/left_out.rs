//! A pod that goes nowhere although a node that is there, or a new one just for it, would obviously do: beside everything the plan
//! does, within the limits that remain, and with every doubt (open domains, counts) held against it. Such a pod was left out for
//! no reason.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::limits::usage;
use super::node::can_attach;
use super::spread::{Constraint, constraints};
use super::topology::{Term, Topology, affinity_terms, anti_affinity_terms};
use crate::catalog::{InstanceType, Offering};
use crate::cluster::{PodFacts, Role};
use crate::daemons;
use crate::fresh::normalized;
use crate::labels::{HOSTNAME, NODE_POOL, WELL_KNOWN, normal};
use crate::machines::Machine;
use crate::objects::NodePool;
use crate::placement::{Place, Placement};
use crate::pods::untolerated;
use crate::quantity::{self, ONE, Resources};
use crate::{Rule, Violation};

pub fn check(topology: &Topology<'_, '_>, found: &mut Vec<Violation>) {
    let placement = topology.placement;
    let mut judge = Judge { topology, room: HashMap::new(), keeping_away: None };
    for (index, pod) in placement.cluster.pods.iter().enumerate() {
        if pod.role != Role::Waiting || placement.at[index].is_some() || is_strange(pod) {
            continue;
        }
        if let Some(option) = judge.machine(pod).or_else(|| judge.option(pod)) {
            found.push(Violation::of(Rule::LeftOut, format!("{} is left out, but {option} would take it", pod.name)));
        }
    }
}

/// Selectors that nobody is obliged to understand, and rules that make no sense.
fn is_strange(pod: &PodFacts) -> bool {
    let demand = &pod.demand;
    let mut demanded = demand.selector.iter().chain(demand.terms.iter().flat_map(|term| &term.labels));
    if demanded.any(|one| !one.makes_sense()) || constraints(pod).iter().any(|one| one.max_skew < 1) {
        return true;
    }
    let affinity = pod.pod.spec.as_ref().and_then(|spec| spec.affinity.as_ref()?.node_affinity.as_ref());
    let required = affinity.and_then(|one| one.required_during_scheduling_ignored_during_execution.as_ref());
    let is_part = |(name, amount): (&String, &quantity::Amount)| {
        name.contains('/') && !name.contains("kubernetes.io/") && amount % ONE != 0
    };
    // A rule without a term and a part of a device are refused by the API server.
    if required.is_some_and(|one| one.node_selector_terms.is_empty()) || pod.requests.iter().any(is_part) {
        return true;
    }
    let own = |key: &str| key.split('/').next().is_some_and(|domain| domain.ends_with("karpenter.sh"));
    pod.demand.keys().into_iter().any(|key| key == HOSTNAME || (own(key) && !WELL_KNOWN.contains(&key)))
        || pod.demand.keys().contains(NODE_POOL) && pod.demand.terms.len() > 1
}

struct Judge<'t, 'p, 'a> {
    topology: &'t Topology<'p, 'a>,
    /// What the limits of each pool still allow.
    room: HashMap<usize, Resources>,
    /// All terms of anti-affinity in the cluster, with the domains of their owners.
    keeping_away: Option<Vec<(Term, BTreeSet<String>)>>,
}

impl Judge<'_, '_, '_> {
    /// A node that is there, or on its way, and has room.
    fn machine(&mut self, pod: &PodFacts) -> Option<String> {
        let placement = self.topology.placement;
        let volumes = placement.cluster.volumes.demands(&pod.pod).ok()?;
        let keys = self.keys(pod);
        placement.places.iter().enumerate().find_map(|(index, place)| {
            let Place::Machine(machine) = place else { return None };
            let suits = !machine.leaving
                && untolerated(&pod.pod, &machine.taints).is_none()
                && std::iter::once(&pod.demand).chain(&volumes).all(|demand| place.refuses(demand).is_none());
            if !suits || !has_room(placement, index, machine, pod) || !can_attach(placement, index, pod) {
                return None;
            }
            let domains: Vec<Option<String>> = keys.iter().map(|key| machine.labels.get(key).cloned()).collect();
            (!self.is_blocked(pod, &keys, &domains)).then(|| machine.place.clone())
        })
    }

    fn option(&mut self, pod: &PodFacts) -> Option<String> {
        let placement = self.topology.placement;
        let options = self.topology.alone.options(pod, &pod.demand);
        let mut blocked: HashMap<Vec<Option<String>>, bool> = HashMap::new();
        let keys = self.keys(pod);
        for (number, nodes) in options.iter() {
            let pool = &placement.cluster.pools[*number];
            let room = self.room(*number).clone();
            let fits = |one: &InstanceType| {
                let nodes = room.get("nodes").is_none_or(|left| *left >= ONE);
                nodes && room.iter().all(|(name, left)| one.capacity.get(name).copied().unwrap_or(0) <= *left)
            };
            let mut good: Vec<(&InstanceType, &Offering)> = Vec::new();
            for (one, offering) in nodes {
                let one = &placement.catalog.types[*one];
                let offering = &one.offerings[*offering];
                if !fits(one) {
                    continue;
                }
                let domains: Vec<Option<String>> =
                    keys.iter().map(|key| self.domain(pool, one, offering, key)).collect();
                let blocked = *blocked.entry(domains.clone()).or_insert_with(|| self.is_blocked(pod, &keys, &domains));
                if !blocked {
                    good.push((one, offering));
                }
            }
            if let (Some((one, offering)), true) = (good.first(), enough_values(pool, &good)) {
                return Some(format!("{} in {} of pool {}", one.name, offering.zone, pool.name()));
            }
        }
        None
    }

    fn room(&mut self, number: usize) -> &Resources {
        let placement = self.topology.placement;
        let pool = &placement.cluster.pools[number];
        self.room.entry(number).or_insert_with(|| {
            let mut room = quantity::resources(&pool.spec.limits);
            let used = usage(placement, pool.name());
            for (name, left) in &mut room {
                *left -= used.before.get(name).copied().unwrap_or(0) + used.added.get(name).copied().unwrap_or(0);
            }
            room
        })
    }

    /// Every topology key that matters for this pod.
    fn keys(&mut self, pod: &PodFacts) -> Vec<String> {
        let cluster = self.topology.placement.cluster;
        let mut keys: BTreeSet<String> = constraints(pod).into_iter().map(|one| one.key).collect();
        keys.extend(affinity_terms(pod, cluster).into_iter().map(|term| term.key));
        keys.extend(anti_affinity_terms(pod, cluster).into_iter().map(|term| term.key));
        keys.extend(self.keeping_away().iter().map(|(term, _)| term.key.clone()));
        keys.into_iter().collect()
    }

    fn keeping_away(&mut self) -> &[(Term, BTreeSet<String>)] {
        let topology = self.topology;
        self.keeping_away.get_or_insert_with(|| {
            let mut all: BTreeMap<Term, BTreeSet<String>> = BTreeMap::new();
            for (_, pod, place) in topology.standing() {
                for term in anti_affinity_terms(pod, topology.placement.cluster) {
                    let domains = topology.domains(place, &term.key);
                    all.entry(term).or_default().extend(domains.iter().flatten().cloned());
                }
            }
            all.into_iter().collect()
        })
    }

    /// The domain of a new node; None where that cannot be said.
    fn domain(&self, pool: &NodePool, one: &InstanceType, offering: &Offering, key: &str) -> Option<String> {
        if key == HOSTNAME {
            return Some("a host that nobody knows".to_owned());
        }
        if !self.topology.placement.catalog.decides(key) {
            return pool.spec.template.metadata.labels.get(key).cloned();
        }
        match one.values(offering, key) {
            [only] => Some(only.clone()),
            _ => None,
        }
    }

    fn is_blocked(&mut self, pod: &PodFacts, keys: &[String], domains: &[Option<String>]) -> bool {
        let domain_of = |key: &str| keys.iter().position(|one| one == key).and_then(|index| domains[index].clone());
        let topology = self.topology;
        let cluster = topology.placement.cluster;
        let avoided = self.keeping_away().iter().filter(|(term, _)| term.selects(pod)).any(|(term, owners)| {
            let domain = domain_of(&term.key);
            domain.is_none_or(|domain| owners.contains(&domain))
        });
        let avoids = anti_affinity_terms(pod, cluster).iter().any(|term| {
            let domain = domain_of(&term.key);
            let mut others = topology.selected(term).into_iter().filter_map(|other| topology.placement.at[other]);
            domain.is_none() || others.any(|place| topology.domains(place, &term.key).contains(&domain))
        });
        let misses = affinity_terms(pod, cluster).iter().any(|term| {
            let domain = domain_of(&term.key);
            let others = topology.selected(term);
            let first = others.is_empty() && term.selects(pod);
            let mut places = others.into_iter().filter_map(|other| topology.placement.at[other]);
            domain.is_none() || !(first || places.any(|place| topology.certain(place, &term.key) == domain))
        });
        avoided
            || avoids
            || misses
            || constraints(pod).iter().any(|one| skewed(topology, pod, one, domain_of(&one.key)))
    }
}

/// Resources and ports for one more pod, with nothing overcommitted.
fn has_room(placement: &Placement<'_>, index: usize, machine: &Machine, pod: &PodFacts) -> bool {
    let there: Vec<&PodFacts> = placement.on[index].iter().map(|one| placement.pod(*one)).collect();
    let mut wanted = daemons::total(there.iter().copied().chain([pod]));
    quantity::add(&mut wanted, &daemons::outstanding(placement.cluster, machine, index));
    let enough = wanted.iter().all(|(name, amount)| machine.allocatable.get(name).copied().unwrap_or(0) >= *amount);
    let ports = there
        .iter()
        .chain(&placement.cluster.daemons.iter().collect::<Vec<_>>())
        .all(|other| !other.ports.iter().any(|theirs| pod.ports.iter().any(|port| port.conflicts(theirs))));
    enough && ports
}

/// Whether one more pod in a domain may break its constraint, in the strictest reading of it.
fn skewed(topology: &Topology<'_, '_>, pod: &PodFacts, constraint: &Constraint, domain: Option<String>) -> bool {
    let Some(domain) = domain else { return true };
    let own = i64::from(constraint.counts(pod, pod));
    let mut least: BTreeMap<String, i64> =
        constraint.all_domains(topology, &pod.demand).into_iter().map(|domain| (domain, 0)).collect();
    let mut here = own;
    for (_, _, place) in topology.standing().filter(|(_, other, _)| constraint.counts(other, pod)) {
        if topology.domains(place, &constraint.key).contains(&Some(domain.clone())) {
            here += 1;
        }
        let certain = topology.certain(place, &constraint.key);
        let there = constraint.lets_in(&topology.placement.places[place], pod);
        if let (Some(count), true) = (certain.and_then(|certain| least.get_mut(&certain)), there) {
            *count += 1;
        }
    }
    // A new host can always be had, and domains may be too few: then the minimum is 0.
    let nought = constraint.key == HOSTNAME || constraint.min_domains > 1;
    let least = if nought { 0 } else { least.values().min().copied().unwrap_or(0) };
    here - least > constraint.max_skew
}

/// Whether what would do is enough for `minValues`.
fn enough_values(pool: &NodePool, good: &[(&InstanceType, &Offering)]) -> bool {
    normalized(&pool.spec.template.spec.requirements).iter().all(|one| {
        let Some(wanted) = one.min_values else { return true };
        let values: BTreeSet<&String> =
            good.iter().flat_map(|(kind, offering)| kind.values(offering, normal(&one.key))).collect();
        values.len() >= wanted
    })
}
