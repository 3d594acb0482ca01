//! The cluster as a board: every pod stands where it is, and every question is what happens without some nodes.

use jiff::Timestamp;
use model::{
    disruption::{Decision, Disruption, Kept, KeptCode, Reason},
    place::{NodeStage, PodThere, Scene, Where},
};
use std::{collections::BTreeMap, ops::Range};

use super::{
    Situation, Stay,
    budgets::{Budgets, Counts},
    candidate::{self, Candidate},
    held,
};
use crate::{
    place::{self, moving::Moving},
    provision::{claims::Maker, learn, machines, nominations},
};

pub struct Board<'s> {
    pub situation: &'s Situation,
    pub candidates: Vec<Candidate<'s>>,
    /// Nodes that are no candidates, with the reason.
    others: Vec<(usize, Stay)>,
    /// The pods of candidates in `Scene::pods`, all others in `Scene::bound`.
    pub scene: Scene,
    /// Of each pod of that scene: its node, and its position in the inventory.
    pub homes: Vec<usize>,
    pub pods: Vec<usize>,
    /// Of each node: its pods in that scene, which stand together.
    ranges: Vec<Range<usize>>,
    by_node: Vec<Option<usize>>,
}

/// What is chosen, step by step.
pub struct Choosing<'b> {
    pub board: &'b Board<'b>,
    pub moving: Moving<'b>,
    pub budgets: Budgets,
    /// By candidate.
    pub gone: Vec<bool>,
    pub stays: Vec<Option<Stay>>,
    pub chosen: Vec<Disruption>,
    pub maker: Maker<'b>,
    pub out_of_time: bool,
}

impl<'s> Board<'s> {
    pub fn new(situation: &'s Situation, still_time: &mut dyn FnMut() -> bool) -> Self {
        let given = &situation.provision;
        let mut scene = given.scene.clone();
        learn::learn(&mut scene);
        nominations::settle(&mut scene, &given.claims, given.now);
        machines::take_from_racks(&mut scene, given);
        let bound = scene.bound.len().min(given.scene.bound.len());
        let expected = expected(&mut scene, still_time);
        let mut pods_on: Vec<Vec<usize>> = vec![vec![]; scene.nodes.len()];
        for (at, pod) in scene.bound.iter().enumerate().take(bound) {
            if let Some(on) = pods_on.get_mut(pod.node) {
                on.push(at);
            }
        }
        let (mut candidates, mut others) = (vec![], vec![]);
        for here in &situation.inventory.nodes {
            let pods = pods_on.get(here.node).map(Vec::as_slice).unwrap_or_default();
            match candidate::candidate(situation, here, pods) {
                Some(Ok(mut found)) => {
                    let waits =
                        expected.get(&here.node).map(|pod| format!("pod {pod}, which waits, is expected on it"));
                    found.spared = found.spared.or_else(|| Some(Stay::new(KeptCode::Nominated, waits?)));
                    candidates.push(found);
                }
                Some(Err(stay)) => others.push((here.node, stay)),
                None => {}
            }
        }
        let ranges = vec![0..0; scene.nodes.len()];
        let mut by_node = vec![None; scene.nodes.len()];
        candidates.iter().enumerate().for_each(|(at, of): (usize, &Candidate<'_>)| by_node[of.node] = Some(at));
        let mut board = Board { situation, candidates, others, scene, homes: vec![], pods: vec![], ranges, by_node };
        board.lift_pods();
        board
    }

    /// The candidate that a node of the scene is.
    pub fn candidate_at(&self, node: usize) -> Option<usize> {
        self.by_node.get(node).copied().flatten()
    }

    /// The pods of a candidate, as positions in the board's scene.
    pub fn pods_of(&self, candidate: usize) -> Range<usize> {
        let node = self.candidates.get(candidate).map(|of| of.node);
        node.and_then(|node| self.ranges.get(node)).cloned().unwrap_or_default()
    }

    pub fn now(&self) -> Timestamp {
        self.situation.provision.now
    }

    /// Makes pods of candidates ones that look for a place. Those that are left behind until a deadline stay where they are.
    fn lift_pods(&mut self) {
        let mut lifted = vec![false; self.scene.bound.len()];
        for candidate in &self.candidates {
            let stays = |at: &usize| {
                candidate.left_behind.contains(at)
                    && candidate.termination_grace().is_some()
                    && candidate.here.unhealthy.is_none()
            };
            let first = self.homes.len();
            for at in candidate.moving.iter().filter(|at| !stays(at)) {
                let Some(pod) = self.situation.inventory.pods.get(*at).and_then(|pod| pod.moves.clone()) else {
                    continue;
                };
                self.scene.pods.push(model::place::PodToPlace { planned: None, ..pod });
                self.homes.push(candidate.node);
                self.pods.push(*at);
                lifted[*at] = true;
            }
            self.ranges[candidate.node] = first..self.homes.len();
        }
        let bound = core::mem::take(&mut self.scene.bound);
        self.scene.bound = bound.into_iter().zip(lifted).filter(|(_, lifted)| !lifted).map(|(pod, _)| pod).collect();
    }

    /// A pool whose replacements keep failing is left alone, so that it does not lose nodes that work.
    pub fn paused(&self, pool: usize) -> Option<Stay> {
        let paused = self.situation.inventory.pools.get(pool).and_then(|pool| pool.paused.as_ref());
        let paused = paused.filter(|paused| paused.until > self.now())?;
        let words =
            format!("replacements of its pool failed, so it is left alone until {}: {}", paused.until, paused.why);
        Some(Stay { code: KeptCode::BackingOff, words, until: Some(paused.until) })
    }

    fn counts(&self) -> Vec<Counts> {
        let scene = &self.situation.provision.scene;
        let mut counts = vec![Counts::default(); scene.pools.len()];
        for here in &self.situation.inventory.nodes {
            let Some(there) = scene.nodes.get(here.node).filter(|there| there.stage == NodeStage::Initialized) else {
                continue;
            };
            let pool = there.pool.as_ref().and_then(|name| scene.pools.iter().position(|pool| pool.name == *name));
            let Some(of) = pool.and_then(|pool| counts.get_mut(pool)) else { continue };
            of.nodes += 1;
            if there.deleting || here.disrupted {
                of.going += 1;
            } else if !here.ready {
                of.going += 1;
                of.unhealthy += usize::from(here.unhealthy.is_some());
            }
        }
        counts
    }
}

/// Finds room for pods that wait on what is there: those nodes are left alone. The first such pod of each.
fn expected(scene: &mut Scene, still_time: &mut dyn FnMut() -> bool) -> BTreeMap<usize, String> {
    let mut expected = BTreeMap::new();
    if scene.pods.is_empty() {
        return expected;
    }
    let placing = place::place(scene, still_time);
    for (pod, at) in core::mem::take(&mut scene.pods).iter().zip(&placing.pods) {
        if let Where::Node(node) = at {
            let there: PodThere = nominations::as_bound(pod, *node);
            expected.entry(*node).or_insert_with(|| held::name(&there));
            scene.bound.push(there);
        }
    }
    expected
}

impl<'b> Choosing<'b> {
    pub fn new(board: &'b Board<'b>) -> Self {
        let mut moving = Moving::new(&board.scene, &board.homes);
        for (at, node) in board.scene.nodes.iter().enumerate() {
            if node.stage != NodeStage::Initialized {
                moving.close(at);
            }
        }
        for here in board.situation.inventory.nodes.iter().filter(|here| here.disrupted) {
            moving.close(here.node);
        }
        let budgets = Budgets::new(&board.situation.inventory.pools, &board.counts(), board.now());
        let count = board.candidates.len();
        Choosing {
            board,
            moving,
            budgets,
            gone: vec![false; count],
            stays: vec![None; count],
            chosen: vec![],
            maker: Maker::new(&board.situation.provision),
            out_of_time: false,
        }
    }

    /// Candidates that are still there.
    pub fn staying(&self) -> Vec<usize> {
        (0..self.board.candidates.len()).filter(|at| !self.gone[*at]).collect()
    }

    pub fn stay(&mut self, candidate: usize, stay: Stay) {
        self.stays[candidate] = Some(stay);
    }

    /// Whether a budget lets one more go; if not, that is why it stays.
    pub fn budget_allows(&mut self, candidate: usize, reason: Reason) -> bool {
        match self.budgets.allow(self.board.candidates[candidate].pool, reason, 1) {
            Ok(()) => true,
            Err(words) => {
                self.stay(candidate, Stay::new(KeptCode::Budget, words));
                false
            }
        }
    }

    /// It goes: nothing comes to it any more, and the budgets have it.
    pub fn go(&mut self, candidate: usize) {
        let of = &self.board.candidates[candidate];
        self.gone[candidate] = true;
        self.stays[candidate] = None;
        self.moving.close(of.node);
        self.budgets.take(of.pool, 1);
    }

    /// It was to go and stays after all, with the budget that it had: nothing more is chosen in its place.
    pub fn come_back(&mut self, candidate: usize, stay: Stay) {
        self.gone[candidate] = false;
        self.stay(candidate, stay);
    }

    pub fn decision(mut self) -> Decision {
        let board = self.board;
        let scene = &board.situation.provision.scene;
        let mut kept: Vec<(usize, Stay)> = board.others.clone();
        for at in self.staying() {
            let stay = self.stays[at].take();
            let unsaid = || Stay::new(KeptCode::NotCheaper, "nothing would be saved without it");
            kept.push((board.candidates[at].node, stay.unwrap_or_else(unsaid)));
        }
        let expiring = self.staying().into_iter().filter_map(|at| board.candidates[at].expires_at());
        let soon = kept.iter().filter_map(|(_, stay)| stay.until).chain(expiring);
        let look_again = soon.filter(|at| *at > board.now()).min();
        let named = |(node, stay): &(usize, Stay)| Some(stay.kept(scene.nodes.get(*node)?.name.clone()));
        let mut kept: Vec<Kept> = kept.iter().filter_map(named).collect();
        kept.sort_by(|a, b| a.node.cmp(&b.node));
        self.chosen.sort_by_key(|one| one.reason);
        Decision { disruptions: self.chosen, kept, look_again, out_of_time: self.out_of_time }
    }
}
