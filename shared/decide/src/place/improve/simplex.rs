//! How often each filling is used, as a linear program that is given its columns one by one.
//!
//! Minimise the price of all machines so that every kind is covered: the basis begins with machines that hold one kind each, and
//! every better filling that the prices of the kinds suggest enters it.

use super::chance::Chance;
use super::knapsack::{Wanted, fill};
use super::packing::{Load, Pattern, Problem};

const TINY: f64 = 1e-9;
/// The work a program may do, whatever the clock says: the same on every machine.
const MOST_FILLS: usize = 800;
/// A filling that is known already enters without looking for a better one if it is worth so much more than its price.
const GAIN_OF_KNOWN: f64 = 0.02;

pub struct Program<'p> {
    problem: &'p Problem,
    /// What stands in the basis; nothing for "one more than needed" of a kind.
    basis: Vec<Option<Pattern>>,
    costs: Vec<f64>,
    /// The inverse of the basis, row by row.
    inverse: Vec<f64>,
    amounts: Vec<f64>,
    pool: Vec<Pattern>,
    /// Machines that may still be filled in search of better ones.
    fills_left: usize,
}

impl<'p> Program<'p> {
    /// Nothing if some kind fits no machine.
    pub fn new(problem: &'p Problem) -> Option<Self> {
        let rows = problem.kinds.len();
        let mut program = Program {
            problem,
            basis: vec![],
            costs: vec![],
            inverse: vec![0.0; rows * rows],
            amounts: vec![],
            pool: vec![],
            fills_left: MOST_FILLS,
        };
        for kind in 0..rows {
            let alone = |machine: usize| {
                let mut load = Load::empty(problem.machines[machine].has.len());
                let mut count = 0;
                while count < problem.demand[kind].max(1) && load.add(&problem.kinds[kind], &problem.machines[machine])
                {
                    count += 1;
                }
                (count > 0).then(|| (problem.machines[machine].price / count as f64, machine, count))
            };
            let best =
                (0..problem.machines.len()).filter_map(alone).min_by(|left, right| left.0.total_cmp(&right.0))?;
            let (_, machine, count) = best;
            program.inverse[kind * rows + kind] = 1.0 / count as f64;
            program.amounts.push(problem.demand[kind] as f64 / count as f64);
            program.costs.push(problem.machines[machine].price);
            program.basis.push(Some(Pattern { machine, counts: vec![(kind, count)] }));
        }
        Some(program)
    }

    /// Offers a filling that is known already.
    pub fn offer(&mut self, pattern: Pattern) {
        if !self.pool.contains(&pattern) {
            self.pool.push(pattern);
        }
    }

    /// Improves until no filling is found that would lower the price, or steps or time are used up.
    pub fn solve(&mut self, most_steps: usize, still_time: &mut dyn FnMut() -> bool) {
        for step in 0..most_steps {
            if step % 16 == 15 && !still_time() {
                return;
            }
            let values = self.values();
            let Some((column, cost, pattern)) = self.entering(&values) else { return };
            if !self.enter(&column, cost, pattern) {
                return;
            }
        }
    }

    /// What one more of each kind costs.
    pub fn values(&self) -> Vec<f64> {
        let rows = self.basis.len();
        let mut values = vec![0.0; rows];
        for (row, cost) in self.costs.iter().enumerate().filter(|(_, cost)| **cost != 0.0) {
            for (value, entry) in values.iter_mut().zip(&self.inverse[row * rows..][..rows]) {
                *value += cost * entry;
            }
        }
        values
    }

    /// The fillings of the basis and how often each is used.
    pub fn used(&self) -> impl Iterator<Item = (&Pattern, f64)> {
        self.basis.iter().zip(&self.amounts).filter_map(|(pattern, amount)| Some((pattern.as_ref()?, *amount)))
    }

    fn entering(&mut self, values: &[f64]) -> Option<(Vec<f64>, f64, Option<Pattern>)> {
        let rows = values.len();
        // A kind that costs less than nothing is covered too often: let it be so.
        if let Some(kind) = (0..rows).find(|kind| values[*kind] < -1e-7) {
            let mut column = vec![0.0; rows];
            column[kind] = -1.0;
            return Some((column, 0.0, None));
        }
        let price = |pattern: &Pattern| self.problem.machines[pattern.machine].price;
        let worth =
            |pattern: &Pattern| pattern.counts.iter().map(|(kind, count)| values[*kind] * *count as f64).sum::<f64>();
        let gain = |pattern: &Pattern| (worth(pattern) - price(pattern)) / price(pattern).max(TINY);
        let known =
            self.pool.iter().map(|pattern| (gain(pattern), pattern)).max_by(|left, right| left.0.total_cmp(&right.0));
        let found = match known {
            Some((gain, pattern)) if gain > GAIN_OF_KNOWN => pattern.clone(),
            known => {
                let known = known.map(|(gain, pattern)| (gain, pattern.clone()));
                let wanted = Wanted { values, most: &self.problem.demand, quick: false };
                let mut chance = Chance(0x2545_f491_4f6c_dd1d ^ self.pool.len() as u64);
                let mut best = known.unwrap_or((0.0, Pattern { machine: 0, counts: vec![] }));
                let machines = self.problem.machines.len();
                for turn in 0..machines {
                    // A good one is taken at once, and another machine begins the next time.
                    if self.fills_left == 0 || best.0 > GAIN_OF_KNOWN {
                        break;
                    }
                    self.fills_left -= 1;
                    let machine = (self.fills_left + turn) % machines;
                    let (_, pattern) = fill(self.problem, machine, &wanted, &mut chance);
                    let gain = gain(&pattern);
                    if gain > best.0 {
                        best = (gain, pattern);
                    }
                }
                if best.0 <= 1e-6 {
                    return None;
                }
                self.pool.push(best.1.clone());
                best.1
            }
        };
        let mut column = vec![0.0; rows];
        found.counts.iter().for_each(|(kind, count)| column[*kind] += *count as f64);
        let cost = self.problem.machines[found.machine].price;
        Some((column, cost, Some(found)))
    }

    fn enter(&mut self, column: &[f64], cost: f64, pattern: Option<Pattern>) -> bool {
        let rows = self.basis.len();
        let direction: Vec<f64> = (0..rows)
            .map(|row| self.inverse[row * rows..][..rows].iter().zip(column).map(|(entry, value)| entry * value).sum())
            .collect();
        let ratios =
            (0..rows).filter(|row| direction[*row] > TINY).map(|row| (self.amounts[row] / direction[row], row));
        let Some((step, leaving)) = ratios.min_by(|left, right| left.0.total_cmp(&right.0)) else { return false };
        let pivot = direction[leaving];
        let pivot_row: Vec<f64> = self.inverse[leaving * rows..][..rows].iter().map(|entry| entry / pivot).collect();
        for row in (0..rows).filter(|row| *row != leaving) {
            let factor = direction[row];
            self.amounts[row] = (self.amounts[row] - step * factor).max(0.0);
            if factor.abs() > 1e-12 {
                let entries = &mut self.inverse[row * rows..][..rows];
                entries.iter_mut().zip(&pivot_row).for_each(|(entry, own)| *entry -= factor * own);
            }
        }
        self.inverse[leaving * rows..][..rows].copy_from_slice(&pivot_row);
        self.amounts[leaving] = step;
        self.costs[leaving] = cost;
        self.basis[leaving] = pattern;
        true
    }
}
