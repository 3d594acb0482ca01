//! Topology spread with `DoNotSchedule`. There has to be an order in which the pods can be placed one by one with the skew kept each time.
//!
//! For pods of one constraint in a domain: those that were there before, and all that share the constraint and count for it, are there
//! when the last of them comes; so their number less the smallest number of any domain may not pass `maxSkew`. (It is enough, too: fill
//! the domains level by level.) Pods that count but have no such constraint may come at whatever moment suits.
//!
//! A domain takes part in the minimum if a node that is there has it and the policies let that node in, or if a new node for the pod
//! alone could be in it: anybody's reading of the constraint has at least these. Host names have a minimum of 0 where a new node can
//! be had. Domains count that the pod's own selectors allow, or all of them with `nodeAffinityPolicy: Ignore`; of alternatives in its node
//! affinity any one will do.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use k8s_openapi::api::core::v1::TopologySpreadConstraint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use super::topology::Topology;
use crate::cluster::PodFacts;
use crate::labels::{HOSTNAME, NodeDemand, allows, normal, selects};
use crate::placement::Place;
use crate::pods::untolerated;
use crate::{Rule, Violation};

pub fn check(topology: &Topology<'_, '_>, found: &mut Vec<Violation>) {
    let mut groups: BTreeMap<String, (Constraint, Vec<usize>)> = BTreeMap::new();
    for (index, pod, _) in topology.placement.moves() {
        for constraint in constraints(pod) {
            let group = groups.entry(constraint.signature(pod)).or_insert_with(|| (constraint, Vec::new()));
            group.1.push(index);
        }
    }
    for (constraint, owners) in groups.values() {
        let Some(first) = owners.first().map(|owner| topology.placement.pod(*owner)) else { continue };
        let counts = Counts::new(topology, constraint, first, owners);
        for owner in owners {
            if let Some(message) = counts.broken(topology, constraint, *owner) {
                found.push(Violation::of(Rule::Spread, message));
            }
        }
    }
}

/// A constraint that must hold.
pub struct Constraint {
    pub key: String,
    pub max_skew: i64,
    pub min_domains: usize,
    honor_affinity: bool,
    honor_taints: bool,
    /// The keys of all constraints that the pod must keep. A node that lacks one of them takes part in none.
    keys: Vec<String>,
    selector: Option<LabelSelector>,
}

/// The constraints of a pod that must hold.
pub fn constraints(pod: &PodFacts) -> Vec<Constraint> {
    let all = pod.pod.spec.iter().flat_map(|spec| spec.topology_spread_constraints.iter().flatten());
    let hard: Vec<&TopologySpreadConstraint> = all.filter(|one| one.when_unsatisfiable == "DoNotSchedule").collect();
    let keys: Vec<String> = hard.iter().map(|one| normal(&one.topology_key).to_owned()).collect();
    hard.into_iter().map(|one| Constraint { keys: keys.clone(), ..Constraint::new(one, pod) }).collect()
}

impl Constraint {
    fn new(one: &TopologySpreadConstraint, pod: &PodFacts) -> Self {
        let mut selector = one.label_selector.clone();
        for key in one.match_label_keys.iter().flatten() {
            if let (Some(selector), Some(value)) = (&mut selector, pod.labels.get(key)) {
                selector.match_expressions.get_or_insert_default().push(LabelSelectorRequirement {
                    key: key.clone(),
                    operator: "In".to_owned(),
                    values: Some(vec![value.clone()]),
                });
            }
        }
        Self {
            key: normal(&one.topology_key).to_owned(),
            max_skew: i64::from(one.max_skew),
            min_domains: one.min_domains.and_then(|count| usize::try_from(count).ok()).unwrap_or(1),
            honor_affinity: one.node_affinity_policy.as_deref() != Some("Ignore"),
            honor_taints: one.node_taints_policy.as_deref() == Some("Honor"),
            keys: vec![],
            selector,
        }
    }

    pub fn counts(&self, pod: &PodFacts, owner: &PodFacts) -> bool {
        pod.namespace == owner.namespace && selects(self.selector.as_ref(), &pod.labels)
    }

    /// Pods with equal signatures share the constraint: they count the same pods on the same nodes.
    fn signature(&self, pod: &PodFacts) -> String {
        let tolerations = pod.pod.spec.as_ref().and_then(|spec| spec.tolerations.clone());
        let (demand, tolerations) =
            (self.honor_affinity.then_some(&pod.demand), self.honor_taints.then_some(tolerations));
        format!(
            "{} {} {} {} {:?} {:?} {demand:?} {tolerations:?}",
            pod.namespace, self.key, self.max_skew, self.min_domains, self.selector, self.keys
        )
    }

    /// Whether the policies let a place take part. On a claim: whether it may.
    pub fn lets_in(&self, place: &Place<'_>, owner: &PodFacts) -> bool {
        let tolerated = !self.honor_taints || untolerated(&owner.pod, place.taints()).is_none();
        let accepted = !self.honor_affinity
            || match place {
                Place::Machine(_) => place.refuses(&owner.demand).is_none(),
                Place::Fresh(fresh) => fresh.nodes().any(|node| fresh.may_accept(node, &owner.demand)),
            };
        let labelled = match place {
            Place::Machine(machine) => self.keys.iter().all(|key| machine.labels.contains_key(key)),
            Place::Fresh(_) => true,
        };
        tolerated && accepted && labelled
    }

    /// Every domain that anybody could mean, for a pod with this demand.
    pub fn all_domains(&self, topology: &Topology<'_, '_>, demand: &NodeDemand) -> BTreeSet<String> {
        let placement = topology.placement;
        let types = &placement.catalog.types;
        let sold =
            types.iter().flat_map(|one| one.offerings.iter().flat_map(|offering| one.values(offering, &self.key)));
        let there = placement.cluster.machines.iter().filter_map(|machine| machine.labels.get(&self.key));
        let pools = placement.cluster.pools.iter().map(|pool| &pool.spec.template);
        let required = pools.clone().flat_map(|template| &template.spec.requirements);
        let named =
            required.filter(|one| normal(&one.key) == self.key && one.operator == "In").flat_map(|one| &one.values);
        let labelled = pools.filter_map(|template| template.metadata.labels.get(&self.key));
        let all = sold.chain(there).chain(named).chain(labelled).cloned();
        all.filter(|domain| !self.honor_affinity || wants(demand, &self.key, domain)).collect()
    }
}

/// Pods by domain, for one constraint.
struct Counts {
    before: HashMap<String, i64>,
    /// Of the pods that share the constraint and count: by domain where that is certain, else by place.
    sharing: HashMap<String, i64>,
    sharing_open: HashMap<usize, i64>,
    /// All pods that may be there in the end; those on a place that leaves its domain open count in each, and again by place.
    after: HashMap<String, i64>,
    after_open: HashMap<usize, i64>,
}

impl Counts {
    fn new(topology: &Topology<'_, '_>, constraint: &Constraint, owner: &PodFacts, owners: &[usize]) -> Self {
        let placement = topology.placement;
        let mut counts = Self {
            before: HashMap::new(),
            sharing: HashMap::new(),
            sharing_open: HashMap::new(),
            after: HashMap::new(),
            after_open: HashMap::new(),
        };
        let mut let_in: HashMap<usize, bool> = HashMap::new();
        for (index, _, place) in topology.standing().filter(|(_, pod, _)| constraint.counts(pod, owner)) {
            if !*let_in.entry(place).or_insert_with(|| constraint.lets_in(&placement.places[place], owner)) {
                continue;
            }
            let certain = topology.certain(place, &constraint.key);
            for domain in topology.domains(place, &constraint.key).iter().flatten() {
                *counts.after.entry(domain.clone()).or_default() += 1;
                if !placement.moved[index] {
                    *counts.before.entry(domain.clone()).or_default() += 1;
                }
            }
            if certain.is_none() {
                *counts.after_open.entry(place).or_default() += 1;
            }
            if placement.moved[index] && owners.binary_search(&index).is_ok() {
                match certain {
                    Some(domain) => *counts.sharing.entry(domain).or_default() += 1,
                    None => *counts.sharing_open.entry(place).or_default() += 1,
                }
            }
        }
        counts
    }

    fn broken(&self, topology: &Topology<'_, '_>, constraint: &Constraint, owner: usize) -> Option<String> {
        let placement = topology.placement;
        let (pod, place) = (placement.pod(owner), placement.at[owner]?);
        let name = placement.places[place].name();
        let domains = topology.domains(place, &constraint.key);
        if domains.contains(&None) {
            return Some(format!("{} is spread by {}, which {name} may not have", pod.name, constraint.key));
        }
        let counts_itself = constraint.counts(pod, pod);
        let count = |domain: &String| {
            let before = self.before.get(domain).copied().unwrap_or(0);
            let sharing = self.sharing.get(domain).copied().unwrap_or(0);
            let open = self.sharing_open.get(&place).copied().unwrap_or(0);
            if counts_itself { before + sharing + open } else { before }
        };
        for domain in domains.iter().flatten() {
            // If this place turns out to be here, its pods are nowhere else.
            let elsewhere = domains.iter().flatten().filter(|other| *other != domain).collect();
            let not_there = (elsewhere, self.after_open.get(&place).copied().unwrap_or(0));
            let least = |demand: &NodeDemand| self.least(topology, constraint, (pod, demand), &not_there);
            let (most, least) = (count(domain), alternatives(&pod.demand).iter().map(least).max()?);
            if most - least > constraint.max_skew {
                return Some(format!(
                    "{} on {name} makes {most} in {}={domain}, where another domain has {least}: more than maxSkew {}",
                    pod.name, constraint.key, constraint.max_skew
                ));
            }
        }
        None
    }

    /// The smallest number of any domain that takes part.
    fn least(
        &self,
        topology: &Topology<'_, '_>,
        constraint: &Constraint,
        (pod, demand): (&PodFacts, &NodeDemand),
        (elsewhere, fewer): &(BTreeSet<&String>, i64),
    ) -> i64 {
        let placement = topology.placement;
        let options = topology.alone.options(pod, demand);
        if constraint.key == HOSTNAME && !options.is_empty() {
            return 0;
        }
        let mut taking_part: BTreeSet<String> = BTreeSet::new();
        for (_, nodes) in options.iter() {
            for (one, offering) in nodes {
                let one = &placement.catalog.types[*one];
                taking_part.extend(one.values(&one.offerings[*offering], &constraint.key).iter().cloned());
            }
        }
        for place in &placement.places {
            let Place::Machine(machine) = place else { continue };
            let there = machine.node.is_some() && !machine.leaving && constraint.lets_in(place, pod);
            taking_part.extend(machine.labels.get(&constraint.key).filter(|_| there).cloned());
        }
        if constraint.honor_affinity {
            taking_part.retain(|domain| wants(demand, &constraint.key, domain));
        }
        if constraint.min_domains > constraint.all_domains(topology, demand).len() {
            return 0;
        }
        // Where nothing takes part, nothing can be held against the plan.
        let number = |domain: &String| {
            let all = self.after.get(domain).copied().unwrap_or(0);
            if elsewhere.contains(domain) { all - fewer } else { all }
        };
        taking_part.iter().map(number).min().unwrap_or(i64::MAX / 2)
    }
}

/// A demand with each of its alternatives in turn.
fn alternatives(demand: &NodeDemand) -> Vec<NodeDemand> {
    match demand.terms.len() {
        0 | 1 => vec![demand.clone()],
        _ => demand.terms.iter().map(|term| demand.with_term(term)).collect(),
    }
}

/// Whether a demand allows a value of this one label, whatever it says of others.
fn wants(demand: &NodeDemand, key: &str, value: &str) -> bool {
    let allowed = |requirements: &[crate::objects::Requirement]| allows(requirements, key, Some(value));
    allowed(&demand.selector) && (demand.terms.is_empty() || demand.terms.iter().any(|term| allowed(&term.labels)))
}
