//! The cluster as a board: every pod stands where it is, and every question is what happens without some nodes.

use jiff::Timestamp;
use model::{
    disruption::{Decision, Disruption, Kept, KeptCode, Reason},
    place::{NodeStage, PodThere, Scene, Where},
};
use std::{collections::BTreeMap, ops::Range};

use super::{
    Situation, Stay,
    between::{Between, Known},
    budgets::{Budgets, Counts},
    candidate::{self, Candidate},
    fixed, held, independent,
};
use crate::{
    place::{
        self,
        moving::{Moving, Saved},
    },
    provision::{claims::Maker, learn, machines, nominations},
};

pub struct Board<'s> {
    pub situation: &'s Situation,
    pub candidates: Vec<Candidate<'s>>,
    /// Nodes that are no candidates, with the reason.
    others: Vec<(usize, Stay)>,
    /// The pods of candidates in `Scene::pods`, all others in `Scene::bound`.
    pub scene: Scene,
    /// Of each pod of that scene: its node, and its position in the inventory (`fixed::NOBODY` for a stand-in).
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
    pub between: Between<'b>,
    pub budgets: Budgets,
    /// By candidate.
    pub gone: Vec<bool>,
    pub stays: Vec<Option<Stay>>,
    pub chosen: Vec<Disruption>,
    pub maker: Maker<'b>,
    pub out_of_time: bool,
}

/// The way back, to begin anew.
pub struct Before<'b> {
    moving: Saved<'b>,
    budgets: Budgets,
    gone: Vec<bool>,
    stays: Vec<Option<Stay>>,
    out_of_time: bool,
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
        let mut stand_ins = fixed::open(&mut self.scene, self.situation, &self.candidates);
        let mut lifted = vec![false; self.scene.bound.len()];
        for (number, candidate) in self.candidates.iter().enumerate() {
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
                let mut pod = model::place::PodToPlace { planned: None, ..pod };
                if stand_ins.get(number).is_some_and(Option::is_some) {
                    fixed::keep_in_pool(&mut pod, candidate);
                }
                self.scene.pods.push(pod);
                self.homes.push(candidate.node);
                self.pods.push(*at);
                lifted[*at] = true;
            }
            if let Some(stand_in) = stand_ins.get_mut(number).and_then(Option::take) {
                self.scene.pods.push(stand_in);
                self.homes.push(candidate.node);
                self.pods.push(fixed::NOBODY);
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

    /// Nodes that no pod is sent to: not up, not ready, or somebody's already.
    pub fn closed(&self) -> impl Iterator<Item = usize> {
        let nodes = self.scene.nodes.iter().enumerate();
        let not_up = nodes.filter(|(_, node)| node.stage != NodeStage::Initialized).map(|(at, _)| at);
        let here = self.situation.inventory.nodes.iter().filter(|here| here.disrupted || !here.ready);
        not_up.chain(here.map(|here| here.node))
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
        board.closed().for_each(|node| moving.close(node));
        let budgets = Budgets::new(&board.situation.inventory.pools, &board.counts(), board.now());
        let count = board.candidates.len();
        Choosing {
            board,
            moving,
            between: Between::new(board),
            budgets,
            gone: vec![false; count],
            stays: vec![None; count],
            chosen: vec![],
            maker: Maker::new(&board.situation.provision),
            out_of_time: false,
        }
    }

    /// What choosing changes, apart from what became a command.
    pub fn save(&self) -> Before<'b> {
        let (budgets, gone, stays) = (self.budgets.clone(), self.gone.clone(), self.stays.clone());
        Before { moving: self.moving.save(), budgets, gone, stays, out_of_time: self.out_of_time }
    }

    pub fn restore(&mut self, before: Before<'b>) {
        self.moving.restore(before.moving);
        (self.budgets, self.gone, self.stays) = (before.budgets, before.gone, before.stays);
        self.out_of_time = before.out_of_time;
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
        let of = &self.board.candidates[candidate];
        match self.budgets.allow(of.pool, reason, of.counted().adds(reason)) {
            Ok(()) => true,
            Err(words) => {
                self.stay(candidate, Stay::new(KeptCode::Budget, words));
                false
            }
        }
    }

    /// No pod that moves has lost the pods that it must be near to, now that these have moved; or why they may not.
    pub fn nobody_left_alone(&mut self, moved: &[usize]) -> Result<(), Stay> {
        let Some(pod) = self.between.left_alone(&mut self.moving, moved) else { return Ok(()) };
        let of = &self.board.scene.pods[pod];
        let words = format!("pod {}/{} moves to where one of its pods is, and must be near it", of.namespace, of.name);
        Err(Stay::new(KeptCode::NoOtherPlace, words))
    }

    /// The same, and these moves are right without all the others.
    pub fn stands_alone(&mut self, moved: &[usize]) -> Result<(), Stay> {
        self.nobody_left_alone(moved)?;
        let known = &mut Known::default();
        let moves = self.between.moves(&mut self.moving, moved, known);
        let wrong = self.between.wrong_alone(&mut self.moving, &moves, known);
        wrong.map_or(Ok(()), |wrong| Err(independent::too_soon(self.board, wrong)))
    }

    /// It goes: nothing comes to it any more, and the budgets have it.
    pub fn go(&mut self, candidate: usize) {
        let of = &self.board.candidates[candidate];
        self.gone[candidate] = true;
        self.stays[candidate] = None;
        self.moving.close(of.node);
        self.budgets.take(of.pool, of.counted());
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
