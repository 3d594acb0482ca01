//! Nodes that nobody uses. They go together, as far as budgets let them: nothing has to come in their place.

use core::cmp::Reverse;
use model::{
    Resources,
    disruption::{Policy, Reason},
};

use super::{
    board::Choosing,
    candidate::{self, Candidate},
    commands,
};
use crate::place::is_accelerator;

pub fn take(choosing: &mut Choosing<'_>) {
    let mut idle = vec![];
    for at in choosing.staying() {
        let of = &choosing.board.candidates[at];
        match candidate::may_be_empty(of) {
            Ok(()) => idle.push(at),
            // Others may be taken away for another reason, and then have another reason to stay.
            Err(stay) if of.busy.is_none() || of.pool_here.policy == Policy::WhenEmpty => choosing.stay(at, stay),
            Err(_) => {}
        }
    }
    idle.sort_by_key(|at| order(&choosing.board.candidates[*at]));
    for at in idle {
        if choosing.budget_allows(at, Reason::Empty) {
            choosing.go(at);
            let command = commands::deletion(choosing.board, at, Reason::Empty, "nothing runs on it that needs it");
            choosing.chosen.push(command);
        }
    }
}

/// Machines of a rack by size, the largest first, and of equal ones the one that ran longest; others by what they cost.
fn order(of: &Candidate<'_>) -> impl Ord {
    let rack = of.pool_here.rack.is_some();
    let size = if rack { (gpus(&of.there.allocatable), amount(&of.there.allocatable, "cpu")) } else { (0, 0) };
    let changed = of.here.changed_at.filter(|_| rack);
    (Reverse(size), changed, Reverse(of.price()), of.name().to_owned())
}

fn gpus(resources: &Resources) -> i128 {
    resources.iter().filter(|(name, _)| is_accelerator(name)).map(|(_, amount)| amount.thousandths()).sum()
}

fn amount(resources: &Resources, name: &str) -> i128 {
    resources.get(name).map_or(0, |amount| amount.thousandths())
}
