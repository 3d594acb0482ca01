//! What one label may be: a set of values, and whether the label may be missing.
//!
//! Missing is not a value and not a contradiction. Keeping the three apart makes every rule of Kubernetes fall out of plain
//! intersection: `NotIn` and `DoesNotExist` are kept by a node without the label, all other operators want it there.

use core::cmp::Ordering;
use model::{Operator, Requirement};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed<'a> {
    values: Values<'a>,
    absent: bool,
}

/// Lists are sorted and name a value once.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Values<'a> {
    Only(Vec<&'a str>),
    /// Everything but these; with bounds, of the integers from the first to the second. The bounds hold something, and only
    /// values between them are listed: equal sets are equal values.
    AllBut(Vec<&'a str>, Option<(i64, i64)>),
}

impl<'a> Allowed<'a> {
    /// Any value, and none.
    pub fn anything() -> Self {
        Allowed { values: Values::AllBut(vec![], None), absent: true }
    }

    /// What one requirement allows. A bound that is not one integer is a requirement that nothing keeps.
    pub fn by(requirement: &'a Requirement) -> Self {
        let list = || {
            let mut list: Vec<&str> = requirement.values.iter().map(String::as_str).collect();
            list.sort_unstable();
            list.dedup();
            list
        };
        let bound = match requirement.values.as_slice() {
            [value] => value.parse::<i64>().ok(),
            _ => None,
        };
        let least = |least: Option<i64>| between(least.map(|least| (least, i64::MAX)));
        let most = |most: Option<i64>| between(most.map(|most| (i64::MIN, most)));
        let (values, absent) = match requirement.operator {
            Operator::In => (Values::Only(list()), false),
            Operator::NotIn => (Values::AllBut(list(), None), true),
            Operator::Exists => (Values::AllBut(vec![], None), false),
            Operator::DoesNotExist => (Values::Only(vec![]), true),
            Operator::Gt => (least(bound.and_then(|bound| bound.checked_add(1))), false),
            Operator::Gte => (least(bound), false),
            Operator::Lt => (most(bound.and_then(|bound| bound.checked_sub(1))), false),
            Operator::Lte => (most(bound), false),
        };
        Allowed { values, absent }
    }

    pub fn has(&self, value: &str) -> bool {
        match &self.values {
            Values::Only(list) => holds(list, value),
            Values::AllBut(list, bounds) => is_within(value, *bounds) && !holds(list, value),
        }
    }

    /// Whether a node without the label will do.
    pub fn allows_absent(&self) -> bool {
        self.absent
    }

    /// Nothing keeps it: no value, and not a missing label either.
    pub fn is_empty(&self) -> bool {
        !self.absent && matches!(&self.values, Values::Only(list) if list.is_empty())
    }

    /// A value for a label that has to be there and is left open: the least that will do, so that the same words give the same.
    pub fn any(&self) -> Option<String> {
        let Values::AllBut(list, bounds) = &self.values else { return None };
        let (least, most) = bounds.unwrap_or((0, i64::MAX));
        let begin = if least == i64::MIN { most } else { least };
        let step = if least == i64::MIN { -1 } else { 1 };
        let tried = (0..).take(list.len() + 1).filter_map(|nth: i64| begin.checked_add(nth.checked_mul(step)?));
        tried.map(|number| number.to_string()).find(|value| !self.absent && self.has(value))
    }

    /// The values, where they can be listed, in alphabetical order.
    pub fn listed(&self) -> Option<&[&'a str]> {
        match &self.values {
            Values::Only(list) => Some(list),
            Values::AllBut(..) => None,
        }
    }

    /// Whether the intersection holds anything, without making it.
    pub fn intersects(&self, other: &Allowed<'_>) -> bool {
        if self.absent && other.absent {
            return true;
        }
        match (&self.values, &other.values) {
            (Values::Only(left), Values::Only(right)) => share_one(left, right),
            (Values::Only(list), Values::AllBut(..)) => list.iter().any(|value| other.has(value)),
            (Values::AllBut(..), Values::Only(list)) => list.iter().any(|value| self.has(value)),
            // A finite list never uses up the rest: even one integer has many spellings (7, 07).
            (Values::AllBut(_, left), Values::AllBut(_, right)) => overlap(*left, *right).is_ok(),
        }
    }

    /// Keeps what both allow.
    pub fn narrow(&mut self, other: &Allowed<'a>) {
        self.absent &= other.absent;
        match (&mut self.values, &other.values) {
            (Values::Only(list), _) => list.retain(|value| other.has(value)),
            (Values::AllBut(..), Values::Only(list)) => {
                let both = list.iter().copied().filter(|value| self.has(value)).collect();
                self.values = Values::Only(both);
            }
            (Values::AllBut(left, left_bounds), Values::AllBut(right, right_bounds)) => {
                self.values = match overlap(*left_bounds, *right_bounds) {
                    Err(Apart) => Values::Only(vec![]),
                    Ok(bounds) => {
                        let mut list = core::mem::take(left);
                        list.extend(right);
                        list.retain(|value| is_within(value, bounds));
                        list.sort_unstable();
                        list.dedup();
                        Values::AllBut(list, bounds)
                    }
                };
            }
        }
    }
}

/// The bounds have no integer in common.
struct Apart;

fn between(bounds: Option<(i64, i64)>) -> Values<'static> {
    match bounds {
        Some(bounds) => Values::AllBut(vec![], Some(bounds)),
        None => Values::Only(vec![]),
    }
}

fn overlap(left: Option<(i64, i64)>, right: Option<(i64, i64)>) -> Result<Option<(i64, i64)>, Apart> {
    match (left, right) {
        (None, bounds) | (bounds, None) => Ok(bounds),
        (Some((least, most)), Some((other_least, other_most))) => {
            let (least, most) = (least.max(other_least), most.min(other_most));
            if least <= most { Ok(Some((least, most))) } else { Err(Apart) }
        }
    }
}

fn is_within(value: &str, bounds: Option<(i64, i64)>) -> bool {
    let Some((least, most)) = bounds else { return true };
    value.parse::<i64>().is_ok_and(|number| (least..=most).contains(&number))
}

fn holds(sorted: &[&str], value: &str) -> bool {
    sorted.binary_search_by(|own| (*own).cmp(value)).is_ok()
}

fn share_one(mut left: &[&str], mut right: &[&str]) -> bool {
    while let ([first, left_rest @ ..], [other, right_rest @ ..]) = (left, right) {
        match first.cmp(other) {
            Ordering::Less => left = left_rest,
            Ordering::Greater => right = right_rest,
            Ordering::Equal => return true,
        }
    }
    false
}
