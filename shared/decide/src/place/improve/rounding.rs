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
    let values = program.values();
    let is_small = !whole.is_empty() && problem.demand.iter().sum::<usize>() <= FEW;
    whole.extend(best_rest(problem, &left, &values, still_time)?);
    // Of few machines the last one matters most: what the program would have bought whole may leave the wrong rest.
    let anew = if is_small { best_rest(problem, &problem.demand, &values, still_time) } else { None };
    let all = [Some(whole), anew].into_iter().flatten().map(|all| (price(problem, &all), all));
    all.min_by(|(left, _), (right, _)| left.total_cmp(right))
}

/// With no more pods than this everything is packed without the program's help as well.
const FEW: usize = 100;

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
    // The first time by the values as they are, then with some noise; and with each machine once as the first that is filled.
    let begins =
        (0..TRIES).map(|at| (at > 0, None)).chain((0..problem.machines.len()).map(|first| (false, Some(first))));
    for (is_noisy, first) in begins {
        let noisy =
            |value: &f64, chance: &mut Chance| if is_noisy { value * (0.85 + 0.3 * chance.next()) } else { *value };
        let values: Vec<f64> = values.iter().map(|value| noisy(value, &mut chance)).collect();
        let Some(patterns) = one_by_one(problem, left.to_vec(), &values, first, &mut chance) else { continue };
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

/// Fills one machine after the other with what is worth most, beginning with a certain one if there is a wish.
fn one_by_one(
    problem: &Problem,
    mut left: Vec<usize>,
    values: &[f64],
    mut first: Option<usize>,
    chance: &mut Chance,
) -> Option<Vec<Pattern>> {
    let values: Vec<f64> = values.iter().map(|value| value.max(1e-6)).collect();
    let mut patterns = vec![];
    while left.iter().any(|count| *count > 0) {
        let wanted = Wanted { values: &values, most: &left, quick: true };
        let machines = first.take().map_or(0..problem.machines.len(), |first| first..first + 1);
        let fillings = machines.map(|machine| fill(problem, machine, &wanted, chance));
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
