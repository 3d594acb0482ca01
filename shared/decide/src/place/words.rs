//! Label keys and values as small numbers. Only keys that some rule speaks of are here: all other labels cannot matter.

use model::names;

use super::hash::Map;
use crate::requirement::normalised;

pub type Key = usize;
pub type Value = usize;

/// The hostname is the one label that every node has to itself.
pub const HOST: Key = 0;

#[derive(Debug)]
pub struct Words<'a> {
    keys: Map<&'a str, Key>,
    known: Vec<Known<'a>>,
}

#[derive(Debug)]
struct Known<'a> {
    name: &'a str,
    ids: Map<&'a str, Value>,
    values: Vec<&'a str>,
}

impl<'a> Words<'a> {
    pub fn new() -> Self {
        let mut words = Words { keys: Map::default(), known: vec![] };
        words.learn_key(names::HOSTNAME);
        words
    }

    pub fn learn_key(&mut self, key: &'a str) -> Key {
        let key = normalised(key);
        *self.keys.entry(key).or_insert_with(|| {
            self.known.push(Known { name: key, ids: Map::default(), values: vec![] });
            self.known.len() - 1
        })
    }

    pub fn learn(&mut self, key: Key, value: &'a str) -> Value {
        let Some(known) = self.known.get_mut(key) else { return 0 };
        *known.ids.entry(value).or_insert_with(|| {
            known.values.push(value);
            known.values.len() - 1
        })
    }

    pub fn key(&self, key: &str) -> Option<Key> {
        self.keys.get(normalised(key)).copied()
    }

    pub fn value(&self, key: Key, value: &str) -> Option<Value> {
        self.known.get(key).and_then(|known| known.ids.get(value)).copied()
    }

    pub fn key_name(&self, key: Key) -> &'a str {
        self.known.get(key).map_or("", |known| known.name)
    }

    pub fn value_name(&self, key: Key, value: Value) -> &'a str {
        self.known.get(key).and_then(|known| known.values.get(value)).copied().unwrap_or("")
    }

    /// All values of a key that anybody names.
    pub fn values(&self, key: Key) -> &[&'a str] {
        self.known.get(key).map_or(&[], |known| &known.values)
    }

    pub fn keys(&self) -> usize {
        self.known.len()
    }
}
