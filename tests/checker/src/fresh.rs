//! A claim that a plan makes, and every node that may come of it: all offerings it lists, and all others of those types that its
//! requirements leave open. Each of them has to keep every constraint.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::answer::ClaimAnswer;
use crate::catalog::{Catalog, InstanceType, Offering};
use crate::labels::{
    HOSTNAME, INITIALIZED, INSTANCE_TYPE, NodeDemand, REGISTERED, WELL_KNOWN, allows, holds, normal, representatives,
};
use crate::objects::{NodePool, Requirement};
use crate::quantity;

pub struct Fresh<'a> {
    pub answer: Cow<'a, ClaimAnswer>,
    pub pool: &'a NodePool,
    pub requirements: Vec<Requirement>,
    /// Type and offering by number, of all nodes that may come of the claim.
    pub candidates: Vec<(usize, usize)>,
    /// Names of the types that the requirements allow.
    open_types: HashSet<String>,
    pool_labels: BTreeMap<String, String>,
    catalog: &'a Catalog,
}

impl<'a> Fresh<'a> {
    pub fn new(answer: &'a ClaimAnswer, pool: &'a NodePool, catalog: &'a Catalog) -> Self {
        Self::of(Cow::Borrowed(answer), pool, catalog)
    }

    /// What a pool leaves to its claims, seen as a claim that nothing has narrowed yet.
    pub fn unopened(pool: &'a NodePool, catalog: &'a Catalog) -> Self {
        let template = &pool.spec.template;
        let answer = ClaimAnswer {
            name: "a new claim".to_owned(),
            node_pool: pool.name().to_owned(),
            labels: pool.labels(),
            taints: template.spec.taints.clone(),
            requirements: template.spec.requirements.clone(),
            ..ClaimAnswer::default()
        };
        Self::of(Cow::Owned(answer), pool, catalog)
    }

    fn of(answer: Cow<'a, ClaimAnswer>, pool: &'a NodePool, catalog: &'a Catalog) -> Self {
        let requirements = normalized(&answer.requirements);
        let requests = quantity::resources(&answer.requests);
        let listed: BTreeSet<String> = answer.offerings.iter().map(|one| one.instance_type.clone()).collect();
        let named = requirements.iter().any(|one| one.key == INSTANCE_TYPE && one.operator == "In");
        let open_types = open_types(&requirements, catalog);
        let pool_labels = pool.labels();
        let mut fresh = Self { answer, pool, requirements, candidates: Vec::new(), open_types, pool_labels, catalog };
        for (index, one) in catalog.types.iter().enumerate() {
            let fits = requests.iter().all(|(name, amount)| one.capacity.get(name).copied().unwrap_or(0) >= *amount);
            if listed.contains(&one.name) || (fresh.open_types.contains(&one.name) && (named || fits)) {
                let available = one.offerings.iter().enumerate().filter(|(_, offering)| offering.available);
                let open = available.filter(|(_, offering)| fresh.leaves_open(one, offering));
                let found: Vec<_> = open.map(|(number, _)| (index, number)).collect();
                fresh.candidates.extend(found);
            }
        }
        fresh
    }

    pub fn nodes(&self) -> impl Iterator<Item = (&'a InstanceType, &'a Offering)> {
        let catalog = self.catalog;
        self.candidates.iter().map(move |(one, offering)| {
            let one = &catalog.types[*one];
            (one, &one.offerings[*offering])
        })
    }

    /// Whether the requirements allow a node of this type and offering.
    pub fn leaves_open(&self, one: &InstanceType, offering: &Offering) -> bool {
        let keys = self.requirements.iter().map(|one| one.key.as_str()).filter(|key| *key != INSTANCE_TYPE);
        let mut decided = keys.filter(|key| self.catalog.decides(key));
        self.open_types.contains(&one.name) && decided.all(|key| !self.decided(one, offering, key).is_empty())
    }

    fn decided(&self, one: &InstanceType, offering: &Offering, key: &str) -> Vec<Option<String>> {
        if key == INSTANCE_TYPE {
            return self.open_types.contains(&one.name).then(|| Some(one.name.clone())).into_iter().collect();
        }
        let values = one.values(offering, key);
        let all = values.iter().map(|value| Some(value.clone())).chain(values.is_empty().then_some(None));
        all.filter(|value| allows(&self.requirements, key, value.as_deref())).collect()
    }

    /// Everything a label can be on a node of this type and offering. `mentioned` are values that the question is about.
    pub fn values(
        &self,
        (one, offering): (&InstanceType, &Offering),
        key: &str,
        mentioned: &[&String],
    ) -> Vec<Option<String>> {
        if self.catalog.decides(key) {
            return self.decided(one, offering, key);
        }
        let fixed = match key {
            HOSTNAME => Some(format!("host of {}", self.answer.name)),
            REGISTERED | INITIALIZED => Some("true".to_owned()),
            _ => {
                let template = &self.pool_labels;
                let find = |labels: &BTreeMap<String, String>| {
                    labels.iter().find(|(label, _)| normal(label) == key).map(|(_, value)| value.clone())
                };
                find(&self.answer.labels).or_else(|| find(template))
            }
        };
        if fixed.is_some() {
            return vec![fixed];
        }
        let own: Vec<&Requirement> = self.requirements.iter().filter(|one| one.key == key).collect();
        if own.is_empty() {
            return vec![None];
        }
        let said = own.iter().flat_map(|one| &one.values).chain(mentioned.iter().copied());
        let all = representatives(said).into_iter();
        all.filter(|value| allows(&self.requirements, key, value.as_deref())).collect()
    }

    /// All values a label can have on the nodes that may come of this.
    pub fn domains(&self, key: &str) -> BTreeSet<Option<String>> {
        if !self.catalog.decides(key) {
            return self.nodes().next().map(|node| self.values(node, key, &[])).into_iter().flatten().collect();
        }
        let mut seen = BTreeSet::new();
        for (one, offering) in self.nodes() {
            for value in self.decided(one, offering, key) {
                seen.insert(value);
            }
        }
        seen
    }

    /// The first node that may come of this and does not meet a demand, in words.
    pub fn refuses(&self, demand: &NodeDemand) -> Option<String> {
        if demand.is_empty() {
            return None;
        }
        let mut seen = BTreeSet::new();
        for node in self.nodes() {
            let table = self.table(node, &[demand]);
            if !seen.insert(table.clone()) {
                continue;
            }
            if let Some(labels) = counterexample(&table, demand) {
                let (one, offering) = node;
                return Some(format!("{} in {} ({labels})", one.name, offering.zone));
            }
        }
        None
    }

    /// Whether a node meets a demand for some value of the labels that are left open.
    pub fn may_accept(&self, node: (&InstanceType, &Offering), demand: &NodeDemand) -> bool {
        self.may_accept_all(node, &[demand])
    }

    /// The same for several demands at once.
    pub fn may_accept_all(&self, node: (&InstanceType, &Offering), demands: &[&NodeDemand]) -> bool {
        if demands.iter().all(|demand| demand.is_empty()) {
            return true;
        }
        let table = self.table(node, demands);
        combinations(&table).iter().any(|labels| demands.iter().all(|demand| meets(labels, demand)))
    }

    fn table(&self, node: (&InstanceType, &Offering), demands: &[&NodeDemand]) -> Vec<(String, Vec<Option<String>>)> {
        let keys: BTreeSet<&str> = demands.iter().flat_map(|demand| demand.keys()).collect();
        let row = |key: &str| {
            let mentioned: Vec<&String> = demands.iter().flat_map(|demand| demand.mentioned(key)).collect();
            (key.to_owned(), self.values(node, key, &mentioned))
        };
        keys.into_iter().map(row).collect()
    }
}

/// The one requirement with hundreds of values: looked up instead of searched.
fn open_types(requirements: &[Requirement], catalog: &Catalog) -> HashSet<String> {
    let own: Vec<&Requirement> = requirements.iter().filter(|one| one.key == INSTANCE_TYPE).collect();
    let (lists, others): (Vec<&Requirement>, Vec<&Requirement>) = own.into_iter().partition(|one| one.operator == "In");
    let lists: Vec<HashSet<&String>> = lists.into_iter().map(|one| one.values.iter().collect()).collect();
    let names = catalog.types.iter().map(|one| &one.name);
    let open = names.filter(|name| {
        let other = others.iter().all(|one| holds(&one.operator, &one.values, Some(name)));
        other && lists.iter().all(|list| list.contains(name))
    });
    open.cloned().collect()
}

/// Requirements under present names of their keys.
pub fn normalized(requirements: &[Requirement]) -> Vec<Requirement> {
    let present = |one: &Requirement| Requirement { key: normal(&one.key).to_owned(), ..one.clone() };
    requirements.iter().map(present).collect()
}

/// Whether a claim may ask for a label at all: the pool has to have it, or the cloud to know it, unless its absence will do.
pub fn is_defined(key: &str, pool: &NodePool, catalog: &Catalog) -> bool {
    let template = &pool.spec.template;
    let known = WELL_KNOWN.contains(&key) || catalog.decides(key) || matches!(key, HOSTNAME | REGISTERED | INITIALIZED);
    known
        || pool.labels().keys().any(|label| normal(label) == key)
        || template.spec.requirements.iter().any(|one| normal(&one.key) == key)
}

type Combination<'t> = BTreeMap<&'t str, Option<&'t str>>;

fn combinations(table: &[(String, Vec<Option<String>>)]) -> Vec<Combination<'_>> {
    let mut all = vec![Combination::new()];
    for (key, values) in table {
        let mut longer = Vec::with_capacity(all.len() * values.len());
        for combination in &all {
            for value in values {
                let mut more = combination.clone();
                more.insert(key.as_str(), value.as_deref());
                longer.push(more);
            }
        }
        all = longer;
    }
    all
}

fn meets(labels: &Combination<'_>, demand: &NodeDemand) -> bool {
    demand.accepts(None, |key| labels.get(key).copied().flatten())
}

fn counterexample(table: &[(String, Vec<Option<String>>)], demand: &NodeDemand) -> Option<String> {
    let all = combinations(table);
    let labels = all.iter().find(|labels| !meets(labels, demand))?;
    let words: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={}", value.unwrap_or("(none)"))).collect();
    Some(words.join(", "))
}
