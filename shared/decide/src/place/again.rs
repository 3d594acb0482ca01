//! Trying again: what found no place goes first in the next try, and the better answer counts.
//!
//! Placing goes one way, so a shape may take the only place that another one could have had. Who is left out because of that,
//! and not because there is nothing for it at all, is the one to begin with.

use core::cmp::Reverse;

use model::place::Scene;

use super::shapes::ShapeId;
use super::solver::Solver;

/// Each try costs as much as the first; scenes that need more than these are rare.
const MOST_TRIES: usize = 6;

/// The best of some tries.
pub fn solve<'a>(scene: &'a Scene, still_time: &mut dyn FnMut() -> bool) -> Solver<'a> {
    let mut best = one_try(scene, &[], still_time);
    let mut left_out = best.left_out();
    if left_out.is_empty() {
        return best;
    }
    let hopeful = with_hope(scene, &left_out);
    let mut begun: Vec<Vec<ShapeId>> = vec![vec![]];
    while begun.len() < MOST_TRIES && !best.out_of_time && still_time() {
        let Some(first) = next_order(begun.last().map_or(&[][..], Vec::as_slice), &left_out, &hopeful) else { break };
        if begun.contains(&first) {
            break;
        }
        let next = one_try(scene, &first, still_time);
        left_out = next.left_out();
        if !next.out_of_time && next.is_better_than(&best) {
            best = next;
        }
        begun.push(first);
    }
    best
}

fn one_try<'a>(scene: &'a Scene, first: &[ShapeId], still_time: &mut dyn FnMut() -> bool) -> Solver<'a> {
    let mut solver = Solver::new(scene);
    solver.run(first, still_time);
    solver
}

/// Those left out last time, then those that were before; nothing if none of them has hope.
fn next_order(before: &[ShapeId], left_out: &[ShapeId], hopeful: &[bool]) -> Option<Vec<ShapeId>> {
    let has_hope = |shape: &&ShapeId| hopeful.get(**shape).copied().unwrap_or(true);
    let mut first: Vec<ShapeId> = left_out.iter().filter(has_hope).copied().collect();
    if first.is_empty() {
        return None;
    }
    let rest: Vec<ShapeId> = before.iter().filter(|shape| !first.contains(shape)).copied().collect();
    first.extend(rest);
    Some(first)
}

/// By shape: whether one pod of it would find a place if nobody else came. Known of those left out alone.
fn with_hope(scene: &Scene, left_out: &[ShapeId]) -> Vec<bool> {
    let mut alone = Solver::new(scene);
    let mut hopeful = vec![true; alone.shapes.len()];
    for shape in left_out {
        hopeful[*shape] = alone.could_place(*shape);
    }
    hopeful
}

impl Solver<'_> {
    /// Shapes of which a pod has no place, the most important first: where only one of two can have it, that one does.
    fn left_out(&self) -> Vec<ShapeId> {
        let is_left = |shape: &ShapeId| self.shapes[*shape].pods.iter().any(|pod| self.placed[*pod].is_none());
        self.by_importance((0..self.shapes.len()).filter(is_left).collect())
    }

    /// Pods of more importance have a place, or larger ones; or the same pods for less money.
    fn is_better_than(&self, other: &Self) -> bool {
        let order = self.by_importance((0..self.shapes.len()).collect());
        let placed = |of: &Self| -> Vec<usize> {
            let count =
                |shape: &ShapeId| of.shapes[*shape].pods.iter().filter(|pod| of.placed[**pod].is_some()).count();
            order.iter().map(count).collect()
        };
        let (own, others) = (placed(self), placed(other));
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

    fn cost(&self) -> u64 {
        let bought = self.places.claims.iter().filter(|claim| !claim.pods.is_empty());
        bought.filter_map(|claim| self.cheapest_of(claim)).map(|(_, price)| price).sum()
    }
}
