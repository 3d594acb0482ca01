//! Required pod anti-affinity. No pod may end up in one domain with a pod that it, or that pod, keeps away from. A claim that leaves
//! its domain open may end up in any of them. Pods that were there before are not held against each other.

use std::collections::{BTreeMap, HashMap};

use super::topology::{Term, Topology, anti_affinity_terms};
use crate::{Rule, Violation};

pub fn check(topology: &Topology<'_, '_>, found: &mut Vec<Violation>) {
    let placement = topology.placement;
    let mut owners: BTreeMap<Term, Vec<(usize, usize)>> = BTreeMap::new();
    for (index, pod, place) in topology.standing() {
        for term in anti_affinity_terms(pod, placement.cluster) {
            owners.entry(term).or_default().push((index, place));
        }
    }
    for (term, owners) in owners {
        let mut in_domain: HashMap<String, Vec<usize>> = HashMap::new();
        for other in topology.selected(&term) {
            let Some(place) = placement.at[other] else { continue };
            for domain in topology.domains(place, &term.key).iter().flatten() {
                in_domain.entry(domain.clone()).or_default().push(other);
            }
        }
        for (owner, place) in owners {
            let domains = topology.domains(place, &term.key);
            let clash = domains.iter().flatten().find_map(|domain| {
                let others = in_domain.get(domain)?.iter().copied();
                let new = |other: &usize| placement.moved[owner] || placement.moved[*other];
                Some((domain, others.filter(|other| *other != owner).find(new)?))
            });
            if let Some((domain, other)) = clash {
                let (one, two) = (&placement.pod(owner).name, &placement.pod(other).name);
                let message = format!("{one} keeps away from {two}, and both can be in {}={domain}", term.key);
                found.push(Violation::of(Rule::PodAntiAffinity, message));
            }
        }
    }
}
