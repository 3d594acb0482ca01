//! How many pods that a term means are on each node, kept up to date pod by pod, and which nodes share a domain.

use std::collections::BTreeMap;

use super::{
    cluster::{Node, Placed},
    shape::PodTerm,
};
use crate::api::store::ObjectKey;

/// No domain: the node lacks the label.
pub(super) const NOWHERE: usize = usize::MAX;

/// More terms than this are not worth keeping; they are counted anew when needed.
const MOST_TERMS: usize = 512;

#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Pods that a term means, by slot.
    meant: BTreeMap<String, (PodTerm, Vec<i64>)>,
    /// Pods that carry a required anti-affinity term, by slot.
    carried: BTreeMap<(String, String), (PodTerm, Vec<i64>)>,
    domains: BTreeMap<String, Domains>,
}

/// The domains of a topology key: a number for each slot.
#[derive(Debug, Default)]
pub(super) struct Domains {
    pub(super) of: Vec<usize>,
    pub(super) count: usize,
}

impl Domains {
    pub(super) fn at(&self, slot: usize) -> usize {
        self.of.get(slot).copied().unwrap_or(NOWHERE)
    }
}

impl Counts {
    pub(super) fn count(&mut self, placed: &Placed, sign: i64) {
        let shape = &placed.shape;
        for (term, counts) in self.meant.values_mut() {
            if !(placed.going && term.without_going) && term.matches(&shape.namespace, &shape.labels) {
                bump(counts, placed.slot, sign);
            }
        }
        for term in &shape.apart {
            let key = (term.text.clone(), term.key.clone());
            let (_, counts) = self.carried.entry(key).or_insert_with(|| (term.clone(), Vec::new()));
            bump(counts, placed.slot, sign);
        }
        if sign < 0 && !shape.apart.is_empty() {
            self.carried.retain(|_, (_, counts)| counts.iter().any(|count| *count != 0));
        }
    }

    /// Forgets terms when there are too many, before a shape asks for its own.
    pub(super) fn make_room(&mut self) {
        if self.meant.len() >= MOST_TERMS {
            self.meant.clear();
        }
    }

    /// Begins to count a term, unless it is counted already.
    pub(super) fn follow(&mut self, term: &PodTerm, placed: &BTreeMap<ObjectKey, Placed>) {
        if self.meant.contains_key(&term.text) {
            return;
        }
        let mut counts = Vec::new();
        for pod in placed.values() {
            if !(pod.going && term.without_going) && term.matches(&pod.shape.namespace, &pod.shape.labels) {
                bump(&mut counts, pod.slot, 1);
            }
        }
        self.meant.insert(term.text.clone(), (term.clone(), counts));
    }

    pub(super) fn by_slot(&self, term: &PodTerm) -> &[i64] {
        self.meant.get(&term.text).map(|(_, counts)| counts.as_slice()).unwrap_or_default()
    }

    pub(super) fn carried(&self) -> impl Iterator<Item = (&PodTerm, &[i64])> {
        self.carried.values().map(|(term, counts)| (term, counts.as_slice()))
    }

    pub(super) fn carried_keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = self.carried.keys().map(|(_, key)| key.clone()).collect();
        keys.dedup();
        keys
    }

    pub(super) fn domains(&self, key: &str) -> Option<&Domains> {
        self.domains.get(key)
    }

    pub(super) fn find_domains(&mut self, key: &str, nodes: &[Node]) {
        if self.domains.contains_key(key) {
            return;
        }
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut of = Vec::with_capacity(nodes.len());
        for node in nodes {
            let value = node.labels.get(key).filter(|_| node.alive);
            let next = numbers.len();
            of.push(value.map_or(NOWHERE, |value| *numbers.entry(value).or_insert(next)));
        }
        let domains = Domains { of, count: numbers.len() };
        self.domains.insert(key.to_owned(), domains);
    }

    pub(super) fn forget_domains(&mut self) {
        self.domains.clear();
    }
}

fn bump(counts: &mut Vec<i64>, slot: usize, sign: i64) {
    if counts.len() <= slot {
        counts.resize(slot + 1, 0);
    }
    counts[slot] += sign;
}
