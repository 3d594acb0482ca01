//! The second look: claims whose pods ask for nothing but amounts are packed anew, all together, and kept if that is cheaper.

mod chance;
mod knapsack;
mod packing;
mod rounding;
mod simplex;

use std::collections::BTreeMap;
use std::rc::Rc;

use super::amounts::add;
use super::hash::Map;
use super::mask::Mask;
use super::places::Claim;
use super::shapes::ShapeId;
use super::solver::Solver;
use super::states::StateId;
use packing::{Kind, Machine, Pattern, Problem};

/// More kinds of pods than this are not looked at again: the program would take longer than it is worth.
const MOST_KINDS: usize = 200;
/// Of many types, those that are best for some kind of pod.
const MOST_MACHINES: usize = 12;
/// Machines that hold all pods of a group, half of them, a third: up to so many parts.
const MOST_PARTS: i64 = 4;
/// A group that costs at most so many times what its amounts alone would cost is good enough.
const GOOD_ENOUGH: f64 = 1.005;

impl Solver<'_> {
    /// Packs again where only amounts bind: the claims of pods that ask for GPUs, or those of all others.
    pub fn improve(&mut self, accelerated: bool, still_time: &mut dyn FnMut() -> bool) {
        if !self.places.claims.iter().any(|claim| claim.accelerated == accelerated) {
            return;
        }
        let shape_of = self.shape_of_pods();
        for (state, claims) in self.groups(accelerated, &shape_of) {
            if !still_time() {
                return;
            }
            self.improve_group(state, &claims, &shape_of, still_time);
        }
    }

    pub fn shape_of_pods(&self) -> Vec<ShapeId> {
        let mut shape_of = vec![0; self.placed.len()];
        for (id, shape) in self.shapes.iter().enumerate() {
            shape.pods.iter().for_each(|pod| shape_of[*pod] = id);
        }
        shape_of
    }

    /// Claims in one state whose pods could change places freely.
    fn groups(&self, accelerated: bool, shape_of: &[ShapeId]) -> Vec<(StateId, Vec<usize>)> {
        let mut groups: BTreeMap<StateId, Vec<usize>> = BTreeMap::new();
        for (at, claim) in self.places.claims.iter().enumerate() {
            let source = self.ground.states.get(claim.state).pool;
            let free_to_list = self.ground.sources[source].min_values.is_empty()
                && (!self.limits.bind(source) || self.limits.suffice(source, self.places.claims.len()));
            // A pod without GPUs on a claim with them fills a gap, and stays there.
            let alike = claim.accelerated == accelerated && !claim.pods.is_empty();
            let free =
                |pod: &usize| self.shapes[shape_of[*pod]].accelerated == accelerated && self.free[shape_of[*pod]];
            if alike && free_to_list && claim.pods.iter().all(free) {
                groups.entry(claim.state).or_default().push(at);
            }
        }
        // One claim alone may be worth several smaller ones.
        let several = |claims: &[usize]| match claims {
            [claim] => self.places.claims[*claim].pods.len() > 1,
            _ => true,
        };
        groups.into_iter().filter(|(_, claims)| several(claims)).collect()
    }

    /// Whether a shape's pods care about nothing but labels and amounts, and nobody cares about them.
    pub fn is_free(&self, shape: ShapeId) -> bool {
        let (plan, pod) = (&self.plans[shape], self.shapes[shape].example);
        let no_rules =
            |at: &super::attempts::Attempt| at.hosts.is_empty() && at.domains.is_empty() && at.host_wishes.is_empty();
        plan.adds.is_empty()
            && plan.attempts.iter().all(no_rules)
            && pod.host_ports.is_empty()
            && pod.volumes.iter().all(|volume| volume.handle.is_none())
    }

    fn improve_group(
        &mut self,
        state: StateId,
        claims: &[usize],
        shape_of: &[ShapeId],
        still_time: &mut dyn FnMut() -> bool,
    ) {
        let mut kinds: Vec<(Kind, Vec<usize>)> = vec![];
        let mut kind_of: Map<ShapeId, usize> = Map::default();
        let mut known: Vec<BTreeMap<usize, usize>> = vec![];
        for claim in claims {
            let mut counts = BTreeMap::new();
            for pod in &self.places.claims[*claim].pods {
                let shape = shape_of[*pod];
                let kind = *kind_of.entry(shape).or_insert_with(|| {
                    let of = Kind { request: self.shapes[shape].request.clone(), part: self.shapes[shape].part };
                    let same = |(known, _): &(Kind, Vec<usize>)| known.request == of.request && known.part == of.part;
                    kinds.iter().position(same).unwrap_or_else(|| {
                        kinds.push((of, vec![]));
                        kinds.len() - 1
                    })
                });
                kinds[kind].1.push(*pod);
                *counts.entry(kind).or_insert(0) += 1;
            }
            known.push(counts);
        }
        if kinds.len() > MOST_KINDS {
            return;
        }
        let types = self.machines(state, claims, &kinds);
        let source = self.ground.states.get(state).pool;
        let (rows, prices) = (&self.ground.sources[source].fit.rows, self.ground.states.prices(state));
        let price_of = |of: usize| prices.of[of].unwrap_or(u64::MAX) as f64;
        // In units of the dearest, so that what is tiny is tiny whatever the currency.
        let unit = types.iter().map(|of| price_of(*of)).fold(1.0, f64::max);
        let price = |of: usize| (price_of(of) / unit).max(1e-6);
        let machines = types.iter().map(|of| Machine { has: rows[*of].clone(), price: price(*of) }).collect();
        let cost =
            |claim: &usize| self.cheapest_of(&self.places.claims[*claim]).map_or(0.0, |(_, price)| price as f64 / unit);
        let before: f64 = claims.iter().map(cost).sum();
        let demand: Vec<usize> = kinds.iter().map(|(_, pods)| pods.len()).collect();
        let problem = Problem::new(kinds.iter().map(|(kind, _)| kind.clone()).collect(), demand, machines);
        if before <= problem.least() * GOOD_ENOUGH {
            return;
        }
        let patterns = known.into_iter().filter_map(|counts| {
            let counts: Vec<(usize, usize)> = counts.into_iter().collect();
            problem.on_cheapest(counts)
        });
        let patterns: Vec<Pattern> = patterns.collect();
        let Some((price, bought)) = rounding::pack(&problem, patterns, still_time) else { return };
        if price < before - 1e-9 {
            let pods = kinds.into_iter().map(|(_, pods)| pods).collect();
            self.repack(state, claims, &bought, pods, shape_of);
        }
    }

    /// The types that are worth looking at: those of the claims, and the best for each kind.
    fn machines(&self, state: StateId, claims: &[usize], kinds: &[(Kind, Vec<usize>)]) -> Vec<usize> {
        let of_state = self.ground.states.get(state);
        let rows = &self.ground.sources[of_state.pool].fit.rows;
        let prices = self.ground.states.prices(state);
        // All that the state leaves, also what was too small for the pods that claims were opened for; GPUs only where they are asked for.
        let mut allowed = of_state.types.clone();
        if !claims.iter().any(|claim| self.places.claims[*claim].accelerated) {
            allowed.remove_all(&self.ground.sources[of_state.pool].accelerators);
        }
        claims.iter().for_each(|claim| allowed.or(&self.places.claims[*claim].grow));
        allowed.and(&of_state.types);
        if allowed.len() <= MOST_MACHINES {
            return allowed.iter().filter(|of| prices.of[*of].is_some()).collect();
        }
        let mut chosen: BTreeMap<usize, usize> = BTreeMap::new();
        let mut choose = |of: usize, times: usize| *chosen.entry(of).or_insert(0) += times;
        for (kind, pods) in kinds {
            let held = |of: usize| {
                let columns = rows[of].iter().zip(&kind.request).filter(|(_, request)| **request > 0);
                columns.map(|(has, request)| *has as f64 / *request as f64).fold(f64::MAX, f64::min)
            };
            let price = |of: usize| prices.of[of].unwrap_or(u64::MAX) as f64;
            let fitting: Vec<usize> = allowed.iter().filter(|of| held(*of) >= 1.0).collect();
            // For as many as fit, for as many as there are, and for one alone.
            for most in [f64::MAX, pods.len() as f64, 1.0] {
                let unit = |of: &usize| price(*of) / held(*of).min(most);
                if let Some(best) = fitting.iter().min_by(|left, right| unit(left).total_cmp(&unit(right))) {
                    choose(*best, pods.len());
                }
            }
        }
        // For all together, and for parts of them: what is best for a mixture need not be best for any of its kinds.
        let mut whole = vec![0; self.ground.columns.len()];
        claims.iter().for_each(|claim| add(&mut whole, &self.places.claims[*claim].request));
        for parts in 1..=MOST_PARTS {
            let part: Vec<i64> = whole.iter().map(|amount| (amount + parts - 1) / parts).collect();
            let mut holding = allowed.clone();
            if self.ground.sources[of_state.pool].fit.keep(&part, &mut holding)
                && let Some((of, _)) = self.ground.states.cheapest(state, &holding)
            {
                choose(of, claims.len());
            }
        }
        for claim in claims {
            let claim = &self.places.claims[*claim];
            if let Some((of, _)) = self.cheapest_of(claim) {
                choose(of, claim.pods.len());
            }
        }
        let mut by_use: Vec<(usize, usize)> = chosen.into_iter().collect();
        by_use.sort_by_key(|(of, times)| (core::cmp::Reverse(*times), *of));
        by_use.into_iter().take(MOST_MACHINES).map(|(of, _)| of).collect()
    }

    /// Puts the pods of a group into machines as bought. Claims that are not needed any more stay behind empty.
    fn repack(
        &mut self,
        state: StateId,
        claims: &[usize],
        bought: &[Pattern],
        mut pods: Vec<Vec<usize>>,
        shape_of: &[ShapeId],
    ) {
        let source = self.ground.states.get(state).pool;
        let columns = self.ground.columns.len();
        let grow = claims
            .first()
            .map(|claim| self.places.claims[*claim].grow.clone())
            .unwrap_or_else(|| Rc::new(Mask::default()));
        let accelerated = claims.iter().any(|claim| self.places.claims[*claim].accelerated);
        for claim in claims {
            self.empty(*claim);
        }
        for (at, pattern) in bought.iter().enumerate() {
            let claim = claims.get(at).copied().unwrap_or_else(|| {
                let (types, request) = (Mask::default(), vec![0; columns]);
                let grow = grow.clone();
                let fresh = Claim {
                    state,
                    types,
                    grow,
                    request,
                    pods: vec![],
                    accelerated,
                    charge: None,
                    charged_for: None,
                    relaxed: false,
                };
                self.places.open(fresh) - self.places.nodes
            });
            let mut request = vec![0; columns];
            let mut partials = vec![];
            let mut own = vec![];
            for (kind, count) in &pattern.counts {
                let from = pods[*kind].len().saturating_sub(*count);
                own.extend(pods[*kind].drain(from..));
            }
            for pod in &own {
                let shape = &self.shapes[shape_of[*pod]];
                add(&mut request, &shape.request);
                if let Some(part) = shape.part {
                    request[part.device] += super::ground::take_part(&mut partials, part);
                }
                self.placed[*pod] = Some(self.places.nodes + claim);
            }
            let mut types = self.ground.states.get(state).types.clone();
            self.ground.sources[source].fit.keep(&request, &mut types);
            self.scratch.copy_from(&types);
            let of = &mut self.places.claims[claim];
            of.pods = own;
            of.request = request;
            self.places.extras[self.places.nodes + claim].partials = partials;
            self.shrink(claim);
            self.places.settle(self.places.nodes + claim);
        }
    }
}
