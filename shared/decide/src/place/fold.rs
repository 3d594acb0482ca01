//! The last look at a small batch: a claim whose pods others can take for less than it costs is given up.
//!
//! Pods are placed one after the other, and only claims that are bought alike are packed anew. Two that are bought otherwise, in another
//! zone or from another pool, may still be one too many.

mod buying;

use core::cmp::Reverse;

use model::place::MinValues;

use super::amounts::add;
use super::attempts::Plan;
use super::counters::{CounterId, PlaceId, Spot};
use super::find::Mode;
use super::rules::{DomainKind, DomainRule, HostRule};
use super::shapes::ShapeId;
use super::solver::{Choice, Solver};
use super::states::Domain;

/// With more claims than this it would take longer than it is worth.
const MOST_CLAIMS: usize = 64;
/// How often a pod looks at a place, in all.
const MOST_LOOKS: usize = 20_000;

/// Whether the pods of a shape can go elsewhere, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Moves {
    /// Others share a host with them, or they wish for something.
    Not,
    /// Others follow them, so they stay in the domains of these slots.
    Within(Vec<usize>),
    Anywhere,
    /// The same, and no rule is about zones or the like: their claim may be bought anywhere as well.
    Freely,
}

/// The claim that pods come from.
struct Origin {
    weight: u8,
    domains: Vec<Domain>,
}

/// Who is where, as long as nothing new is placed.
struct Pods {
    shape_of: Vec<ShapeId>,
    /// By shape.
    moves: Vec<Moves>,
}

impl Solver<'_> {
    /// Gives up claims as long as that makes the whole cheaper. No pod loses anything that it wished for.
    pub fn fold(&mut self, still_time: &mut dyn FnMut() -> bool) {
        let in_use = self.places.claims.iter().filter(|claim| !claim.pods.is_empty()).count();
        // A look may relax minValues, and nothing takes that back.
        let strict = self.ground.scene.policy.min_values == MinValues::Strict;
        if !(1..=MOST_CLAIMS).contains(&in_use) || !strict {
            return;
        }
        let pods = Pods { shape_of: self.shape_of_pods(), moves: self.who_may_move() };
        self.buy_all_anew(&pods);
        let mut looks = MOST_LOOKS;
        let mut folded = false;
        while still_time() && (self.fold_one(&pods, &mut looks) || self.merge_some(&pods)) {
            folded = true;
        }
        if folded {
            self.buy_all_anew(&pods);
        }
    }

    /// Gives up the first claim that can be; those with the fewest pods are tried first.
    fn fold_one(&mut self, pods: &Pods, looks: &mut usize) -> bool {
        let claims = &self.places.claims;
        let may_move = |pod: &usize| pods.moves[pods.shape_of[*pod]] != Moves::Not;
        let may_go = |at: &usize| !claims[*at].pods.is_empty() && claims[*at].pods.iter().all(may_move);
        let price = |at: usize| self.cheapest_of(&claims[at]).map_or(0, |(_, price)| price);
        let mut order: Vec<(usize, Reverse<u64>, usize)> =
            (0..claims.len()).filter(may_go).map(|at| (claims[at].pods.len(), Reverse(price(at)), at)).collect();
        order.sort_unstable();
        order.into_iter().any(|(_, Reverse(price), at)| self.give_up(at, price, pods, looks))
    }

    /// Puts the pods of a claim elsewhere, if that costs less than the claim does.
    fn give_up(&mut self, at: usize, price: u64, pods: &Pods, looks: &mut usize) -> bool {
        if self.places.claims[at].pods.iter().any(|pod| self.is_kept_out_elsewhere(pods.shape_of[*pod], at)) {
            return false;
        }
        let (saved, before, uneven) = (self.save(), self.cost(), self.uneven());
        let state = self.ground.states.get(self.places.claims[at].state);
        let from = Origin { weight: self.ground.sources[state.pool].pool.weight, domains: state.domains.clone() };
        let mut spent: u64 = 0;
        for pod in self.lift(at, &pods.shape_of) {
            let shape = pods.shape_of[pod];
            let found = self.cheapest_choice(shape, looks, (&pods.moves[shape], &from));
            spent = found.map_or(u64::MAX, |(_, more)| spent.saturating_add(more));
            let Some((choice, _)) = found.filter(|_| spent < price) else {
                self.restore(saved);
                return false;
            };
            self.commit(shape, pod, choice);
        }
        let as_even = self.uneven().iter().zip(&uneven).all(|(now, before)| now <= before);
        let better = as_even && self.cost() < before;
        if !better {
            self.restore(saved);
        }
        better
    }

    /// Whether a rule about hosts keeps a pod from every other claim: it is not worth a look.
    fn is_kept_out_elsewhere(&self, shape: ShapeId, at: usize) -> bool {
        let nodes = self.places.nodes;
        let others = || {
            (0..self.places.claims.len()).filter(|other| *other != at && !self.places.claims[*other].pods.is_empty())
        };
        let Some(must) = self.plans[shape].attempts.last() else { return true };
        let counters = &self.ground.counters;
        must.hosts.iter().any(|rule| others().all(|other| !rule.holds(nodes + other, counters)))
    }

    /// By spread: how many pods are too many somewhere.
    fn uneven(&self) -> Vec<u32> {
        let rules = self.plans.iter().filter_map(|plan| plan.attempts.last()).flat_map(|must| &must.domains);
        rules.map(|rule| rule.too_many(&self.ground.counters)).collect()
    }

    /// Closes a claim and answers the pods that were on it. What it took of limits is free again.
    pub fn empty(&mut self, at: usize) -> Vec<usize> {
        let claim = &mut self.places.claims[at];
        claim.charged_for = None;
        claim.request.fill(0);
        let (pods, charge, state) = (core::mem::take(&mut claim.pods), claim.charge.take(), claim.state);
        if let Some(charge) = charge {
            let nothing = vec![0; charge.len()];
            self.limits.take(self.ground.states.get(state).pool, &nothing, Some(&charge));
        }
        self.places.close(self.places.nodes + at);
        pods
    }

    /// Takes all pods off a claim, the largest first, and closes it.
    fn lift(&mut self, at: usize, shape_of: &[ShapeId]) -> Vec<usize> {
        let mut pods = self.empty(at);
        for pod in &pods {
            let shape = shape_of[*pod];
            self.uncount(shape, self.places.nodes + at);
            self.placed[*pod] = None;
            let of = &self.shapes[shape];
            add(&mut self.waiting, &of.request);
            if let Some(part) = of.part {
                self.waiting[part.device] += part.of_whole();
            }
        }
        let size = |pod: &usize| Reverse(self.shapes[shape_of[*pod]].request.iter().sum::<i64>());
        pods.sort_by_key(|pod| (size(pod), shape_of[*pod], *pod));
        pods
    }

    /// Where one more pod adds least to what all claims cost, and how much. `scratch` is left as `commit` wants it.
    fn cheapest_choice(
        &mut self,
        shape: ShapeId,
        looks: &mut usize,
        (moves, from): (&Moves, &Origin),
    ) -> Option<(Choice, u64)> {
        self.cursors.reset();
        let attempts = self.plans[shape].attempts.len();
        let mut best: Option<(u64, PlaceId, usize)> = None;
        for attempt in attempts - self.plans[shape].musts..attempts {
            for place in self.places.nodes..self.places.extras.len() {
                *looks = looks.checked_sub(1)?;
                if let Some((choice, more)) = self.joins(shape, attempt, place, from.weight)
                    && self.may_come(choice, moves, from)
                    && best.is_none_or(|(known, ..)| more < known)
                {
                    best = Some((more, place, attempt));
                }
            }
        }
        let alone = if matches!(best, Some((0, ..))) { None } else { self.alone_on_a_claim(shape) };
        let alone = alone.filter(|(choice, _)| self.may_come(*choice, moves, from));
        match best {
            Some((more, place, attempt)) if alone.is_none_or(|(_, alone)| more <= alone) => {
                self.places.truncate_claims(
                    alone.map_or(self.places.claims.len(), |(choice, _)| choice.place - self.places.nodes),
                );
                self.joins(shape, attempt, place, from.weight)
            }
            _ => alone,
        }
    }

    /// Whether pods that others follow are still where those are.
    fn may_come(&self, choice: Choice, moves: &Moves, from: &Origin) -> bool {
        let (Moves::Within(slots), Some(state)) = (moves, choice.state) else { return true };
        let there = &self.ground.states.get(state).domains;
        slots.iter().all(|slot| there[*slot] == from.domains[*slot])
    }

    /// A new claim for one pod, and its price.
    fn alone_on_a_claim(&mut self, shape: ShapeId) -> Option<(Choice, u64)> {
        let (attempts, claims) = (self.plans[shape].attempts.len(), self.places.claims.len());
        let choice = (attempts - self.plans[shape].musts..attempts).find_map(|attempt| self.open(shape, attempt))?;
        let fresh = self.places.claims.get(claims).filter(|_| choice.place == self.places.nodes + claims)?;
        Some((choice, self.cheapest_of(fresh)?.1))
    }

    /// Whether a claim takes one more pod, and what it costs more then. A claim of a pool that comes later by weight is not asked.
    fn joins(&mut self, shape: ShapeId, attempt: usize, place: PlaceId, weight: u8) -> Option<(Choice, u64)> {
        let claim = self.places.claim(place).filter(|claim| !claim.pods.is_empty())?;
        let source = &self.ground.sources[self.ground.states.get(claim.state).pool];
        let accelerated = self.shapes[shape].accelerated;
        if source.pool.weight < weight || (accelerated && !claim.accelerated) {
            return None;
        }
        let (_, now) = self.cheapest_of(claim)?;
        // Beside GPUs only what leaves them usable, and costs nothing.
        let mode = if claim.accelerated && !accelerated { Mode::Filling } else { Mode::Desperate };
        let choice = self.try_one(shape, attempt, place, mode)?;
        let claim = self.places.claim(place)?;
        let mut types = self.scratch.clone();
        if !claim.accelerated {
            types.remove_all(&self.ground.sources[self.ground.states.get(claim.state).pool].accelerators);
        }
        let (_, then) = self.ground.states.cheapest(choice.state?, &types)?;
        Some((choice, then.saturating_sub(now)))
    }

    /// By shape. Pods that wish for something stay, and those that share a host with others by rule.
    fn who_may_move(&self) -> Vec<Moves> {
        let attempts = || self.plans.iter().flat_map(|plan| &plan.attempts);
        let near = |rule: &HostRule| matches!(rule, HostRule::Near { .. });
        let hosts = attempts().flat_map(|attempt| attempt.hosts.iter().chain(&attempt.host_wishes));
        let followed_on_host: Vec<CounterId> = hosts.filter(|rule| near(rule)).map(|rule| rule.counter()).collect();
        let follows = |rule: &&DomainRule| matches!(rule.kind, DomainKind::Near { .. });
        let domains = attempts().flat_map(|attempt| &attempt.domains);
        let followed: Vec<CounterId> = domains.filter(follows).map(|rule| rule.counter).collect();
        let of_plan = |plan: &Plan| {
            let has_wishes =
                plan.attempts.len() != plan.musts || plan.attempts.iter().any(|at| !at.host_wishes.is_empty());
            let shares_host = plan.attempts.iter().any(|at| at.hosts.iter().any(near));
            if has_wishes || shares_host || plan.adds.iter().any(|id| followed_on_host.contains(id)) {
                return Moves::Not;
            }
            let slot = |id: &CounterId| match self.ground.counters.all[*id].spot {
                Spot::Slot(slot) => Some(slot),
                Spot::Host => None,
            };
            let slots: Vec<usize> = plan.adds.iter().filter(|id| followed.contains(id)).filter_map(slot).collect();
            let of_no_domain =
                plan.adds.iter().all(|id| slot(id).is_none()) && plan.attempts.iter().all(|at| at.domains.is_empty());
            match (slots.is_empty(), of_no_domain) {
                (false, _) => Moves::Within(slots),
                (true, false) => Moves::Anywhere,
                (true, true) => Moves::Freely,
            }
        };
        self.plans.iter().map(of_plan).collect()
    }
}
