//! Trying again: what found no place goes first in the next try, and the better answer counts.
//!
//! Placing goes one way, so a shape may take the only place that another one could have had. Who is left out because of that,
//! and not because there is nothing for it at all, is the one to begin with.

use core::cmp::Reverse;

use model::place::Scene;

use super::counters::{CounterId, Spot};
use super::rules::{DomainKind, HostRule};
use super::shapes::ShapeId;
use super::solver::Solver;
use super::states::Domain;
use super::words::Value;

/// Each try costs as much as the first; scenes that need more than these are rare.
const MOST_TRIES: usize = 6;

/// The best of some tries.
pub fn solve<'a>(scene: &'a Scene, still_time: &mut dyn FnMut() -> bool) -> Solver<'a> {
    let mut best = one_try(scene, &Order::default(), still_time);
    let left_out = best.left_out();
    if !left_out.is_empty() {
        best = again(best, left_out, still_time);
    }
    best.fold(still_time);
    best
}

fn again<'a>(mut best: Solver<'a>, mut left_out: Vec<ShapeId>, still_time: &mut dyn FnMut() -> bool) -> Solver<'a> {
    let scene = best.ground.scene;
    let hopeful = with_hope(&best, &left_out);
    let mut begun: Vec<Order> = vec![Order::default()];
    let mut last = best.begun(&left_out);
    while begun.len() < MOST_TRIES && !best.out_of_time && still_time() {
        let order = begun.last().map(|before| before.then(&left_out, &hopeful, &best, last)).unwrap_or_default();
        if begun.contains(&order) {
            break;
        }
        let next = one_try(scene, &order, still_time);
        left_out = next.left_out();
        last = next.begun(&left_out);
        if !next.out_of_time && next.is_better_than(&best) {
            best = next;
        }
        begun.push(order);
    }
    best
}

fn one_try<'a>(scene: &'a Scene, order: &Order, still_time: &mut dyn FnMut() -> bool) -> Solver<'a> {
    let mut solver = Solver::new(scene);
    order.following.iter().for_each(|shape| solver.want_for(*shape));
    order.elsewhere.iter().for_each(|begun| solver.want_elsewhere(begun, &order.elsewhere));
    solver.run(&order.first, still_time);
    solver
}

/// What a try begins with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Order {
    first: Vec<ShapeId>,
    /// Those that go where others are: the others are asked to be where these can follow.
    following: Vec<ShapeId>,
    /// Where shapes that keep together began, and not all of them found a place.
    elsewhere: Vec<Begun>,
}

/// A domain in which the first pod of a shape was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Begun {
    shape: ShapeId,
    counter: CounterId,
    value: Value,
}

impl Order {
    /// Those left out last time, then those that were before.
    fn then(&self, left_out: &[ShapeId], hopeful: &[bool], solver: &Solver<'_>, last: Vec<Begun>) -> Order {
        let has_hope = |shape: &&ShapeId| hopeful.get(**shape).copied().unwrap_or(true);
        let follows = |shape: &&ShapeId| !has_hope(shape) && solver.follows(**shape);
        let mut next = Order {
            first: vec![],
            following: left_out.iter().filter(follows).copied().collect(),
            elsewhere: self.elsewhere.iter().copied().chain(last).collect(),
        };
        for shape in left_out {
            // Whom it must share a host with goes before it, while there is room beside them.
            let leaders = solver.leaders(*shape);
            let itself = (has_hope(&shape) || !leaders.is_empty()).then_some(*shape);
            for one in leaders.into_iter().chain(itself) {
                if !next.first.contains(&one) {
                    next.first.push(one);
                }
            }
        }
        let older = |own: &[ShapeId], before: &[ShapeId]| -> Vec<ShapeId> {
            before.iter().filter(|shape| !own.contains(shape)).copied().collect()
        };
        next.first.extend(older(&next.first, &self.first));
        next.following.extend(older(&next.following, &self.following));
        next
    }
}

/// By shape: whether one pod of it would find a place if nobody else came, or had one before. Known of those left out alone.
fn with_hope(solver: &Solver<'_>, left_out: &[ShapeId]) -> Vec<bool> {
    let mut alone = Solver::new(solver.ground.scene);
    let mut hopeful = vec![true; alone.shapes.len()];
    for shape in left_out {
        hopeful[*shape] = solver.is_moved(*shape) || alone.could_place(*shape);
    }
    hopeful
}

impl Solver<'_> {
    /// Whether a shape must be in the domain of pods that are not its own kind.
    fn follows(&self, shape: ShapeId) -> bool {
        let must = self.plans[shape].attempts.last();
        must.is_some_and(|must| must.domains.iter().any(|rule| matches!(rule.kind, DomainKind::Near { itself: false })))
    }

    /// The shapes whose pods a shape must share a host with, where those are not its own kind.
    fn leaders(&self, shape: ShapeId) -> Vec<ShapeId> {
        let hosts = self.plans[shape].attempts.last().map(|must| must.hosts.as_slice()).unwrap_or_default();
        let leads = |other: &ShapeId| {
            let adds = &self.plans[*other].adds;
            let follows =
                |rule: &HostRule| matches!(rule, HostRule::Near { counter, itself: false } if adds.contains(counter));
            hosts.iter().any(follows)
        };
        (0..self.shapes.len()).filter(leads).collect()
    }

    /// Asks the pods that a shape follows to be where it can follow.
    fn want_for(&mut self, shape: ShapeId) {
        let Some(must) = self.plans[shape].attempts.last() else { return };
        for rule in must.domains.iter().filter(|rule| matches!(rule.kind, DomainKind::Near { itself: false })) {
            let wanted = self.ground.eligible(rule.slot, &must.needs, false, None, &[]);
            let counters = &mut self.ground.counters;
            counters.some_wanted = true;
            match &mut counters.all[rule.counter].wanted {
                // Where all who wait can follow, if there is such a place.
                Some(known) if known.meets(&wanted) => known.and(&wanted),
                Some(_) => {}
                none => *none = Some(wanted),
            }
        }
    }

    /// The domains in which those that are left out keep together, if they were free to begin elsewhere.
    fn begun(&self, left_out: &[ShapeId]) -> Vec<Begun> {
        let of = |shape: ShapeId| {
            let rules = self.plans[shape].attempts.last().map(|must| must.domains.as_slice()).unwrap_or_default();
            let together = rules.iter().filter(|rule| matches!(rule.kind, DomainKind::Near { itself: true }));
            together.filter_map(move |rule| {
                let counter = &self.ground.counters.all[rule.counter];
                let here = |pod: &usize| self.placed[*pod].map(|place| self.domain(place, rule.slot));
                let Some(Domain::Known(value)) = self.shapes[shape].pods.iter().find_map(here) else { return None };
                (!counter.was_there).then_some(Begun { shape, counter: rule.counter, value })
            })
        };
        left_out.iter().flat_map(|shape| of(*shape)).collect()
    }

    /// Asks the first pod of a shape not to be where not all of them found a place.
    fn want_elsewhere(&mut self, begun: &Begun, all: &[Begun]) {
        let Some(must) = self.plans[begun.shape].attempts.last() else { return };
        let Spot::Slot(slot) = self.ground.counters.all[begun.counter].spot else { return };
        let mut wanted = self.ground.eligible(slot, &must.needs, false, None, &[]);
        for tried in all.iter().filter(|tried| tried.counter == begun.counter) {
            wanted.remove(tried.value);
        }
        if !wanted.is_empty() {
            self.ground.counters.some_wanted = true;
            self.ground.counters.all[begun.counter].wanted = Some(wanted);
        }
    }

    /// Shapes of which a pod has no place, the most important first: where only one of two can have it, that one does.
    /// Before them those that are no longer where an earlier answer put them, because of who came before them this time.
    fn left_out(&self) -> Vec<ShapeId> {
        let all = || 0..self.shapes.len();
        let mut left: Vec<ShapeId> = all().filter(|shape| self.is_moved(*shape)).collect();
        let without_place = |shape: &ShapeId| self.shapes[*shape].pods.iter().any(|pod| self.placed[*pod].is_none());
        let is_left = |shape: &ShapeId| !left.contains(shape) && without_place(shape);
        let without = self.by_importance(all().filter(is_left).collect());
        left.extend(without);
        left
    }

    /// Whether a pod of a shape is not where an earlier answer put it.
    fn is_moved(&self, shape: ShapeId) -> bool {
        let moved = |pod: &usize| self.planned(*pod).is_some_and(|planned| self.placed[*pod] != Some(planned));
        self.shapes[shape].pods.iter().any(moved)
    }

    /// How many pods are where an earlier answer put them.
    fn kept(&self) -> usize {
        (0..self.placed.len()).filter(|pod| self.planned(*pod).is_some_and(|at| self.placed[*pod] == Some(at))).count()
    }

    fn planned(&self, pod: usize) -> Option<usize> {
        let planned = self.ground.scene.pods[pod].planned?;
        self.ground.scene.nodes.get(planned).filter(|node| !node.deleting).map(|_| planned)
    }

    /// More pods are where they were to go; or pods of more importance have a place, or larger ones; or the same for less money.
    fn is_better_than(&self, other: &Self) -> bool {
        let order = self.by_importance((0..self.shapes.len()).collect());
        let placed = |of: &Self| -> Vec<usize> {
            let count =
                |shape: &ShapeId| of.shapes[*shape].pods.iter().filter(|pod| of.placed[**pod].is_some()).count();
            order.iter().map(count).collect()
        };
        let (own, others) = ((self.kept(), placed(self)), (other.kept(), placed(other)));
        own > others || (own == others && self.cost() < other.cost())
    }

    /// The order in which shapes are served where not all can be: by priority where limits make them rivals, those that ask for
    /// GPUs, and then as Karpenter has it, by CPU and memory.
    fn by_importance(&self, mut shapes: Vec<ShapeId>) -> Vec<ShapeId> {
        let limited = super::order::is_limited(self.ground.scene);
        let columns = ["cpu", "memory"].map(|name| self.ground.columns.column(name));
        shapes.sort_by_key(|id| {
            let shape = &self.shapes[*id];
            let size = columns.map(|column| column.map_or(0, |column| shape.request[column]));
            (Reverse(if limited { shape.example.priority } else { 0 }), Reverse(shape.accelerated), Reverse(size), *id)
        });
        shapes
    }

    /// What all claims cost at their cheapest.
    pub fn cost(&self) -> u64 {
        let bought = self.places.claims.iter().filter(|claim| !claim.pods.is_empty());
        bought.filter_map(|claim| self.cheapest_of(claim)).map(|(_, price)| price).sum()
    }
}
