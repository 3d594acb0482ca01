//! The same ground again and again: all pods stand where they are, some nodes are taken away, and their pods look for other places.
//!
//! What is tried is noted and can be undone, so a hundred questions about a cluster cost one look at it. Pods always move from
//! their home to their last place, however many nodes go in between.

mod full;
mod saved;
mod trial;

use model::place::{ClaimPlanned, Scene, Why};

use super::answer::{self, Lists};
use super::counters::PlaceId;
use super::explain;
use super::mask::Mask;
use super::order;
use super::shapes::ShapeId;
use super::solver::{Choice, Solver};

pub use super::limits::Left;
pub use full::Full;
pub use saved::Saved;
pub use trial::Trial;

pub struct Moving<'a> {
    solver: Solver<'a>,
    shape_of: Vec<Option<ShapeId>>,
    /// When a shape's turn is.
    turn: Vec<usize>,
    /// The pods on each node now.
    on: Vec<Vec<usize>>,
    /// What claims list, for all that were asked about.
    lists: Lists,
}

/// Where a pod is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Spotted {
    Node(usize),
    Claim(usize),
    Nowhere,
}

/// What of its limits a node that goes gives back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivesBack {
    Nothing,
    /// What its pool's own limits count.
    PoolLimits,
    /// Quotas and reservations too: it is gone before anything comes.
    Everything,
}

impl<'a> Moving<'a> {
    /// `homes` has the node of each pod of the scene.
    pub fn new(scene: &'a Scene, homes: &[usize]) -> Self {
        let solver = Solver::new(scene);
        let mut shape_of = vec![None; scene.pods.len()];
        for (id, shape) in solver.shapes.iter().enumerate() {
            shape.pods.iter().for_each(|pod| shape_of[*pod] = Some(id));
        }
        let mut turn = vec![0; solver.shapes.len()];
        order::of_shapes(&solver, &[]).into_iter().enumerate().for_each(|(at, shape)| turn[shape] = at);
        let mut moving =
            Moving { solver, shape_of, turn, on: vec![vec![]; scene.nodes.len()], lists: Lists::default() };
        for (pod, home) in homes.iter().enumerate().filter(|(_, home)| **home < scene.nodes.len()) {
            if let Some(shape) = moving.shape_of[pod] {
                moving.solver.stand(shape, pod, *home);
            }
            moving.on[*home].push(pod);
        }
        moving
    }

    /// Nothing is placed on the node any more; what is there stays.
    pub fn close(&mut self, node: usize) {
        if let Some(bucket) = self.solver.places.bucket_of.get_mut(node) {
            *bucket = usize::MAX;
        }
    }

    /// The claims that were opened up to now are somebody's: nothing more is placed on them, and nobody counts them any more.
    pub fn freeze_claims(&mut self) {
        let nodes = self.solver.places.nodes;
        self.solver.places.bucket_of[nodes..].fill(usize::MAX);
        self.solver.places.claims.iter_mut().for_each(|claim| claim.pods.clear());
    }

    /// Nothing more is placed on the claim.
    pub fn close_claim(&mut self, claim: usize) {
        self.close(self.solver.places.nodes + claim);
    }

    /// Takes nodes away and places their pods elsewhere, on new claims too.
    pub fn without(
        &mut self,
        nodes: &[(usize, Option<(usize, usize)>)],
        gives_back: GivesBack,
        still_time: &mut dyn FnMut() -> bool,
    ) -> Trial<'a> {
        let trial = self.begin();
        self.take_away(trial, nodes, gives_back, still_time)
    }

    /// The same, but claims that are there stay as large as they are: what does not fit on them opens others.
    pub fn without_growth(
        &mut self,
        nodes: &[(usize, Option<(usize, usize)>)],
        gives_back: GivesBack,
        still_time: &mut dyn FnMut() -> bool,
    ) -> Trial<'a> {
        let mut trial = self.begin();
        for at in 0..trial.claims {
            let claim = &self.solver.places.claims[at];
            let cheapest = self.solver.ground.states.cheapest(claim.state, &claim.types);
            if let (Some((of, _)), false) = (cheapest, claim.pods.is_empty()) {
                self.note(&mut trial, self.solver.places.nodes + at);
                let mut only = Mask::none(0);
                only.insert(of);
                self.solver.scratch.copy_from(&only);
                self.solver.shrink(at);
            }
        }
        self.take_away(trial, nodes, gives_back, still_time)
    }

    fn take_away(
        &mut self,
        mut trial: Trial<'a>,
        nodes: &[(usize, Option<(usize, usize)>)],
        gives_back: GivesBack,
        still_time: &mut dyn FnMut() -> bool,
    ) -> Trial<'a> {
        for (node, of) in nodes {
            trial.closed.push((*node, self.solver.places.bucket_of[*node]));
            self.close(*node);
            if let (Some((pool, of)), true) = (of, gives_back != GivesBack::Nothing) {
                self.give_back(*pool, *of, gives_back == GivesBack::Everything);
            }
            let pods = core::mem::take(&mut self.on[*node]);
            for pod in &pods {
                trial.placed.push((*pod, self.solver.placed[*pod]));
                self.solver.placed[*pod] = None;
                if let Some(shape) = self.shape_of[*pod] {
                    self.remember(&mut trial, shape);
                    self.solver.uncount(shape, *node);
                }
            }
            trial.moved.extend(&pods);
            trial.emptied.push((*node, pods));
        }
        self.house(&mut trial, still_time);
        trial
    }

    fn house(&mut self, trial: &mut Trial<'a>, still_time: &mut dyn FnMut() -> bool) {
        let mut waiting: Vec<(usize, ShapeId, usize)> = vec![];
        for pod in &trial.moved {
            match self.shape_of[*pod] {
                Some(shape) => waiting.push((self.turn[shape], shape, *pod)),
                None => trial.homeless.push(*pod),
            }
        }
        waiting.sort_unstable();
        // Shapes that fail are tried again as long as others got on: a pod may wait for another.
        while !waiting.is_empty() {
            let mut failed: Vec<(usize, ShapeId, usize)> = vec![];
            let before = waiting.len();
            let mut last = usize::MAX;
            for (at, (turn, shape, pod)) in waiting.iter().copied().enumerate() {
                if last != shape {
                    self.solver.cursors.reset();
                    last = shape;
                } else if failed.last().is_some_and(|(_, other, _)| *other == shape) {
                    // Pods of one shape are alike: where one finds nothing, neither do the others.
                    failed.push((turn, shape, pod));
                    continue;
                }
                let left = waiting[at..].iter().take_while(|(_, other, _)| *other == shape).count();
                let Some(choice) = self.solver.choose(shape, left) else {
                    failed.push((turn, shape, pod));
                    continue;
                };
                self.note(trial, choice.place);
                self.solver.commit(shape, pod, choice);
                if choice.place < self.on.len() {
                    self.on[choice.place].push(pod);
                }
            }
            if failed.len() == before || !still_time() {
                trial.homeless.extend(failed.iter().map(|(_, _, pod)| *pod));
                return;
            }
            waiting = failed;
        }
    }

    /// Packs the claims anew where that makes them cheaper; answers whether it did. It is undone with its trial.
    pub fn improve(&mut self, trial: &mut Trial<'a>, still_time: &mut dyn FnMut() -> bool) -> bool {
        if self.claims_in_use() < 2 {
            return false;
        }
        let before = self.cost();
        for claim in 0..trial.claims {
            self.note(trial, self.solver.places.nodes + claim);
        }
        let held: Vec<usize> = self.solver.places.claims.iter().flat_map(|claim| claim.pods.iter().copied()).collect();
        trial.placed.extend(held.into_iter().map(|pod| (pod, self.solver.placed[pod])));
        self.solver.improve(true, still_time);
        self.solver.improve(false, still_time);
        self.cost() != before
    }

    pub fn spotted(&self, pod: usize) -> Spotted {
        let nodes = self.solver.places.nodes;
        match self.solver.placed[pod] {
            Some(place) if place < nodes => Spotted::Node(place),
            Some(place) => Spotted::Claim(place - nodes),
            None => Spotted::Nowhere,
        }
    }

    pub fn pods_on(&self, node: usize) -> &[usize] {
        self.on.get(node).map(Vec::as_slice).unwrap_or_default()
    }

    /// What all claims cost at their cheapest.
    pub fn cost(&self) -> u64 {
        (0..self.claims()).map(|claim| self.cost_of(claim)).sum()
    }

    /// What a claim costs at its cheapest; nothing if nobody is on it.
    pub fn cost_of(&self, claim: usize) -> u64 {
        let of = self.solver.places.claims.get(claim).filter(|of| !of.pods.is_empty());
        of.and_then(|of| self.solver.ground.states.cheapest(of.state, &of.types)).map_or(0, |(_, price)| price)
    }

    pub fn claims_in_use(&self) -> usize {
        self.solver.places.claims.iter().filter(|claim| !claim.pods.is_empty()).count()
    }

    /// The pods of a claim.
    pub fn of_claim(&self, claim: usize) -> &[usize] {
        self.solver.places.claims.get(claim).map(|claim| claim.pods.as_slice()).unwrap_or_default()
    }

    pub fn claims(&self) -> usize {
        self.solver.places.claims.len()
    }

    /// A claim in the words of the model. It lists no type that takes more of limits than the claim was charged for.
    pub fn planned(&mut self, claim: usize) -> Option<ClaimPlanned> {
        let mut of = self.solver.places.claims.get(claim).filter(|of| !of.pods.is_empty())?.clone();
        self.solver.keep_charged(&mut of);
        Some(answer::planned(&self.solver, &of, format!("replacement-{claim}"), &mut self.lists))
    }

    /// What is left of every limit now.
    pub fn limits_left(&self) -> Left {
        self.solver.limits.left()
    }

    /// Whether these claims, with what these nodes give back, would have kept to the limits as they were at some time.
    pub fn keep_limits(&mut self, nodes: &[(usize, usize)], claims: &[usize], before: &Left) -> bool {
        let now = self.solver.limits.left();
        self.solver.limits.restore(before.clone());
        for (pool, of) in nodes {
            self.give_back(*pool, *of, false);
        }
        let solver = &mut self.solver;
        for claim in claims.iter().filter_map(|claim| solver.places.claims.get(*claim)) {
            if let Some(charge) = &claim.charge {
                solver.limits.take(solver.ground.states.get(claim.state).pool, charge, None);
            }
        }
        let kept = !solver.limits.are_passed_since(before);
        solver.limits.restore(now);
        kept
    }

    /// Why a pod that stands nowhere finds no place.
    pub fn why(&mut self, pod: usize) -> Why {
        match (self.shape_of.get(pod).copied().flatten(), &self.solver.ground.scene.pods[pod].invalid) {
            (Some(shape), _) => explain::of_shape(&mut self.solver, shape),
            (None, Some(invalid)) => (*explain::invalid(invalid)).clone(),
            (None, None) => (*explain::unknown()).clone(),
        }
    }

    /// What a shape of pods takes, in numbers that `free` and `least_price` are in too.
    pub fn request(&self, pod: usize) -> Option<&[i64]> {
        self.shape_of[pod].map(|shape| self.solver.shapes[shape].request.as_slice())
    }

    pub fn shape(&self, pod: usize) -> Option<ShapeId> {
        self.shape_of[pod]
    }

    /// What is free on a node, if anything may be placed on it.
    pub fn free(&self, node: usize) -> Option<&[i64]> {
        (self.solver.places.bucket_of[node] != usize::MAX).then(|| self.solver.places.room(node))
    }

    /// What every pool's types have and cost: the cheapest that can be had of each.
    pub fn market(&self) -> Vec<(Vec<i64>, u64)> {
        let mut all = vec![];
        for source in self.solver.ground.sources.iter().filter(|source| source.pool.closed.is_none()) {
            let Some(base) = source.base else { continue };
            let prices = self.solver.ground.states.prices(base);
            let priced = prices.order.iter().filter_map(|of| Some((source.fit.rows[*of].clone(), prices.of[*of]?)));
            all.extend(priced);
        }
        all
    }

    fn give_back(&mut self, pool: usize, of: usize, quotas: bool) {
        let solver = &mut self.solver;
        if let Some(base) = solver.ground.sources.get(pool).and_then(|source| source.base) {
            solver.limits.give_back(pool, base, of, quotas, &mut solver.ground);
        }
    }
}

impl Solver<'_> {
    /// Puts a pod where it is, whatever rules say about that.
    fn stand(&mut self, shape: ShapeId, pod: usize, node: PlaceId) {
        self.commit(shape, pod, Choice { place: node, state: None });
    }
}
