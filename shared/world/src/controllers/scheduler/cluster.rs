//! The scheduler's picture of the cluster: nodes with what is left on them, and where the pods are.
//!
//! Each node has a slot that it keeps while it lives, so that counts by node are plain vectors.

use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    counts::Counts,
    node_terms::label_map,
    shape::{HostPort, Shape},
};
use crate::{
    api::store::ObjectKey,
    controllers::{fields, quantity},
};

#[derive(Debug, Default)]
pub(super) struct Cluster {
    pub(super) nodes: Vec<Node>,
    slots: BTreeMap<String, usize>,
    free_slots: BTreeSet<usize>,
    placed: BTreeMap<ObjectKey, Placed>,
    pub(super) counts: Counts,
    versions: u64,
}

#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) alive: bool,
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) taints: Vec<Value>,
    pub(super) unschedulable: bool,
    pub(super) allocatable: quantity::Amounts,
    pub(super) used: quantity::Amounts,
    /// Processor and memory in use, for scoring.
    pub(super) assumed: (i64, i64),
    pub(super) size: (i64, i64),
    pub(super) most_pods: i64,
    pub(super) pods: i64,
    pub(super) ports: BTreeMap<HostPort, i64>,
    /// Claims in use, by namespace and name.
    pub(super) claims: BTreeMap<ObjectKey, i64>,
    /// Moves with everything but the pods.
    pub(super) generation: u64,
    /// Moves with everything.
    pub(super) version: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) slot: usize,
    pub(super) shape: Arc<Shape>,
    pub(super) going: bool,
}

impl Cluster {
    pub(super) fn alive(&self) -> impl Iterator<Item = (usize, &Node)> {
        self.nodes.iter().enumerate().filter(|(_, node)| node.alive)
    }

    pub(super) fn size(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn slot(&self, name: &str) -> Option<usize> {
        self.slots.get(name).copied()
    }

    /// Takes in a node. True if anything that matters for scheduling is new; the caller then adds the pods of a node
    /// that was not known before.
    pub(super) fn set_node(&mut self, name: &str, value: &Value) -> bool {
        let slot = match self.slots.get(name) {
            Some(slot) => *slot,
            None => {
                let slot = self.free_slots.pop_first().unwrap_or(self.nodes.len());
                if slot == self.nodes.len() {
                    self.nodes.push(Node::default());
                }
                self.nodes[slot] = Node { alive: true, name: name.to_owned(), ..Node::default() };
                self.slots.insert(name.to_owned(), slot);
                slot
            }
        };
        let labels = label_map(&value["metadata"]["labels"]);
        let taints = fields::list(&value["spec"]["taints"]).to_vec();
        let unschedulable = value["spec"]["unschedulable"] == true;
        let allocatable = quantity::amounts(&value["status"]["allocatable"]);
        let node = &mut self.nodes[slot];
        let known = node.generation > 0;
        let moved = node.labels != labels;
        let same =
            !moved && node.taints == taints && node.unschedulable == unschedulable && node.allocatable == allocatable;
        if known && same {
            return false;
        }
        let of = |name: &str| allocatable.get(name).copied().unwrap_or(0);
        (node.size, node.most_pods) = ((of("cpu"), of("memory")), of("pods"));
        self.versions += 1;
        let (generation, version) = (self.versions, self.versions);
        *node = Node { labels, taints, unschedulable, allocatable, generation, version, ..std::mem::take(node) };
        if moved || !known {
            self.counts.forget_domains();
        }
        true
    }

    pub(super) fn remove_node(&mut self, name: &str) {
        let Some(slot) = self.slots.remove(name) else { return };
        let pods: Vec<ObjectKey> =
            self.placed.iter().filter(|(_, pod)| pod.slot == slot).map(|(key, _)| key.clone()).collect();
        for pod in pods {
            self.remove_pod(&pod);
        }
        self.nodes[slot] = Node::default();
        self.free_slots.insert(slot);
        self.counts.forget_domains();
    }

    /// Puts a pod on a node, or brings what is known of it up to date. False if nothing is new.
    pub(super) fn place(&mut self, key: &ObjectKey, node: &str, shape: &Arc<Shape>, going: bool) -> bool {
        let Some(slot) = self.slot(node) else { return self.remove_pod(key) };
        if self
            .placed
            .get(key)
            .is_some_and(|old| old.slot == slot && old.shape.number == shape.number && old.going == going)
        {
            return false;
        }
        self.remove_pod(key);
        let placed = Placed { slot, shape: shape.clone(), going };
        self.count(&placed, 1);
        self.placed.insert(key.clone(), placed);
        true
    }

    pub(super) fn remove_pod(&mut self, key: &ObjectKey) -> bool {
        let Some(placed) = self.placed.remove(key) else { return false };
        self.count(&placed, -1);
        true
    }

    fn count(&mut self, placed: &Placed, sign: i64) {
        let (node, shape) = (&mut self.nodes[placed.slot], &placed.shape);
        self.versions += 1;
        node.version = self.versions;
        node.pods += sign;
        node.assumed.0 += sign * shape.assumed.0;
        node.assumed.1 += sign * shape.assumed.1;
        for (resource, amount) in &shape.requests {
            match node.used.get_mut(resource) {
                Some(used) => *used += sign * amount,
                None => _ = node.used.insert(resource.clone(), sign * amount),
            }
        }
        for port in &shape.ports {
            *node.ports.entry(port.clone()).or_insert(0) += sign;
        }
        node.ports.retain(|_, count| *count > 0);
        for claim in &shape.claims {
            *node.claims.entry((shape.namespace.clone(), claim.clone())).or_insert(0) += sign;
        }
        node.claims.retain(|_, count| *count > 0);
        self.counts.count(placed, sign);
    }

    /// Makes sure that everything a shape asks about other pods is counted, and where domains are.
    pub(super) fn prepare(&mut self, shape: &Shape) {
        if shape.is_simple() {
            return;
        }
        self.counts.make_room();
        let terms = shape.near.iter().chain(&shape.apart).chain(shape.preferred_pods.iter().map(|(_, term)| term));
        for term in terms.chain(shape.spread.iter().map(|spread| &spread.pods)) {
            self.counts.follow(term, &self.placed);
            self.counts.find_domains(&term.key, &self.nodes);
        }
    }

    /// The same for the terms that pods already there carry against newcomers.
    pub(super) fn prepare_carried(&mut self) {
        for key in self.counts.carried_keys() {
            self.counts.find_domains(&key, &self.nodes);
        }
    }

    /// Forgets what was counted, because what terms mean has changed (labels of namespaces).
    pub(super) fn forget_shapes(&mut self) {
        for key in self.placed.keys().cloned().collect::<Vec<_>>() {
            self.remove_pod(&key);
        }
        self.counts = Counts::default();
    }
}
