//! Everything about a scene that does not change while pods are placed, in numbers.

use model::place::{NodeStage, PodThere, Scene};
use model::{Resources, Taint};
use std::rc::Rc;

use super::amounts::{Columns, Row, add, one_device, subtract};
use super::counters::{Counted, Counters, Spot};
use super::hash::Map;
use super::learn;
use super::mask::Mask;
use super::needs::{Label, NeedId, Needs};
use super::selecting;
use super::shapes::{self, Kin, Kins, Selecting, Shape};
use super::sources::{self, DaemonNeeds, Source};
use super::states::{Domain, StateId, States};
use super::taints;
use super::words::{HOST, Key, Words};
use crate::requirement::label_of;

pub struct Ground<'a> {
    pub scene: &'a Scene,
    pub columns: Columns<'a>,
    pub words: Words<'a>,
    pub needs: Needs,
    pub kins: Kins<'a>,
    pub counters: Counters,
    pub states: States<'a>,
    pub sources: Vec<Source<'a>>,
    /// Pools in the order they are asked: by weight, then by name.
    pub by_weight: Vec<usize>,
    /// Needs that claims are opened with, in this order.
    pub ways_to_buy: Rc<[NeedId]>,
    /// What pods need that tolerate no spot machine of a pool.
    pub not_spot: NeedId,
    pub nodes: Vec<NodeInfo<'a>>,
    pub has_preferred_taints: bool,
    slot_of: Map<Key, usize>,
    slots: Vec<Key>,
    /// By position in the scene's bound pods.
    bound_kins: Vec<Kin>,
}

/// A node as rules see it.
#[derive(Debug)]
pub struct NodeInfo<'a> {
    /// By key.
    pub labels: Vec<Label>,
    /// By topology slot.
    pub domains: Vec<Domain>,
    pub taints: Vec<&'a Taint>,
    /// What is free on it for pods.
    pub room: Row,
    /// Devices of which a part is taken: column, and what is left of each.
    pub partials: Vec<(usize, i64)>,
    pub accelerated: bool,
}

impl<'a> Ground<'a> {
    /// The ground, and the shapes of the pods that stand on it.
    pub fn new(scene: &'a Scene) -> (Self, Vec<Shape<'a>>) {
        let columns = Columns::new(scene);
        let selecting = Selecting::new(scene);
        let mut kins = Kins::new();
        let shapes = shapes::group(scene, &columns, &selecting, &mut kins);
        let bound_kins: Vec<usize> =
            scene.bound.iter().map(|pod| kins.learn(pod.namespace.as_str(), &pod.labels, &selecting)).collect();
        let (words, slots) = learn::words(scene, &shapes);
        let mut needs = Needs::new();
        let mut states = States::new(sources::shelves(scene, &words), slots.clone(), &words);
        let daemons: Vec<DaemonNeeds<'a>> =
            scene.daemons.iter().map(|daemon| DaemonNeeds::new(daemon, &columns, &words, &mut needs)).collect();
        let sources = sources::build(scene, &columns, &words, &mut needs, &mut states, &daemons);
        let mut by_weight: Vec<usize> = (0..sources.len()).collect();
        by_weight.sort_by_key(|at| (core::cmp::Reverse(sources[*at].pool.weight), sources[*at].pool.name.as_str()));
        let ways_to_buy = learn::ways_to_buy(scene, &words, &mut needs).into();
        let not_spot = learn::not_spot(&words, &mut needs);
        let nodes = node_infos(scene, &columns, &words, &needs, &slots, &daemons);
        let slot_of = slots.iter().enumerate().map(|(slot, key)| (*key, slot)).collect();
        let has_preferred_taints = sources::has_preferred_taints(scene);
        let counters = Counters::new();
        let mut ground = Ground {
            scene,
            columns,
            words,
            needs,
            kins,
            counters,
            states,
            sources,
            by_weight,
            ways_to_buy,
            not_spot,
            nodes,
            has_preferred_taints,
            slot_of,
            slots,
            bound_kins,
        };
        ground.learn_averse_bound();
        (ground, shapes)
    }

    /// What "the same place" means under a topology key.
    pub fn spot(&self, key: &str) -> Option<Spot> {
        match self.words.key(key)? {
            HOST => Some(Spot::Host),
            key => self.slot_of.get(&key).map(|slot| Spot::Slot(*slot)),
        }
    }

    pub fn is_key_of(&self, key: Key, slot: usize) -> bool {
        self.slots.get(slot) == Some(&key)
    }

    pub fn slot_name(&self, slot: usize) -> &'a str {
        self.slots.get(slot).map_or("", |key| self.words.key_name(*key))
    }

    /// The domains whose least count a spread looks at: those that could be made and that one of the needs allows, and those that
    /// exist, of which the needs may forbid none (`all_there`). Only where taints are tolerated, if a shape says so, and where there are
    /// all of these slots.
    pub fn eligible(
        &mut self,
        slot: usize,
        needs: &[NeedId],
        all_there: bool,
        tolerant: Option<&Shape<'_>>,
        slots: &[usize],
    ) -> Mask {
        let key = self.slots[slot];
        // By source: the terms that something it makes can keep. One that nothing keeps makes no domain.
        let bases: Vec<Option<StateId>> = self.sources.iter().map(|source| source.base).collect();
        let alive: Vec<Vec<NeedId>> = bases
            .iter()
            .map(|base| {
                let kept = |need: &&NeedId| {
                    base.is_some_and(|base| self.states.narrow(base, **need, &self.needs, &self.words).is_some())
                };
                if needs.len() > 1 { needs.iter().filter(kept).copied().collect() } else { needs.to_vec() }
            })
            .collect();
        let keeps = |need: &NeedId, value: usize| {
            self.needs.get(*need).iter().all(|(own, allowed)| *own != key || allowed.has(value))
        };
        let tolerates = |taints: &[&Taint]| {
            tolerant.is_none_or(|shape| taints::tolerated(taints, &shape.example.tolerations, true))
        };
        let mut domains = Mask::none(0);
        let open = |source: &Source<'_>| source.pool.closed.is_none() && tolerates(&source.taints);
        for (source, alive) in self.sources.iter().zip(&alive).filter(|(source, _)| open(source)) {
            let allowed = |value: &usize| needs.is_empty() || alive.iter().any(|need| keeps(need, *value));
            let has_all = |base: &usize| slots.iter().all(|slot| !self.states.reachable(*base, *slot).is_empty());
            if let Some(base) = source.base.filter(has_all) {
                self.states.reachable(base, slot).iter().filter(allowed).for_each(|value| domains.insert(value));
            }
        }
        for (node, _) in self.nodes.iter().zip(&self.scene.nodes).filter(|(_, there)| !there.deleting) {
            let Domain::Known(value) = node.domains[slot] else { continue };
            let kept = || needs.is_empty() || needs.iter().any(|need| self.needs.kept(*need, |key| node.labels[key]));
            if tolerates(&node.taints) && has_all(&node.domains, slots) && (all_there || kept()) {
                domains.insert(value);
            }
        }
        domains
    }

    /// Whether a filter of a spread lets a node through.
    pub fn passes(&self, filter: usize, node: usize, shapes: &[Shape<'_>]) -> bool {
        let (filter, info) = (&self.counters.filters[filter], &self.nodes[node]);
        let labels = |key: Key| info.labels[key];
        let kept = filter.needs.is_empty() || filter.needs.iter().any(|need| self.needs.kept(*need, labels));
        let tolerations = filter.tolerated_by.map(|shape| &shapes[shape].example.tolerations);
        kept && has_all(&info.domains, &filter.slots)
            && tolerations.is_none_or(|tolerations| taints::tolerated(&info.taints, tolerations, true))
    }

    /// Counts the pods that are there already. All rules must be known by now.
    pub fn count_bound(&mut self, shapes: &[Shape<'_>]) {
        let counted = |pod: &PodThere| !pod.terminating && pod.node < self.nodes.len();
        let bound: Vec<(Kin, usize)> = self
            .scene
            .bound
            .iter()
            .zip(&self.bound_kins)
            .filter(|(pod, _)| counted(pod))
            .map(|(pod, kin)| (*kin, pod.node))
            .collect();
        for (kin, node) in bound {
            for id in 0..self.counters.all.len() {
                let counter = &self.counters.all[id];
                let Counted::Pods(filter) = counter.counted else { continue };
                if counter.kins.has(kin) && (filter == 0 || self.passes(filter, node, shapes)) {
                    self.count(id, node);
                    self.counters.all[id].was_there = true;
                }
            }
        }
    }

    /// Counts one more at a node.
    fn count(&mut self, counter: usize, node: usize) {
        match (self.counters.all[counter].spot, &self.nodes[node]) {
            (Spot::Host, _) => self.counters.all[counter].add(node),
            (Spot::Slot(slot), info) => {
                if let Domain::Known(value) = info.domains[slot] {
                    self.counters.all[counter].add(value);
                }
            }
        }
    }

    /// Pods that are there and keep others away.
    fn learn_averse_bound(&mut self) {
        let nodes = self.nodes.len();
        for pod in self.scene.bound.iter().filter(|pod| !pod.terminating && pod.node < nodes) {
            for term in &pod.anti_affinity {
                let kins = selecting::of_term(term, pod.namespace.as_str(), &pod.labels, &self.kins, self.scene);
                if let Some(spot) = self.spot(&term.topology_key) {
                    let counter = self.counters.id(spot, kins, Counted::Averse);
                    self.count(counter, pod.node);
                }
            }
        }
    }
}

fn has_all(domains: &[Domain], slots: &[usize]) -> bool {
    slots.iter().all(|slot| matches!(domains[*slot], Domain::Known(_)))
}

fn node_infos<'a>(
    scene: &'a Scene,
    columns: &Columns<'a>,
    words: &Words<'a>,
    needs: &Needs,
    slots: &[Key],
    daemons: &[DaemonNeeds<'a>],
) -> Vec<NodeInfo<'a>> {
    let mut infos: Vec<NodeInfo<'a>> = scene
        .nodes
        .iter()
        .map(|node| {
            let labels: Vec<Label> = (0..words.keys())
                .map(|key| {
                    let name = words.key_name(key);
                    let own = label_of(&node.labels, name);
                    let value = if key == HOST { Some(own.unwrap_or(node.name.as_str())) } else { own };
                    value.map_or(Label::Absent, |value| words.value(key, value).map_or(Label::Unnamed, Label::Value))
                })
                .collect();
            let domain = |key: &Key| match labels[*key] {
                Label::Value(value) => Domain::Known(value),
                Label::Unnamed | Label::Absent => Domain::Absent,
            };
            let room = columns.row(&promised(node.stage, &node.allocatable, &node.promised));
            let accelerated = node
                .allocatable
                .iter()
                .chain(&node.promised)
                .any(|(name, amount)| amount.thousandths() > 0 && super::amounts::is_accelerator(name));
            NodeInfo {
                domains: slots.iter().map(domain).collect(),
                labels,
                taints: taints::lasting(node),
                room,
                partials: vec![],
                accelerated,
            }
        })
        .collect();
    let mut here = vec![Mask::none(daemons.len()); infos.len()];
    for pod in &scene.bound {
        let Some(info) = infos.get_mut(pod.node) else { continue };
        let (mut request, part) = columns.request(&pod.requests);
        if let Some(part) = part {
            request[part.device] += take_part(&mut info.partials, part);
        }
        subtract(&mut info.room, &request);
        if let Some(daemon) = pod.daemon {
            here[pod.node].insert(daemon);
        }
    }
    for (info, here) in infos.iter_mut().zip(&here) {
        let mut expected = vec![0; columns.len()];
        for (_, daemon) in daemons.iter().enumerate().filter(|(at, _)| !here.has(*at)) {
            let labels = |key: Key| info.labels[key];
            if daemon.tolerates(&info.taints) && daemon.needs.iter().any(|need| needs.kept(*need, labels)) {
                add(&mut expected, &daemon.request);
            }
        }
        subtract(&mut info.room, &expected);
    }
    infos
}

/// What a node will have: until it is up, the claim's word counts where the kubelet says none.
fn promised(stage: NodeStage, allocatable: &Resources, promised: &Resources) -> Resources {
    let mut all = allocatable.clone();
    if stage != NodeStage::Initialized {
        for (name, amount) in promised {
            let own = all.entry(name.clone()).or_default();
            if own.thousandths() == 0 {
                *own = *amount;
            }
        }
    }
    all
}

/// Takes a share from the fullest device that has room for it; answers what of a whole device that costs.
pub fn take_part(partials: &mut Vec<(usize, i64)>, part: super::amounts::Part) -> i64 {
    let fitting = partials.iter_mut().filter(|(device, left)| *device == part.device && *left >= part.amount);
    if let Some((_, left)) = fitting.min_by_key(|(_, left)| *left) {
        *left -= part.amount;
        return 0;
    }
    partials.push((part.device, part.per_device - part.amount));
    one_device()
}
