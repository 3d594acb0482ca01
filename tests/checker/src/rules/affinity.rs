//! Required pod affinity. There has to be an order in which the pods can be placed one by one, so that each finds a pod that it wants
//! to be with in its domain, for sure: on the same place, or both places fixed to one domain. The first of a group that wants to be
//! with itself may go anywhere, as long as no pod that it wants was there before.
//!
//! Lenient: several terms may be met by different pods, and pods without affinity may come at whatever moment suits.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::topology::{Term, Topology, affinity_terms};
use crate::{Rule, Violation};

pub fn check(topology: &Topology<'_, '_>, found: &mut Vec<Violation>) {
    let mut order = Order::new(topology);
    loop {
        order.settle_all();
        let Some(first) = order.next_first() else { break };
        order.first(first);
    }
    for pod in order.open {
        let terms: Vec<String> = order.terms_of[&pod].iter().map(|term| order.terms[*term].key.clone()).collect();
        let facts = topology.placement.pod(pod);
        let place = topology.placement.at[pod].map(|place| topology.placement.places[place].name()).unwrap_or_default();
        let message = format!(
            "{} on {place} is with no pod that it wants to be with, by {}, in any order",
            facts.name,
            terms.join(" and ")
        );
        found.push(Violation::of(Rule::PodAffinity, message));
    }
}

struct Order<'t, 'p, 'a> {
    topology: &'t Topology<'p, 'a>,
    terms: Vec<Term>,
    terms_of: HashMap<usize, Vec<usize>>,
    /// Which pods a term selects.
    selected: Vec<HashSet<usize>>,
    /// For each term, how many of its pods are settled: by place, and by domain where that is certain.
    by_place: Vec<HashMap<usize, usize>>,
    by_domain: Vec<HashMap<String, usize>>,
    /// Terms that select a pod which was there before.
    taken: Vec<bool>,
    firsts: Vec<usize>,
    open: Vec<usize>,
}

impl<'t, 'p, 'a> Order<'t, 'p, 'a> {
    fn new(topology: &'t Topology<'p, 'a>) -> Self {
        let placement = topology.placement;
        let mut numbers: BTreeMap<Term, usize> = BTreeMap::new();
        let mut terms_of: HashMap<usize, Vec<usize>> = HashMap::new();
        for (index, pod, _) in placement.moves() {
            for term in affinity_terms(pod, placement.cluster) {
                let next = numbers.len();
                terms_of.entry(index).or_default().push(*numbers.entry(term).or_insert(next));
            }
        }
        let mut terms: Vec<(usize, Term)> = numbers.into_iter().map(|(term, number)| (number, term)).collect();
        terms.sort();
        let terms: Vec<Term> = terms.into_iter().map(|(_, term)| term).collect();
        let selected: Vec<HashSet<usize>> =
            terms.iter().map(|term| topology.selected(term).into_iter().collect()).collect();
        let taken = selected.iter().map(|pods| pods.iter().any(|pod| !placement.moved[*pod])).collect();
        let mut open: Vec<usize> = terms_of.keys().copied().collect();
        open.sort_unstable();
        let mut order = Self {
            by_place: vec![HashMap::new(); terms.len()],
            by_domain: vec![HashMap::new(); terms.len()],
            topology,
            terms,
            terms_of,
            selected,
            taken,
            firsts: Vec::new(),
            open,
        };
        if !order.terms.is_empty() {
            let free: Vec<usize> = topology
                .standing()
                .map(|(index, ..)| index)
                .filter(|index| !order.terms_of.contains_key(index))
                .collect();
            free.into_iter().for_each(|index| order.settle(index));
        }
        order
    }

    fn settle(&mut self, pod: usize) {
        let Some(place) = self.topology.placement.at[pod] else { return };
        for (number, term) in self.terms.iter().enumerate() {
            if self.selected[number].contains(&pod) {
                *self.by_place[number].entry(place).or_default() += 1;
                if let Some(domain) = self.topology.certain(place, &term.key) {
                    *self.by_domain[number].entry(domain).or_default() += 1;
                }
            }
        }
    }

    fn settle_all(&mut self) {
        loop {
            let ready: Vec<usize> = self.open.iter().copied().filter(|pod| self.unmet(*pod).is_empty()).collect();
            if ready.is_empty() {
                return;
            }
            let done: HashSet<usize> = ready.iter().copied().collect();
            self.open.retain(|pod| !done.contains(pod));
            ready.into_iter().for_each(|pod| self.settle(pod));
        }
    }

    /// The terms of an open pod that nobody settled meets.
    fn unmet(&self, pod: usize) -> Vec<usize> {
        let Some(place) = self.topology.placement.at[pod] else { return Vec::new() };
        let met = |number: usize| {
            let key = &self.terms[number].key;
            let here = !self.topology.domains(place, key).contains(&None);
            let beside = self.by_place[number].get(&place).is_some_and(|count| *count > 0);
            let domain = self.topology.certain(place, key);
            here && (beside || domain.is_some_and(|it| self.by_domain[number].get(&it).is_some_and(|count| *count > 0)))
        };
        self.terms_of[&pod].iter().copied().filter(|number| !met(*number)).collect()
    }

    /// A pod that can have been the first of its group.
    fn next_first(&self) -> Option<usize> {
        let placement = self.topology.placement;
        self.open.iter().copied().find(|pod| {
            self.unmet(*pod).into_iter().all(|number| {
                let here = placement.at[*pod]
                    .is_some_and(|place| !self.topology.domains(place, &self.terms[number].key).contains(&None));
                // Two firsts that want each other cannot both have been first.
                let rival = self.firsts.iter().any(|first| {
                    let wants = |one: usize, other: usize| {
                        self.terms_of[&one].iter().any(|term| self.selected[*term].contains(&other))
                    };
                    self.selected[number].contains(first) && wants(*first, *pod)
                });
                here && self.selected[number].contains(pod) && !self.taken[number] && !rival
            })
        })
    }

    fn first(&mut self, pod: usize) {
        self.open.retain(|one| *one != pod);
        self.firsts.push(pod);
        self.settle(pod);
    }
}
