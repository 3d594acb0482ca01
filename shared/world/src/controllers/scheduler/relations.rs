//! Filters and scores that compare nodes: topology spread, pod affinity and anti-affinity in both directions.

use std::collections::BTreeSet;

use super::{
    cluster::Cluster,
    counts::{Domains, NOWHERE},
    filter::{Known, Rejection, plugin},
    shape::{PodTerm, Shape, Spread},
};

/// What other pods mean for a shape, worked out once for all nodes.
pub(super) struct Relations<'a> {
    spread: Vec<(&'a Spread, &'a Domains, Vec<i64>, i64)>,
    near: Vec<(&'a Domains, Vec<i64>)>,
    /// Nobody it wants to be near exists, but it is such a pod itself.
    first_of_its_kind: bool,
    apart: Vec<(&'a Domains, Vec<i64>)>,
    forbidden: Vec<(&'a Domains, BTreeSet<usize>)>,
    liked: Vec<(i64, &'a Domains, Vec<i64>)>,
}

impl<'a> Relations<'a> {
    pub(super) fn new(cluster: &'a Cluster, shape: &'a Shape, known: &[Option<Known>]) -> Self {
        let domains = |key: &str| cluster.counts.domains(key);
        let summed = |term: &PodTerm| Some((domains(&term.key)?, by_domain(cluster, term, domains(&term.key)?)));
        let near: Vec<_> = shape.near.iter().filter_map(summed).collect();
        let itself = shape.near.iter().all(|term| term.matches(&shape.namespace, &shape.labels));
        let first_of_its_kind = itself && near.iter().all(|(_, counts)| counts.iter().all(|count| *count == 0));
        let carried = cluster.counts.carried().filter(|(term, _)| term.matches(&shape.namespace, &shape.labels));
        let forbidden = carried.filter_map(|(term, counts)| {
            let domains = domains(&term.key)?;
            let there = counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(slot, _)| domains.at(slot));
            Some((domains, there.filter(|domain| *domain != NOWHERE).collect()))
        });
        Relations {
            spread: shape
                .spread
                .iter()
                .filter_map(|one| spread(cluster, shape, one, domains(&one.key)?, known))
                .collect(),
            first_of_its_kind,
            near,
            apart: shape.apart.iter().filter_map(summed).collect(),
            forbidden: forbidden.collect(),
            liked: shape
                .preferred_pods
                .iter()
                .filter_map(|(weight, term)| summed(term).map(|(of, counts)| (*weight, of, counts)))
                .collect(),
        }
    }

    /// The filters, in the order of the real ones.
    pub(super) fn check(&self, slot: usize) -> Result<(), Rejection> {
        for (spread, domains, counts, least) in self.spread.iter().filter(|(spread, ..)| spread.hard) {
            let domain = domains.at(slot);
            if domain == NOWHERE {
                let reason = "node(s) didn't match pod topology spread constraints (missing required label)";
                return Err(Rejection::new(plugin::SPREAD, reason, true));
            }
            let skew = counts[domain].max(0) + i64::from(spread.counts_itself) - least;
            if skew > spread.max_skew {
                return Err(Rejection::new(
                    plugin::SPREAD,
                    "node(s) didn't match pod topology spread constraints",
                    false,
                ));
            }
        }
        let here =
            |(domains, counts): &(&Domains, Vec<i64>)| counts.get(domains.at(slot)).is_some_and(|count| *count > 0);
        let placed = |(domains, _): &(&Domains, Vec<i64>)| domains.at(slot) != NOWHERE;
        let near = self.near.iter().all(here) || (self.first_of_its_kind && self.near.iter().all(placed));
        if !near {
            return Err(Rejection::new(plugin::PODS, "node(s) didn't match pod affinity rules", true));
        }
        if self.apart.iter().any(here) {
            return Err(Rejection::new(plugin::PODS, "node(s) didn't match pod anti-affinity rules", false));
        }
        if self.forbidden.iter().any(|(domains, there)| there.contains(&domains.at(slot))) {
            return Err(Rejection::new(
                plugin::PODS,
                "node(s) didn't satisfy existing pods anti-affinity rules",
                false,
            ));
        }
        Ok(())
    }

    /// Soft spread and preferred pods (weight 2 each), in thousandths of a point.
    pub(super) fn score(&self, slot: usize) -> i64 {
        let mut score = 0;
        for (_, domains, counts, _) in self.spread.iter().filter(|(spread, ..)| !spread.hard) {
            let most = counts.iter().copied().max().unwrap_or(0).max(1);
            let here = counts.get(domains.at(slot)).copied().unwrap_or(most).max(0);
            score += 200_000 * (most - here) / most;
        }
        for (weight, domains, counts) in &self.liked {
            let here = counts.get(domains.at(slot)).copied().unwrap_or(0);
            score += 2000 * weight * here.min(1);
        }
        score
    }
}

fn by_domain(cluster: &Cluster, term: &PodTerm, domains: &Domains) -> Vec<i64> {
    let mut counts = vec![0; domains.count];
    for (slot, count) in cluster.counts.by_slot(term).iter().enumerate() {
        if let Some(sum) = counts.get_mut(domains.at(slot)) {
            *sum += count;
        }
    }
    counts
}

/// Counts of a constraint over the nodes that count: −1 marks a domain without any. With them the least count.
fn spread<'a>(
    cluster: &Cluster,
    shape: &Shape,
    spread: &'a Spread,
    domains: &'a Domains,
    known: &[Option<Known>],
) -> Option<(&'a Spread, &'a Domains, Vec<i64>, i64)> {
    let others: Vec<&Domains> =
        shape.spread.iter().filter(|one| one.hard).filter_map(|one| cluster.counts.domains(&one.key)).collect();
    let per_slot = cluster.counts.by_slot(&spread.pods);
    let mut counts = vec![-1; domains.count];
    for (slot, _) in cluster.alive() {
        let domain = domains.at(slot);
        let known = known.get(slot).and_then(Option::as_ref);
        let by_policy = known.is_none_or(|known| {
            (known.affinity || !spread.honours_affinity) && (known.tolerated || !spread.honours_taints)
        });
        if domain == NOWHERE || !by_policy || others.iter().any(|other| other.at(slot) == NOWHERE) {
            continue;
        }
        counts[domain] = counts[domain].max(0) + per_slot.get(slot).copied().unwrap_or(0);
    }
    let seen = counts.iter().filter(|count| **count >= 0);
    let enough = i64::try_from(seen.clone().count()).is_ok_and(|seen| seen >= spread.min_domains);
    let least = if enough { seen.min().copied().unwrap_or(0) } else { 0 };
    Some((spread, domains, counts, least))
}
