//! Which types can hold an amount: for each resource, the types in order of what they have.

use super::amounts::Row;
use super::mask::Mask;

#[derive(Debug)]
pub struct Fit {
    columns: Vec<Steps>,
    /// What each type has for pods, DaemonSets taken off.
    pub rows: Vec<Row>,
}

/// The different amounts, rising, and who has at least each of them.
#[derive(Debug, Default)]
struct Steps {
    amounts: Vec<i64>,
    holders: Vec<Mask>,
}

impl Fit {
    pub fn new(rows: Vec<Row>, columns: usize) -> Self {
        let steps = |column: usize| {
            let mut order: Vec<(i64, usize)> = rows.iter().enumerate().map(|(at, row)| (row[column], at)).collect();
            order.sort_unstable();
            let mut steps = Steps::default();
            let mut holders = Mask::none(rows.len());
            for (at, (amount, of)) in order.iter().enumerate().rev() {
                holders.insert(*of);
                if at == 0 || order[at - 1].0 != *amount {
                    steps.amounts.push(*amount);
                    steps.holders.push(holders.clone());
                }
            }
            steps.amounts.reverse();
            steps.holders.reverse();
            steps
        };
        Fit { columns: (0..columns).map(steps).collect(), rows }
    }

    /// Keeps the types that can hold the request; answers whether any is left.
    pub fn keep(&self, request: &[i64], types: &mut Mask) -> bool {
        for (steps, amount) in self.columns.iter().zip(request).filter(|(_, amount)| **amount > 0) {
            let at = steps.amounts.partition_point(|has| has < amount);
            match steps.holders.get(at) {
                Some(holders) => types.and(holders),
                None => return false,
            }
        }
        !types.is_empty()
    }

    /// The most that any of these types has of a resource.
    pub fn most(&self, column: usize, types: &Mask) -> i64 {
        let Some(steps) = self.columns.get(column) else { return 0 };
        let met = steps.holders.iter().rposition(|holders| holders.meets(types));
        met.and_then(|at| steps.amounts.get(at)).copied().unwrap_or(0)
    }
}
