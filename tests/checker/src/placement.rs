//! The cluster as it will be when a plan is carried out: where every pod is, on what is there and on what the plan makes.

use std::collections::{BTreeSet, HashMap};

use k8s_openapi::api::core::v1::Taint;

use crate::answer::Answer;
use crate::catalog::Catalog;
use crate::cluster::{Cluster, PodFacts, Role};
use crate::fresh::Fresh;
use crate::labels::NodeDemand;
use crate::machines::Machine;
use crate::{Rule, Violation};

/// A node that is there, or a claim that the plan makes.
pub enum Place<'a> {
    Machine(&'a Machine),
    Fresh(Box<Fresh<'a>>),
}

pub struct Placement<'a> {
    pub cluster: &'a Cluster,
    pub catalog: &'a Catalog,
    pub places: Vec<Place<'a>>,
    /// Where each pod of the cluster is, by number; a pod that the plan leaves out is nowhere.
    pub at: Vec<Option<usize>>,
    /// Whether the plan put it there.
    pub moved: Vec<bool>,
    /// The pods of each place.
    pub on: Vec<Vec<usize>>,
}

impl<'a> Placement<'a> {
    /// Reads the answer. What makes no sense in it is a violation, and then left aside.
    pub fn new(cluster: &'a Cluster, catalog: &'a Catalog, answer: &'a Answer, found: &mut Vec<Violation>) -> Self {
        let mut places: Vec<Place<'a>> = cluster.machines.iter().map(Place::Machine).collect();
        let mut names: HashMap<String, usize> = HashMap::new();
        for (index, machine) in cluster.machines.iter().enumerate() {
            names.insert(machine.place.clone(), index);
            if let Some(claim) = &machine.claim {
                names.insert(format!("claim/{claim}"), index);
            }
        }
        for claim in &answer.claims {
            let Some(pool) = cluster.pool(&claim.node_pool) else {
                found.push(Violation::of(
                    Rule::Answer,
                    format!("claim {} is of pool {:?}, which does not exist", claim.name, claim.node_pool),
                ));
                continue;
            };
            if names.insert(format!("claim/{}", claim.name), places.len()).is_some() {
                found.push(Violation::of(Rule::Answer, format!("two claims are called {}", claim.name)));
            }
            places.push(Place::Fresh(Box::new(Fresh::new(claim, pool, catalog))));
        }
        let mut placement = Self {
            at: vec![None; cluster.pods.len()],
            moved: vec![false; cluster.pods.len()],
            on: vec![Vec::new(); places.len()],
            cluster,
            catalog,
            places,
        };
        placement.take(answer, &names, found);
        placement
    }

    fn take(&mut self, answer: &Answer, names: &HashMap<String, usize>, found: &mut Vec<Violation>) {
        let numbers: HashMap<&str, usize> =
            self.cluster.pods.iter().enumerate().map(|(index, pod)| (pod.name.as_str(), index)).collect();
        let mut said = |message: String| found.push(Violation::of(Rule::Answer, message));
        let mut answered = vec![false; self.cluster.pods.len()];
        for one in &answer.pods {
            let name = one.full_name();
            let Some(&index) = numbers.get(name.as_str()) else {
                said(format!("{name} is answered, but there is no such pod"));
                continue;
            };
            if std::mem::replace(&mut answered[index], true) {
                said(format!("{name} is answered twice"));
                continue;
            }
            let Some(on) = &one.on else { continue };
            match (&self.cluster.pods[index].role, names.get(on)) {
                (Role::Bound(_) | Role::Gone, _) => {
                    said(format!("{name} is sent to {on}, but it does not wait for a node"))
                }
                (_, None) => said(format!("{name} is sent to {on}, which does not exist")),
                (_, Some(&place)) => {
                    self.at[index] = Some(place);
                    self.moved[index] = true;
                }
            }
        }
        for (index, pod) in self.cluster.pods.iter().enumerate() {
            match &pod.role {
                Role::Waiting if !answered[index] => said(format!("{} waits and is not answered", pod.name)),
                Role::Bound(machine) => self.at[index] = Some(*machine),
                Role::Optional(_) if self.at[index].is_none() => {
                    // It has a node that is leaving, or none at all.
                    let node = crate::pods::node_name(&pod.pod);
                    let stays =
                        self.cluster.machines.iter().position(|one| node.is_some() && one.node.as_deref() == node);
                    self.at[index] = stays;
                }
                _ => {}
            }
            if let Some(place) = self.at[index] {
                self.on[place].push(index);
            }
        }
    }

    pub fn pod(&self, index: usize) -> &'a PodFacts {
        &self.cluster.pods[index]
    }

    /// The pods that the plan places, with their places.
    pub fn moves(&self) -> impl Iterator<Item = (usize, &'a PodFacts, usize)> + '_ {
        (0..self.at.len())
            .filter(|index| self.moved[*index])
            .filter_map(|index| Some((index, self.pod(index), self.at[index]?)))
    }

    /// Those of them on one place.
    pub fn arrivals(&self, place: usize) -> impl Iterator<Item = &'a PodFacts> + '_ {
        self.on[place].iter().filter(|index| self.moved[**index]).map(|index| self.pod(*index))
    }
}

impl Place<'_> {
    pub fn name(&self) -> String {
        match self {
            Self::Machine(machine) => machine.place.clone(),
            Self::Fresh(fresh) => format!("claim/{}", fresh.answer.name),
        }
    }

    pub fn taints(&self) -> &[Taint] {
        match self {
            Self::Machine(machine) => &machine.taints,
            Self::Fresh(fresh) => &fresh.pool.spec.template.spec.taints,
        }
    }

    /// What a label can turn out to be here.
    pub fn domains(&self, key: &str) -> BTreeSet<Option<String>> {
        match self {
            Self::Machine(machine) => BTreeSet::from([machine.labels.get(key).cloned()]),
            Self::Fresh(fresh) => fresh.domains(key),
        }
    }

    /// In which case a demand is not met here.
    pub fn refuses(&self, demand: &NodeDemand) -> Option<String> {
        match self {
            Self::Fresh(fresh) => fresh.refuses(demand),
            Self::Machine(machine) => {
                let value = |key: &str| machine.labels.get(key).map(String::as_str);
                (!demand.accepts(machine.node.as_deref(), value)).then(|| "its labels differ".to_owned())
            }
        }
    }
}
