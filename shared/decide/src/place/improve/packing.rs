//! Kinds of pods and types of machines where only amounts bind, and what is packed into one machine.

use super::super::amounts::{Part, Row, one_device};
use super::super::ground::take_part;

/// Pods that ask for the same amounts.
#[derive(Debug, Clone)]
pub struct Kind {
    pub request: Row,
    pub part: Option<Part>,
}

/// A machine that can be bought.
#[derive(Debug, Clone)]
pub struct Machine {
    pub has: Row,
    pub price: f64,
}

#[derive(Debug)]
pub struct Problem {
    pub kinds: Vec<Kind>,
    /// How many of each kind there are.
    pub demand: Vec<usize>,
    pub machines: Vec<Machine>,
    shares: Vec<Vec<f64>>,
    /// For each resource, what one unit of its parts is worth of it.
    per_part: Vec<f64>,
}

/// What goes into one machine: how many of which kinds, and the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    pub machine: usize,
    pub counts: Vec<(usize, usize)>,
}

/// A machine while it is being filled.
#[derive(Debug, Clone, Default)]
pub struct Load {
    pub used: Row,
    pub partials: Vec<(usize, i64)>,
}

impl Problem {
    pub fn new(kinds: Vec<Kind>, demand: Vec<usize>, machines: Vec<Machine>) -> Self {
        let columns = kinds.first().map_or(0, |kind| kind.request.len());
        let shares: Vec<Vec<f64>> =
            kinds.iter().map(|kind| (0..columns).map(|column| share(kind, column)).collect()).collect();
        let mut per_part = vec![0.0; columns];
        for part in kinds.iter().filter_map(|kind| kind.part) {
            per_part[part.device] = one_device() as f64 / part.per_device as f64;
        }
        Problem { kinds, demand, machines, shares, per_part }
    }

    /// What a kind takes of each resource; a part of a device as that part of a whole one.
    pub fn shares(&self, kind: usize) -> &[f64] {
        &self.shares[kind]
    }

    /// What a machine has left of each resource, parts of devices included.
    pub fn left(&self, load: &Load, machine: usize) -> Vec<f64> {
        let has = self.machines[machine].has.iter().zip(&load.used);
        let mut left: Vec<f64> = has.map(|(has, used)| (has - used) as f64).collect();
        for (device, part) in &load.partials {
            left[*device] += *part as f64 * self.per_part[*device];
        }
        left
    }

    /// What the amounts alone would cost at the best price for each resource: nothing is cheaper.
    pub fn least(&self) -> f64 {
        let columns = 0..self.columns();
        let of = |column: usize| {
            let asked: f64 =
                self.shares.iter().zip(&self.demand).map(|(share, count)| share[column] * *count as f64).sum();
            let having = self.machines.iter().filter(|machine| machine.has[column] > 0);
            let best = having.map(|machine| machine.price / machine.has[column] as f64).fold(f64::MAX, f64::min);
            if asked > 0.0 { asked * best } else { 0.0 }
        };
        columns.map(of).fold(0.0, f64::max)
    }

    /// Pods together on the cheapest machine that holds them, in an order in which they fit.
    pub fn on_cheapest(&self, mut counts: Vec<(usize, usize)>) -> Option<Pattern> {
        if let Some(machine) = self.cheapest(&self.load(&counts)) {
            return Some(Pattern { machine, counts });
        }
        // Parts of devices fit best when the large ones come first.
        counts.sort_by_key(|(kind, _)| self.kinds[*kind].part.map(|part| core::cmp::Reverse(part.amount)));
        let machine = self.cheapest(&self.load(&counts))?;
        Some(Pattern { machine, counts })
    }

    fn load(&self, counts: &[(usize, usize)]) -> Load {
        let boundless = Machine { has: vec![i64::MAX / 4; self.columns()], price: 0.0 };
        let mut load = Load::empty(self.columns());
        for (kind, count) in counts {
            (0..*count).for_each(|_| _ = load.add(&self.kinds[*kind], &boundless));
        }
        load
    }

    fn columns(&self) -> usize {
        self.shares.first().map_or(0, Vec::len)
    }

    /// The cheapest machine that holds a load.
    pub fn cheapest(&self, load: &Load) -> Option<usize> {
        let holds = |machine: &Machine| load.used.iter().zip(&machine.has).all(|(used, has)| *used == 0 || used <= has);
        let fitting = self.machines.iter().enumerate().filter(|(_, machine)| holds(machine));
        fitting.min_by(|(_, left), (_, right)| left.price.total_cmp(&right.price)).map(|(at, _)| at)
    }
}

/// What a kind takes of a column; a part of a device as that part of a whole one.
fn share(kind: &Kind, column: usize) -> f64 {
    let part = kind.part.filter(|part| part.device == column);
    kind.request[column] as f64
        + part.map_or(0.0, |part| part.amount as f64 / part.per_device as f64 * one_device() as f64)
}

impl Load {
    pub fn empty(columns: usize) -> Self {
        Load { used: vec![0; columns], partials: vec![] }
    }

    pub fn has_room(&self, kind: &Kind, machine: &Machine) -> bool {
        let cost = kind.part.map_or(0, |part| {
            let room = |(device, left): &(usize, i64)| *device == part.device && *left >= part.amount;
            if self.partials.iter().any(room) { 0 } else { one_device() }
        });
        let device = kind.part.map(|part| part.device);
        let amounts = self.used.iter().zip(&machine.has).zip(&kind.request).enumerate();
        amounts.into_iter().all(|(column, ((used, has), request))| {
            let more = request + if device == Some(column) { cost } else { 0 };
            more == 0 || used + more <= *has
        })
    }

    /// Puts one more into the machine if it has room.
    pub fn add(&mut self, kind: &Kind, machine: &Machine) -> bool {
        let fits = self.has_room(kind, machine);
        if fits {
            self.used.iter_mut().zip(&kind.request).for_each(|(used, request)| *used += request);
            if let Some(part) = kind.part {
                self.used[part.device] += take_part(&mut self.partials, part);
            }
        }
        fits
    }
}
