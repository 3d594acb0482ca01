//! A map of a few texts: sorted entries in one block of memory.
//!
//! A scene holds some such maps for each of twenty thousand pods, with two or three entries each. The nodes of a `BTreeMap` are made
//! for eleven entries, so most of a scene's memory would be room that nobody uses.

use core::borrow::Borrow;
use core::ops::Index;
use std::collections::BTreeMap;

/// Looks like a `BTreeMap<String, V>`, entry by entry in the order of the keys. Inserting takes as long as there are entries.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Few<V>(Vec<(String, V)>);

/// Labels of something of which there are many.
pub type Labels = Few<String>;

impl<V> Few<V> {
    pub const fn new() -> Self {
        Few(Vec::new())
    }

    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        String: Borrow<Q>,
    {
        self.find(key).ok().and_then(|at| self.0.get(at)).map(|(_, value)| value)
    }

    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        String: Borrow<Q>,
    {
        self.find(key).ok().and_then(|at| self.0.get_mut(at)).map(|(_, value)| value)
    }

    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        String: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// What was there before.
    pub fn insert(&mut self, key: String, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(at) => self.0.get_mut(at).map(|(_, own)| core::mem::replace(own, value)),
            Err(at) => {
                // Most maps stay as they were made, so one more entry gets the room of one.
                self.0.reserve_exact(1);
                self.0.insert(at, (key, value));
                None
            }
        }
    }

    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        String: Borrow<Q>,
    {
        self.find(key).ok().map(|at| self.0.remove(at).1)
    }

    /// The entry of a key, to be filled where there is none.
    pub fn entry(&mut self, key: String) -> Entry<'_, V> {
        Entry { map: self, key }
    }

    pub fn retain(&mut self, mut keep: impl FnMut(&String, &mut V) -> bool) {
        self.0.retain_mut(|(key, value)| keep(key, value));
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> Iter<'_, V> {
        self.into_iter()
    }

    /// Values can be changed, keys cannot.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&String, &mut V)> {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }

    pub fn keys(&self) -> impl ExactSizeIterator<Item = &String> + Clone {
        self.0.iter().map(|(key, _)| key)
    }

    pub fn values(&self) -> impl ExactSizeIterator<Item = &V> + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    pub fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        String: Borrow<Q>,
    {
        self.0.binary_search_by(|(own, _)| own.borrow().cmp(key))
    }
}

/// One key of a map.
#[derive(Debug)]
pub struct Entry<'a, V> {
    map: &'a mut Few<V>,
    key: String,
}

impl<'a, V> Entry<'a, V> {
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    pub fn or_insert_with(self, value: impl FnOnce() -> V) -> &'a mut V {
        let at = match self.map.find(&self.key) {
            Ok(at) => at,
            Err(at) => {
                self.map.0.insert(at, (self.key, value()));
                at
            }
        };
        &mut self.map.0[at].1
    }

    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
}

impl<V> Default for Few<V> {
    fn default() -> Self {
        Few::new()
    }
}

/// Of entries with the same key the last one counts, as in every map.
impl<V> FromIterator<(String, V)> for Few<V> {
    fn from_iter<I: IntoIterator<Item = (String, V)>>(entries: I) -> Self {
        let mut all: Vec<(String, V)> = entries.into_iter().collect();
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                core::mem::swap(later, kept);
            }
            same
        });
        all.shrink_to_fit();
        Few(all)
    }
}

impl<V, const N: usize> From<[(String, V); N]> for Few<V> {
    fn from(entries: [(String, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<V> From<BTreeMap<String, V>> for Few<V> {
    fn from(map: BTreeMap<String, V>) -> Self {
        Few(map.into_iter().collect())
    }
}

impl<V> From<Few<V>> for BTreeMap<String, V> {
    fn from(few: Few<V>) -> Self {
        few.into_iter().collect()
    }
}

impl<V> Extend<(String, V)> for Few<V> {
    fn extend<I: IntoIterator<Item = (String, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<Q: Ord + ?Sized, V> Index<&Q> for Few<V>
where
    String: Borrow<Q>,
{
    type Output = V;

    /// As of every map: only for keys that are known to be there.
    fn index(&self, key: &Q) -> &V {
        &self.0[self.find(key).unwrap_or(self.0.len())].1
    }
}

/// Entries by reference, in the order of the keys.
#[derive(Debug)]
pub struct Iter<'a, V>(core::slice::Iter<'a, (String, V)>);

impl<V> Clone for Iter<'_, V> {
    fn clone(&self) -> Self {
        Iter(self.0.clone())
    }
}

impl<'a, V> Iterator for Iter<'a, V> {
    type Item = (&'a String, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<V> ExactSizeIterator for Iter<'_, V> {}

impl<'a, V> IntoIterator for &'a Few<V> {
    type Item = (&'a String, &'a V);
    type IntoIter = Iter<'a, V>;

    fn into_iter(self) -> Self::IntoIter {
        Iter(self.0.iter())
    }
}

impl<V> IntoIterator for Few<V> {
    type Item = (String, V);
    type IntoIter = std::vec::IntoIter<(String, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn few(of: &[(&str, u8)]) -> Few<u8> {
        of.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect()
    }

    #[test]
    fn entries_come_in_the_order_of_their_keys_and_the_last_of_equal_ones_counts() {
        let map = few(&[("b", 1), ("a", 2), ("b", 3), ("b", 4), ("c", 5)]);
        let all: Vec<(&str, u8)> = map.iter().map(|(key, value)| (key.as_str(), *value)).collect();
        assert_eq!(all, [("a", 2), ("b", 4), ("c", 5)]);
        assert_eq!((map.get("b"), map.get("x"), map["c"]), (Some(&4), None, 5));
    }

    #[test]
    fn it_changes_as_any_map_does() {
        let mut map = few(&[("b", 1)]);
        assert_eq!((map.insert("a".into(), 2), map.insert("b".into(), 3)), (None, Some(1)));
        *map.entry("c".into()).or_default() += 7;
        *map.entry("a".into()).or_insert(100) += 1;
        map.extend([("d".to_owned(), 4)]);
        assert_eq!(map.remove("b"), Some(3));
        map.retain(|_, value| *value != 4);
        assert_eq!(map, few(&[("c", 7), ("a", 3)]));
        assert_eq!(BTreeMap::from(map.clone()).into_iter().collect::<Few<u8>>(), map);
    }
}
