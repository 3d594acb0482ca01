//! A list in which each value stands once.

use std::{collections::HashMap, hash::Hash};

pub struct Table<'a, T: ?Sized> {
    positions: HashMap<&'a T, u32>,
    values: Vec<&'a T>,
}

impl<T: ?Sized> Default for Table<'_, T> {
    fn default() -> Self {
        Table { positions: HashMap::new(), values: Vec::new() }
    }
}

impl<'a, T: ?Sized + Eq + Hash> Table<'a, T> {
    /// Where the value stands, from now on at the latest.
    pub fn position(&mut self, value: &'a T) -> u32 {
        *self.positions.entry(value).or_insert_with(|| {
            self.values.push(value);
            u32::try_from(self.values.len() - 1).unwrap_or(u32::MAX)
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = &'a T> {
        self.values.iter().copied()
    }
}
