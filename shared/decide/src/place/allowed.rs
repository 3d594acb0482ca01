//! What one label may be, over numbered values: which of those somebody names, whether any other, whether it may be missing.

use model::{Operator, Requirement};

use super::mask::Mask;
use super::words::{Key, Value, Words};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Allowed {
    values: Mask,
    /// Values that nobody names, within the bounds.
    others: bool,
    absent: bool,
    bounds: Option<(i64, i64)>,
}

impl Allowed {
    pub fn anything(words: &Words<'_>, key: Key) -> Self {
        let values = Mask::all(words.values(key).len());
        Allowed { values, others: true, absent: true, bounds: None }
    }

    pub fn only_absent() -> Self {
        Allowed { values: Mask::default(), others: false, absent: true, bounds: None }
    }

    /// Some value that nobody can name: the hostname of a node that does not exist yet.
    pub fn unnamed() -> Self {
        Allowed { values: Mask::default(), others: true, absent: false, bounds: None }
    }

    pub fn one(value: Value) -> Self {
        let mut values = Mask::none(value + 1);
        values.insert(value);
        Allowed { values, others: false, absent: false, bounds: None }
    }

    /// What a requirement allows. A bound that is not one integer is kept by nothing.
    pub fn by(requirement: &Requirement, key: Key, words: &Words<'_>) -> Self {
        let named = || {
            let mut values = Mask::none(words.values(key).len());
            requirement
                .values
                .iter()
                .filter_map(|value| words.value(key, value))
                .for_each(|value| values.insert(value));
            values
        };
        let bound = match requirement.values.as_slice() {
            [value] => value.parse::<i64>().ok(),
            _ => None,
        };
        match requirement.operator {
            Operator::In => Allowed { values: named(), others: false, absent: false, bounds: None },
            Operator::NotIn => {
                let mut allowed = Allowed::anything(words, key);
                named().iter().for_each(|value| allowed.values.remove(value));
                allowed
            }
            Operator::Exists => Allowed { absent: false, ..Allowed::anything(words, key) },
            Operator::DoesNotExist => Allowed::only_absent(),
            Operator::Gt => {
                between(bound.and_then(|bound| bound.checked_add(1)).map(|least| (least, i64::MAX)), key, words)
            }
            Operator::Gte => between(bound.map(|least| (least, i64::MAX)), key, words),
            Operator::Lt => {
                between(bound.and_then(|bound| bound.checked_sub(1)).map(|most| (i64::MIN, most)), key, words)
            }
            Operator::Lte => between(bound.map(|most| (i64::MIN, most)), key, words),
        }
    }

    pub fn has(&self, value: Value) -> bool {
        self.values.has(value)
    }

    pub fn allows_absent(&self) -> bool {
        self.absent
    }

    pub fn allows_others(&self) -> bool {
        self.others
    }

    pub fn bounds(&self) -> Option<(i64, i64)> {
        self.bounds
    }

    pub fn values(&self) -> &Mask {
        &self.values
    }

    /// The one value it must have, if there is no choice.
    pub fn single(&self) -> Option<Value> {
        if self.others || self.absent || self.values.len() != 1 {
            return None;
        }
        self.values.iter().next()
    }

    pub fn is_empty(&self) -> bool {
        !self.others && !self.absent && self.values.is_empty()
    }

    /// Keeps what both allow.
    pub fn narrow(&mut self, other: &Allowed) {
        self.values.and(&other.values);
        self.absent &= other.absent;
        let both = overlap(self.bounds, other.bounds);
        self.others = self.others && other.others && both.is_some();
        self.bounds = if self.others { both.flatten() } else { None };
    }
}

/// All integers of the bounds; of no bounds, nothing.
fn between(bounds: Option<(i64, i64)>, key: Key, words: &Words<'_>) -> Allowed {
    let Some((least, most)) = bounds else {
        return Allowed { values: Mask::default(), others: false, absent: false, bounds: None };
    };
    let within = |value: &str| value.parse::<i64>().is_ok_and(|number| (least..=most).contains(&number));
    let mut values = Mask::none(words.values(key).len());
    let known = words.values(key).iter().enumerate().filter(|(_, value)| within(value));
    known.for_each(|(value, _)| values.insert(value));
    Allowed { values, others: true, absent: false, bounds }
}

/// The bounds that both keep; nothing if they have no integer in common.
fn overlap(left: Option<(i64, i64)>, right: Option<(i64, i64)>) -> Option<Option<(i64, i64)>> {
    match (left, right) {
        (None, bounds) | (bounds, None) => Some(bounds),
        (Some((least, most)), Some((other_least, other_most))) => {
            let (least, most) = (least.max(other_least), most.min(other_most));
            (least <= most).then_some(Some((least, most)))
        }
    }
}
