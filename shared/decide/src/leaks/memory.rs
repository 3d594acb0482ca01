//! What we wrote down and need no more: Leases that nobody will use, turns of the dead, and memories whose time has passed.

use jiff::SignedDuration;
use model::{LeaseOf, LeaseSeen, StockLine};

use super::{Leak, Situation};

/// So long after its time a thing is over for every clock.
const OVER_FOR_ALL: SignedDuration = SignedDuration::from_secs(30);
/// Nothing is remembered for longer than 23 hours: a time beyond this was written by a wrong clock, and would keep an offering
/// away for as long.
const LONGEST_MEMORY: SignedDuration = SignedDuration::from_hours(48);

pub(super) fn leases(seen: &Situation) -> Vec<Leak> {
    let over = |time| seen.now.duration_since(time) >= OVER_FOR_ALL;
    let leak = |lease: &LeaseSeen| match (&lease.of, &lease.holder) {
        (LeaseOf::Machine { machine, off_since }, None) => {
            let described = seen.described.as_ref().is_none_or(|all| all.contains(machine));
            let useless = !described && off_since.is_none_or(over);
            useless.then(|| Leak::MachineLease(lease.clone()))
        }
        // A machine that somebody has is a machine first.
        (LeaseOf::Machine { .. }, Some(_)) => None,
        (LeaseOf::Turn { until }, Some(_)) => until.is_none_or(over).then(|| Leak::TurnLease(lease.clone())),
        (LeaseOf::Turn { .. }, None) => None,
    };
    seen.leases.iter().filter_map(leak).collect()
}

pub(super) fn stock(seen: &Situation) -> Option<Leak> {
    let stale = |line: &&StockLine| match &line.line {
        Some(line) => {
            let left = line.until.duration_since(seen.now);
            left <= -OVER_FOR_ALL || left > LONGEST_MEMORY
        }
        None => true,
    };
    let keys: Vec<String> = seen.stock.iter().filter(stale).map(|line| line.key.clone()).collect();
    (!keys.is_empty()).then_some(Leak::Stock { keys })
}
