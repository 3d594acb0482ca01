//! The rules between pods: apart, near, evenly spread.

use std::collections::{BTreeMap, BTreeSet};

use decide::requirement::Requirements;
use model::names;
use model::place::{PodTerm, PodToPlace, Scene, Selector, WhenUnsatisfiable};

use super::{Labels, Site, Standing};

/// The one value of a key, if there is no choice.
fn certain(site: &Site<'_>, key: &str) -> Option<String> {
    let values: BTreeSet<Option<&String>> = site.ways.iter().map(|(labels, _)| labels.get(key)).collect();
    if values.len() == 1 { values.into_iter().next().flatten().cloned() } else { None }
}

fn may_share(left: &Site<'_>, right: &Site<'_>, key: &str) -> bool {
    let of = |site: &Site<'_>| -> BTreeSet<String> {
        site.ways.iter().filter_map(|(labels, _)| labels.get(key).cloned()).collect()
    };
    !of(left).is_disjoint(&of(right))
}

pub fn check(scene: &Scene, sites: &[Site<'_>]) -> Vec<String> {
    let mut broken = vec![];
    for (at, site) in sites.iter().enumerate() {
        for (index, pod) in site.pods.iter().enumerate() {
            for term in pod.anti_affinity.iter() {
                for (other_at, other_site) in sites.iter().enumerate() {
                    let others =
                        other_site.pods.iter().enumerate().filter(|(other, _)| (other_at, *other) != (at, index));
                    for (_, other) in others
                        .filter(|(_, other)| (pod.new.is_some() || other.new.is_some()) && pod.counts && other.counts)
                    {
                        let together = if at == other_at {
                            site.ways.iter().any(|(labels, _)| labels.contains_key(&term.topology_key))
                        } else {
                            may_share(site, other_site, &term.topology_key)
                        };
                        if together && selects(term, pod, other, scene) {
                            broken.push(format!(
                                "two pods that keep apart by {} may share {} and {}",
                                term.topology_key, site.name, other_site.name
                            ));
                        }
                    }
                }
            }
            if let Some(new) = pod.new {
                broken.extend(near(scene, sites, at, index, new));
                broken.extend(spread(sites, at, new));
            }
        }
    }
    broken
}

fn near(scene: &Scene, sites: &[Site<'_>], at: usize, index: usize, pod: &PodToPlace) -> Vec<String> {
    let mut broken = vec![];
    for term in &pod.affinity {
        let own_pod = sites[at].pods[index];
        let own = certain(&sites[at], &term.topology_key);
        let all = || {
            sites
                .iter()
                .enumerate()
                .flat_map(|(site, of)| of.pods.iter().enumerate().map(move |(other, pod)| (site, other, pod)))
        };
        let wanted = |(site, other, pod): &(usize, usize, &Standing<'_>)| {
            (*site, *other) != (at, index) && pod.counts && selects(term, &own_pod, pod, scene)
        };
        let before = all().filter(wanted).any(|(_, _, pod)| pod.new.is_none());
        let mut others = all().filter(wanted);
        let itself = selects(term, &own_pod, &own_pod, scene);
        // The first of a group may come alone, as long as none that it wants was there before; others may come later, elsewhere.
        let alone = itself && !before;
        let found = own.is_some() && others.any(|(site, _, _)| certain(&sites[site], &term.topology_key) == own);
        if own.is_none() || !(alone || found) {
            broken.push(format!("{} on {} is near nobody by {}", pod.name, sites[at].name, term.topology_key));
        }
    }
    broken
}

/// What shares the constraint may not pass the least count by more than the skew.
fn spread(sites: &[Site<'_>], at: usize, pod: &PodToPlace) -> Vec<String> {
    let mut broken = vec![];
    let hard = || pod.spread.iter().filter(|rule| rule.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule);
    for rule in hard() {
        let Some(selector) = &rule.selector else { continue };
        let Some(own) = certain(&sites[at], &rule.topology_key) else {
            broken.push(format!("{} on {} has no certain {}", pod.name, sites[at].name, rule.topology_key));
            continue;
        };
        let counts = |other: &Standing<'_>| {
            other.counts && other.namespace == pod.namespace.as_str() && matches(selector, other.labels)
        };
        let mut by_domain: BTreeMap<String, u32> = BTreeMap::new();
        let mut sharing = 0;
        // Where the pod may not go, nobody is counted; nor where one of its keys is missing.
        let suits = |site: &&Site<'_>| {
            pod.node_selector.iter().all(|(key, value)| certain(site, key).as_ref() == Some(value))
                && hard().all(|rule| certain(site, &rule.topology_key).is_some())
        };
        for site in sites.iter().filter(suits) {
            let Some(domain) = certain(site, &rule.topology_key) else { continue };
            let here = by_domain.entry(domain.clone()).or_default();
            for other in site.pods.iter().filter(|other| counts(other)) {
                *here += 1;
                let shares = other.new.is_none() || other.new.is_some_and(|other| other.spread.contains(rule));
                sharing += u32::from(domain == own && shares);
            }
        }
        if !matches(selector, &pod.labels) {
            continue;
        }
        let hosts = rule.topology_key == names::HOSTNAME;
        let least = if hosts { 0 } else { by_domain.values().min().copied().unwrap_or(0) };
        if sharing > least + rule.max_skew {
            broken.push(format!("{} makes {sharing} in {own}, the least is {least}", pod.name));
        }
    }
    broken
}

fn selects(term: &PodTerm, owner: &Standing<'_>, other: &Standing<'_>, scene: &Scene) -> bool {
    let Some(selector) = &term.selector else { return false };
    let own = term.namespaces.is_empty() && term.namespace_selector.is_none() && other.namespace == owner.namespace;
    let listed = term.namespaces.iter().any(|listed| listed.as_str() == other.namespace);
    let empty = Labels::new();
    let labels = scene.namespaces.get(other.namespace).unwrap_or(&empty);
    let by_label = term.namespace_selector.as_ref().is_some_and(|selector| matches(selector, &labels.clone().into()));
    let shared = |key: &String| owner.labels.get(key).is_none_or(|own| other.labels.get(key) == Some(own));
    let same = term.match_label_keys.iter().all(shared);
    (own || listed || by_label) && same && matches(selector, other.labels)
}

fn matches(selector: &Selector, labels: &model::Labels) -> bool {
    selector.labels.iter().all(|(key, value)| labels.get(key) == Some(value))
        && Requirements::new(&selector.expressions).kept_by(&labels.clone().into())
}
