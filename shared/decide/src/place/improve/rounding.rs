//! From "so often" to whole machines: what is used whole is bought, the rest is packed as well as chance and prices can.

use super::chance::Chance;
use super::knapsack::{Wanted, fill};
use super::packing::{Pattern, Problem};
use super::simplex::Program;

/// Orders in which the rest is tried.
const TRIES: usize = 16;
/// Machines filled for the rest, after which no further order is tried.
const MOST_FILLS: usize = 2000;

/// Machines that hold every pod, and their price. Nothing if a kind fits no machine.
pub fn pack(
    problem: &Problem,
    known: Vec<Pattern>,
    still_time: &mut dyn FnMut() -> bool,
) -> Option<(f64, Vec<Pattern>)> {
    let mut program = Program::new(problem)?;
    known.into_iter().for_each(|pattern| program.offer(pattern));
    program.solve(MOST_STEPS, still_time);
    let mut left = problem.demand.clone();
    let mut whole = vec![];
    for (pattern, often) in program.used() {
        for _ in 0..(often + 1e-6).floor() as usize {
            let Some(counts) = take(pattern, &mut left) else { break };
            match problem.on_cheapest(counts.clone()) {
                Some(pattern) => whole.push(pattern),
                None => counts.iter().for_each(|(kind, count)| left[*kind] += count),
            }
        }
    }
    let rest = best_rest(problem, &left, &program.values(), still_time)?;
    whole.extend(rest);
    Some((price(problem, &whole), whole))
}

const MOST_STEPS: usize = 4000;

pub fn price(problem: &Problem, patterns: &[Pattern]) -> f64 {
    patterns.iter().map(|pattern| problem.machines[pattern.machine].price).sum()
}

/// A pattern, as far as there is still demand for it.
fn take(pattern: &Pattern, left: &mut [usize]) -> Option<Vec<(usize, usize)>> {
    let mut counts = vec![];
    for (kind, count) in &pattern.counts {
        let count = (*count).min(left[*kind]);
        left[*kind] -= count;
        if count > 0 {
            counts.push((*kind, count));
        }
    }
    (!counts.is_empty()).then_some(counts)
}

fn best_rest(
    problem: &Problem,
    left: &[usize],
    values: &[f64],
    still_time: &mut dyn FnMut() -> bool,
) -> Option<Vec<Pattern>> {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let mut best: Option<(f64, Vec<Pattern>)> = None;
    let mut fills = 0;
    for at in 0..TRIES {
        // The first time by the values as they are, then with some noise.
        let noisy =
            |value: &f64, chance: &mut Chance| if at == 0 { *value } else { value * (0.85 + 0.3 * chance.next()) };
        let values: Vec<f64> = values.iter().map(|value| noisy(value, &mut chance)).collect();
        let patterns = one_by_one(problem, left.to_vec(), &values, &mut chance)?;
        let (cost, patterns_len) = (price(problem, &patterns), patterns.len());
        if best.as_ref().is_none_or(|(known, _)| cost < *known) {
            best = Some((cost, patterns));
        }
        fills += patterns_len * problem.machines.len();
        if fills > MOST_FILLS || !still_time() {
            break;
        }
    }
    best.map(|(_, patterns)| patterns)
}

/// Fills one machine after the other with what is worth most.
fn one_by_one(problem: &Problem, mut left: Vec<usize>, values: &[f64], chance: &mut Chance) -> Option<Vec<Pattern>> {
    let values: Vec<f64> = values.iter().map(|value| value.max(1e-6)).collect();
    let mut patterns = vec![];
    while left.iter().any(|count| *count > 0) {
        let wanted = Wanted { values: &values, most: &left, quick: true };
        let fillings = (0..problem.machines.len()).map(|machine| fill(problem, machine, &wanted, chance));
        let worth = |(value, pattern): &(f64, Pattern)| value / problem.machines[pattern.machine].price.max(1e-9);
        let (_, pattern) = fillings.max_by(|left, right| worth(left).total_cmp(&worth(right)))?;
        if pattern.counts.is_empty() {
            return None;
        }
        pattern.counts.iter().for_each(|(kind, count)| left[*kind] -= count);
        patterns.push(problem.on_cheapest(pattern.counts)?);
    }
    Some(patterns)
}
