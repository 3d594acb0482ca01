//! Claims bought anew: from another pool, in another zone, or one for several, where that holds all of their pods for less.

use std::rc::Rc;

use super::super::amounts::add;
use super::super::mask::Mask;
use super::super::shapes::ShapeId;
use super::super::solver::Solver;
use super::super::states::StateId;
use super::super::taints;
use super::{Moves, Pods};

/// Of three claims at a time, and of all of them, nobody asks with more claims than this.
const MOST_THREES: usize = 8;
const MOST_PAIRS: usize = 24;

impl Solver<'_> {
    /// Claims in use whose pods may go wherever they like.
    fn free_claims(&self, pods: &Pods) -> Vec<usize> {
        let free = |pod: &usize| pods.moves[pods.shape_of[*pod]] == Moves::Freely;
        let claims = self.places.claims.iter().enumerate();
        claims.filter(|(_, of)| !of.pods.is_empty() && of.pods.iter().all(free)).map(|(at, _)| at).collect()
    }

    fn shapes_on(&self, claims: &[usize], pods: &Pods) -> Vec<ShapeId> {
        let on = claims.iter().flat_map(|at| &self.places.claims[*at].pods);
        let mut shapes: Vec<ShapeId> = on.map(|pod| pods.shape_of[*pod]).collect();
        shapes.sort_unstable();
        shapes.dedup();
        shapes
    }

    /// Each claim was chosen for the first of its pods.
    pub(super) fn buy_all_anew(&mut self, pods: &Pods) {
        for at in self.free_claims(pods) {
            let shapes = self.shapes_on(&[at], pods);
            let Some((_, price)) = self.cheapest_of(&self.places.claims[at]) else { continue };
            if let Some((cheaper, state, types)) = self.best_for_all(&[at], &shapes)
                && cheaper < price
            {
                self.buy_as(at, state, types);
            }
        }
    }

    /// It becomes another claim. What it takes of limits is not looked at: there are none.
    fn buy_as(&mut self, at: usize, state: StateId, types: Mask) {
        self.scratch.copy_from(&types);
        let claim = &mut self.places.claims[at];
        claim.state = state;
        claim.grow = Rc::new(types);
        self.shrink(at);
        self.places.settle(self.places.nodes + at);
    }

    /// Makes one claim of two or three, or of all, where that is cheaper though giving up each of them alone is not.
    pub(super) fn merge_some(&mut self, pods: &Pods) -> bool {
        let free = self.free_claims(pods);
        let mut sets: Vec<Vec<usize>> = vec![];
        if free.len() > 3 && free.len() <= MOST_PAIRS {
            sets.push(free.clone());
        }
        for (first, one) in free.iter().enumerate().filter(|_| free.len() <= MOST_PAIRS) {
            for (second, two) in free.iter().enumerate().skip(first + 1) {
                sets.push(vec![*one, *two]);
                let thirds = free.iter().skip(second + 1).filter(|_| free.len() <= MOST_THREES);
                sets.extend(thirds.map(|three| vec![*one, *two, *three]));
            }
        }
        sets.iter().any(|set| self.merge(set, pods))
    }

    fn merge(&mut self, set: &[usize], pods: &Pods) -> bool {
        let [first, others @ ..] = set else { return false };
        let now: u64 =
            set.iter().filter_map(|at| self.cheapest_of(&self.places.claims[*at])).map(|(_, price)| price).sum();
        let shapes = self.shapes_on(set, pods);
        let Some((price, state, types)) = self.best_for_all(set, &shapes) else { return false };
        if price >= now {
            return false;
        }
        let (saved, place) = (self.save(), self.places.nodes + first);
        self.buy_as(*first, state, types);
        for at in others {
            for pod in self.lift(*at, &pods.shape_of) {
                let shape = pods.shape_of[pod];
                let attempts = self.plans[shape].attempts.len();
                let Some((choice, _)) = (0..attempts).find_map(|attempt| self.joins(shape, attempt, place, 0)) else {
                    self.restore(saved);
                    return false;
                };
                self.commit(shape, pod, choice);
            }
        }
        true
    }

    /// What holds all pods of these claims for the least: from which pool, in which zone.
    fn best_for_all(&mut self, claims: &[usize], shapes: &[ShapeId]) -> Option<(u64, StateId, Mask)> {
        let pool = |solver: &Self, at: &usize| solver.ground.states.get(solver.places.claims[*at].state).pool;
        let own: Vec<usize> = claims.iter().map(|at| pool(self, at)).collect();
        let weight = own.iter().map(|pool| self.ground.sources[*pool].pool.weight).max()?;
        if own.iter().any(|pool| self.limits.bind(*pool)) {
            return None;
        }
        let mut best: Option<(u64, StateId, Mask)> = None;
        for source in 0..self.ground.sources.len() {
            let of = &self.ground.sources[source].pool;
            if of.weight < weight || of.closed.is_some() || self.limits.bind(source) {
                continue;
            }
            let found = self.holds_all(claims, source, shapes);
            best = found.into_iter().chain(best).min_by_key(|(price, ..)| *price);
        }
        best
    }

    /// What a pool could make that holds all pods of these claims, and its price.
    fn holds_all(&mut self, claims: &[usize], source: usize, shapes: &[ShapeId]) -> Option<(u64, StateId, Mask)> {
        let base = self.ground.sources[source].base?;
        let accelerated = claims.iter().any(|at| self.places.claims[*at].accelerated);
        let mut request = vec![0; self.ground.columns.len()];
        claims.iter().for_each(|at| add(&mut request, &self.places.claims[*at].request));
        let ways = self.ground.ways_to_buy.clone();
        ways.iter().find_map(|way| {
            let ground = &mut self.ground;
            let mut state = ground.states.narrow(base, *way, &ground.needs, &ground.words)?;
            for shape in shapes {
                state = self.narrowed_for(*shape, state)?;
            }
            let mut types = self.ground.states.get(state).types.clone();
            if !accelerated {
                types.remove_all(&self.ground.sources[source].accelerators);
            }
            if !self.ground.sources[source].fit.keep(&request, &mut types) {
                return None;
            }
            for (shape, at) in shapes.iter().flat_map(|shape| claims.iter().map(move |at| (shape, at))) {
                self.keep_rest(*shape, source, state, Some(self.places.nodes + at), &mut types)?;
            }
            let (_, price) = self.ground.states.cheapest(state, &types)?;
            Some((price, state, types))
        })
    }

    /// A state that keeps what one pod of a shape must have, at the lowest price.
    fn narrowed_for(&mut self, shape: ShapeId, state: StateId) -> Option<StateId> {
        let state = self.as_tolerated(shape, state)?;
        let plan = &self.plans[shape];
        let ground = &mut self.ground;
        let taints = &ground.sources[ground.states.get(state).pool].taints;
        let must = plan.attempts.last()?;
        if !taints::tolerated(taints, &self.shapes[shape].example.tolerations, must.ignores_preferred_taints) {
            return None;
        }
        let needs = plan.attempts.iter().flat_map(|attempt| &attempt.needs);
        let states: Vec<StateId> =
            needs.filter_map(|need| ground.states.narrow(state, *need, &ground.needs, &ground.words)).collect();
        states.into_iter().min_by_key(|state| ground.states.lowest_price(*state))
    }
}
