//! Whether a pod would find a new node if it were the only pod: which pools, types and offerings would do.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::catalog::{Catalog, InstanceType, Offering};
use crate::cluster::{Cluster, PodFacts};
use crate::daemons;
use crate::fresh::Fresh;
use crate::labels::NodeDemand;
use crate::pods::untolerated;
use crate::quantity;

/// The number of a pool, and of its types and offerings that would do.
pub type Options = Vec<(usize, Vec<(usize, usize)>)>;

pub struct Alone<'a> {
    cluster: &'a Cluster,
    /// One for each pool that makes claims, with its number.
    templates: Vec<(usize, Fresh<'a>)>,
    cache: RefCell<HashMap<String, Rc<Options>>>,
}

impl<'a> Alone<'a> {
    pub fn new(cluster: &'a Cluster, catalog: &'a Catalog) -> Self {
        let pools = cluster.pools.iter().enumerate().filter(|(_, pool)| pool.is_open());
        let templates = pools.map(|(index, pool)| (index, Fresh::unopened(pool, catalog))).collect();
        Self { cluster, templates, cache: RefCell::default() }
    }

    /// What would do for this pod with this demand (its own, or one alternative of it).
    pub fn options(&self, pod: &PodFacts, demand: &NodeDemand) -> Rc<Options> {
        let spec = pod.pod.spec.as_ref().and_then(|spec| serde_json::to_string(spec).ok()).unwrap_or_default();
        let key = format!("{} {spec} {demand:?}", pod.namespace);
        if let Some(known) = self.cache.borrow().get(&key) {
            return Rc::clone(known);
        }
        let options = Rc::new(self.find(pod, demand));
        self.cache.borrow_mut().insert(key, Rc::clone(&options));
        options
    }

    fn find(&self, pod: &PodFacts, demand: &NodeDemand) -> Options {
        let Ok(volumes) = self.cluster.volumes.demands(&pod.pod) else { return Vec::new() };
        let mut options = Vec::new();
        for (index, fresh) in &self.templates {
            if untolerated(&pod.pod, &fresh.pool.spec.template.spec.taints).is_some() {
                continue;
            }
            let demands: Vec<&NodeDemand> = std::iter::once(demand).chain(&volumes).collect();
            let candidates = fresh.candidates.iter().copied().zip(fresh.nodes());
            let suits = candidates.filter(|(_, node)| self.suits(pod, fresh, *node, &demands));
            let found: Vec<(usize, usize)> = suits.map(|(numbers, _)| numbers).collect();
            if !found.is_empty() {
                options.push((*index, found));
            }
        }
        options
    }

    fn suits(
        &self,
        pod: &PodFacts,
        fresh: &Fresh<'_>,
        node: (&InstanceType, &Offering),
        demands: &[&NodeDemand],
    ) -> bool {
        let enough =
            pod.requests.iter().all(|(name, amount)| node.0.capacity.get(name).copied().unwrap_or(0) >= *amount);
        if !enough || !fresh.may_accept_all(node, demands) {
            return false;
        }
        let daemons = daemons::on_fresh(self.cluster, fresh, node);
        let free =
            |daemon: &&PodFacts| !daemon.ports.iter().any(|theirs| pod.ports.iter().any(|port| port.conflicts(theirs)));
        let ports = daemons.iter().all(free);
        let mut wanted = daemons::total(daemons.into_iter());
        quantity::add(&mut wanted, &pod.requests);
        ports && wanted.iter().all(|(name, amount)| node.0.capacity.get(name).copied().unwrap_or(0) >= *amount)
    }
}
