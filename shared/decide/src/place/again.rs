//! Trying again: what found no place goes first in the next try, and the better answer counts.
//!
//! Placing goes one way, so a shape may take the only place that another one could have had. Who is left out because of that,
//! and not because there is nothing for it at all, is the one to begin with.

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
    /// Shapes of which a pod has no place.
    fn left_out(&self) -> Vec<ShapeId> {
        let is_left = |shape: &ShapeId| self.shapes[*shape].pods.iter().any(|pod| self.placed[*pod].is_none());
        (0..self.shapes.len()).filter(is_left).collect()
    }

    /// More pods, the important ones first where limits make them rivals; then larger ones; then less money.
    fn is_better_than(&self, other: &Self) -> bool {
        let merit = |of: &Self| (of.placed_by_priority(), of.amounts_placed(), core::cmp::Reverse(of.cost()));
        merit(self) > merit(other)
    }

    /// CPU and memory of all pods that have a place.
    fn amounts_placed(&self) -> [i64; 2] {
        ["cpu", "memory"].map(|name| {
            let Some(column) = self.ground.columns.column(name) else { return 0 };
            let of_shape = |shape: &super::shapes::Shape<'_>| {
                let placed = shape.pods.iter().filter(|pod| self.placed[**pod].is_some()).count();
                shape.request[column].saturating_mul(placed as i64)
            };
            self.shapes.iter().map(of_shape).fold(0, i64::saturating_add)
        })
    }

    /// How many pods of each priority have a place, the highest first; without limits all count alike.
    fn placed_by_priority(&self) -> Vec<usize> {
        let pods = &self.ground.scene.pods;
        let limited = super::order::is_limited(self.ground.scene);
        let priority = |pod: usize| if limited { pods[pod].priority } else { 0 };
        let mut counts: std::collections::BTreeMap<core::cmp::Reverse<i32>, usize> = Default::default();
        for (pod, place) in self.placed.iter().enumerate() {
            *counts.entry(core::cmp::Reverse(priority(pod))).or_default() += usize::from(place.is_some());
        }
        counts.into_values().collect()
    }

    fn cost(&self) -> u64 {
        let bought = self.places.claims.iter().filter(|claim| !claim.pods.is_empty());
        bought.filter_map(|claim| self.cheapest_of(claim)).map(|(_, price)| price).sum()
    }
}
