//! The most valuable filling of one machine.
//!
//! One pod after the other, always the one that is worth most for what it takes of what is left: so a resource that runs short
//! gets dear, and the filling stays balanced. Several readings of "takes" and some chance give several fillings; the best is then
//! bettered by taking one pod out and filling up without it.

use super::chance::Chance;
use super::packing::{Load, Pattern, Problem};

/// How amounts of different resources are added up.
#[derive(Clone, Copy)]
enum Reading {
    Sum,
    Squares,
    Most,
}

const READINGS: [Reading; 3] = [Reading::Sum, Reading::Squares, Reading::Most];

/// Fillings with some chance in them, for each reading.
const NOISY: usize = 3;

/// One machine to be filled.
struct Task<'p> {
    problem: &'p Problem,
    machine: usize,
    values: &'p [f64],
    most: &'p [usize],
    /// Kinds that are worth anything.
    worth: Vec<usize>,
}

#[derive(Clone)]
struct Filling {
    value: f64,
    counts: Vec<usize>,
    /// The kinds as they came: parts of devices depend on the order.
    sequence: Vec<usize>,
    load: Load,
}

/// What is asked of a filling.
pub struct Wanted<'p> {
    /// What each kind is worth.
    pub values: &'p [f64],
    /// The most of each kind.
    pub most: &'p [usize],
    /// The first good filling will do.
    pub quick: bool,
}

/// The best filling found, and its value.
pub fn fill(problem: &Problem, machine: usize, wanted: &Wanted<'_>, chance: &mut Chance) -> (f64, Pattern) {
    let Wanted { values, most, quick } = *wanted;
    let worth = (0..problem.kinds.len()).filter(|kind| values[*kind] > 1e-9 && most[*kind] > 0).collect();
    let task = Task { problem, machine, values, most, worth };
    let mut best = task.empty();
    for reading in READINGS {
        for noise in 0..=if quick { 0 } else { NOISY } {
            let mut factor = |_: &usize| if noise == 0 { 1.0 } else { 0.7 + 0.6 * chance.next() };
            let factors: Vec<f64> = task.worth.iter().map(&mut factor).collect();
            let mut filling = task.empty();
            task.fill_up(&factors, reading, &mut filling);
            if filling.value > best.value + 1e-12 {
                best = filling;
            }
        }
        if quick {
            break;
        }
    }
    task.better(&mut best);
    (best.value, best.pattern(machine))
}

impl Filling {
    fn pattern(&self, machine: usize) -> Pattern {
        let mut counts: Vec<(usize, usize)> = vec![];
        for kind in &self.sequence {
            match counts.last_mut() {
                Some((last, count)) if last == kind => *count += 1,
                _ => counts.push((*kind, 1)),
            }
        }
        Pattern { machine, counts }
    }
}

impl Task<'_> {
    fn empty(&self) -> Filling {
        let load = Load::empty(self.problem.machines[self.machine].has.len());
        Filling { value: 0.0, counts: vec![0; self.problem.kinds.len()], sequence: vec![], load }
    }

    /// Adds pods until none fits. `factors` say how much of its value each kind is given.
    fn fill_up(&self, factors: &[f64], reading: Reading, filling: &mut Filling) {
        let machine = &self.problem.machines[self.machine];
        let mut open: Vec<(usize, f64)> =
            self.worth.iter().copied().zip(factors.iter().copied()).filter(|(_, factor)| *factor > 0.0).collect();
        loop {
            let left = self.problem.left(&filling.load, self.machine);
            let mut best: Option<(f64, usize)> = None;
            open.retain(|(kind, factor)| {
                if filling.counts[*kind] >= self.most[*kind]
                    || !filling.load.has_room(&self.problem.kinds[*kind], machine)
                {
                    return false;
                }
                let takes = self.takes(*kind, &left, reading);
                let rate = self.values[*kind] * factor / takes;
                if best.is_none_or(|(known, _)| rate > known) {
                    best = Some((rate, *kind));
                }
                true
            });
            let Some((_, kind)) = best else { return };
            filling.load.add(&self.problem.kinds[kind], machine);
            filling.counts[kind] += 1;
            filling.sequence.push(kind);
            filling.value += self.values[kind];
        }
    }

    /// What a pod takes of what is left.
    fn takes(&self, kind: usize, left: &[f64], reading: Reading) -> f64 {
        let shares = self.problem.shares(kind).iter().zip(left).filter(|(share, _)| **share > 0.0);
        let parts = shares.map(|(share, left)| share / left.max(1e-9));
        let sum = match reading {
            Reading::Sum => parts.sum(),
            Reading::Squares => parts.map(|part| part * part).sum::<f64>().sqrt(),
            Reading::Most => parts.fold(0.0, f64::max),
        };
        sum.max(1e-12)
    }

    /// Takes pods of one kind out and fills up without it, as long as that gains something.
    fn better(&self, best: &mut Filling) {
        let mut at = 0;
        while at < self.worth.len() {
            let kind = self.worth[at];
            let gained = (1..=best.counts[kind].min(2)).find_map(|out| {
                let mut filling = self.without(best, kind, out);
                let factors: Vec<f64> = self.worth.iter().map(|of| f64::from(u8::from(*of != kind))).collect();
                self.fill_up(&factors, Reading::Sum, &mut filling);
                (filling.value > best.value + 1e-9).then_some(filling)
            });
            match gained {
                Some(filling) => {
                    *best = filling;
                    at = 0;
                }
                None => at += 1,
            }
        }
    }

    fn without(&self, filling: &Filling, kind: usize, out: usize) -> Filling {
        let mut fresh = self.empty();
        let machine = &self.problem.machines[self.machine];
        let mut leave_out = out;
        for of in &filling.sequence {
            if *of == kind && leave_out > 0 {
                leave_out -= 1;
            } else if fresh.load.add(&self.problem.kinds[*of], machine) {
                fresh.sequence.push(*of);
                fresh.counts[*of] += 1;
                fresh.value += self.values[*of];
            }
        }
        fresh
    }
}
