//! What affinity, anti-affinity and spread have in common: which pods a term means, and in which domains pods may end up.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use k8s_openapi::api::core::v1::{PodAffinityTerm, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::alone::Alone;
use crate::cluster::{Cluster, PodFacts};
use crate::labels::{normal, selects};
use crate::placement::Placement;

/// What a label can turn out to be; None is that it is not there.
pub type Domains = BTreeSet<Option<String>>;

pub struct Topology<'p, 'a> {
    pub placement: &'p Placement<'a>,
    pub alone: Alone<'a>,
    domains: RefCell<HashMap<(usize, String), Rc<Domains>>>,
}

/// A term of affinity or anti-affinity with everything resolved. Equal terms are the same value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term {
    pub key: String,
    namespaces: BTreeSet<String>,
    /// As JSON, so that terms can be compared.
    selector: String,
}

impl<'p, 'a> Topology<'p, 'a> {
    pub fn new(placement: &'p Placement<'a>) -> Self {
        let alone = Alone::new(placement.cluster, placement.catalog);
        Self { placement, alone, domains: RefCell::default() }
    }

    pub fn domains(&self, place: usize, key: &str) -> Rc<Domains> {
        let mut cache = self.domains.borrow_mut();
        let found = cache.entry((place, key.to_owned()));
        Rc::clone(found.or_insert_with(|| Rc::new(self.placement.places[place].domains(key))))
    }

    /// The one domain a place is in for sure.
    pub fn certain(&self, place: usize, key: &str) -> Option<String> {
        let domains = self.domains(place, key);
        if domains.len() == 1 { domains.first().cloned().flatten() } else { None }
    }

    /// The pods that are somewhere and count, with their places.
    pub fn standing(&self) -> impl Iterator<Item = (usize, &'a PodFacts, usize)> + '_ {
        let placement = self.placement;
        (0..placement.at.len()).filter_map(move |index| {
            let place = placement.at[index]?;
            let pod = placement.pod(index);
            pod.counts().then_some((index, pod, place))
        })
    }

    /// The numbers of the standing pods that a term selects.
    pub fn selected(&self, term: &Term) -> Vec<usize> {
        let selector: Option<LabelSelector> = serde_json::from_str(&term.selector).ok();
        let all = self.standing();
        all.filter(|(_, pod, _)| term.means(selector.as_ref(), pod)).map(|(index, ..)| index).collect()
    }
}

impl Term {
    fn resolve(term: &PodAffinityTerm, owner: &PodFacts, cluster: &Cluster) -> Self {
        let mut namespaces: BTreeSet<String> = term.namespaces.iter().flatten().cloned().collect();
        if let Some(selector) = &term.namespace_selector {
            let chosen = cluster.namespaces.iter().filter(|(_, labels)| selects(Some(selector), labels));
            namespaces.extend(chosen.map(|(name, _)| name.clone()));
        } else if namespaces.is_empty() {
            namespaces.insert(owner.namespace.clone());
        }
        // No selector selects nothing. It is kept apart from the empty one, which selects all.
        let selector = term.label_selector.as_ref().and_then(|selector| serde_json::to_string(selector).ok());
        Self { key: normal(&term.topology_key).to_owned(), namespaces, selector: selector.unwrap_or_default() }
    }

    fn means(&self, selector: Option<&LabelSelector>, pod: &PodFacts) -> bool {
        self.namespaces.contains(&pod.namespace) && selects(selector, &pod.labels)
    }

    pub fn selects(&self, pod: &PodFacts) -> bool {
        let selector: Option<LabelSelector> = serde_json::from_str(&self.selector).ok();
        self.means(selector.as_ref(), pod)
    }
}

/// The terms of required affinity of a pod.
pub fn affinity_terms(pod: &PodFacts, cluster: &Cluster) -> Vec<Term> {
    let affinity = spec(pod).and_then(|spec| spec.affinity.as_ref()?.pod_affinity.as_ref());
    let terms = affinity.and_then(|it| it.required_during_scheduling_ignored_during_execution.as_deref());
    terms.unwrap_or_default().iter().map(|term| Term::resolve(term, pod, cluster)).collect()
}

/// The terms of required anti-affinity of a pod.
pub fn anti_affinity_terms(pod: &PodFacts, cluster: &Cluster) -> Vec<Term> {
    let affinity = spec(pod).and_then(|spec| spec.affinity.as_ref()?.pod_anti_affinity.as_ref());
    let terms = affinity.and_then(|it| it.required_during_scheduling_ignored_during_execution.as_deref());
    terms.unwrap_or_default().iter().map(|term| Term::resolve(term, pod, cluster)).collect()
}

fn spec(pod: &PodFacts) -> Option<&PodSpec> {
    pod.pod.spec.as_ref()
}
