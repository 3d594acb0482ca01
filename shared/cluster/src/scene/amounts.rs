//! Sums of amounts.

use model::{Quantity, Resources};

/// Adds amounts, resource by resource.
pub(super) fn add(to: &mut Resources, more: &Resources) {
    for (name, amount) in more {
        let sum = to.entry(name.clone()).or_default();
        *sum = Quantity::from_thousandths(sum.thousandths().saturating_add(amount.thousandths()));
    }
}

/// The larger of two, resource by resource.
pub(super) fn raise(to: &mut Resources, other: &Resources) {
    for (name, amount) in other {
        let own = to.entry(name.clone()).or_default();
        *own = (*own).max(*amount);
    }
}

/// What one side has, and of the other whatever is missing or zero in the first.
pub(super) fn filled(mut first: Resources, other: &Resources) -> Resources {
    for (name, amount) in other {
        let own = first.entry(name.clone()).or_default();
        if own.thousandths() == 0 {
            *own = *amount;
        }
    }
    first
}

pub(super) fn whole(number: i64) -> Quantity {
    Quantity::from_thousandths(i128::from(number) * 1000)
}
