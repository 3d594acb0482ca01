//! Which fields an object has, and which fields differ between two objects.
use std::collections::BTreeMap;

use serde_json::Value;

use super::fields::{FieldSet, Path, PathElement};
use super::schema_of::{Atom, ListShape, ListType, MapShape, Schema, ShapeId};
use super::walk::{element_of, items, nothing_in, same};

/// The fields that differ between an old and a new object.
#[derive(Debug, Clone, Default)]
pub struct Comparison {
    pub removed: FieldSet,
    pub modified: FieldSet,
    pub added: FieldSet,
}

impl Comparison {
    /// Leaves out these fields and everything below them.
    pub fn without(mut self, ignored: &FieldSet) -> Self {
        for set in [&mut self.removed, &mut self.modified, &mut self.added] {
            *set = set.difference_with_all_below(ignored);
        }
        self
    }
}

/// Every field an applied configuration lays claim to.
pub fn fields_of(schema: &Schema, object: &Value) -> FieldSet {
    let mut lister = Lister { schema, path: Vec::new(), set: FieldSet::default() };
    lister.list(schema.root(), object);
    lister.set
}

pub fn compare(schema: &Schema, old: &Value, new: &Value) -> Comparison {
    let mut comparer = Comparer { schema, path: Vec::new(), found: Comparison::default() };
    comparer.compare(schema.root(), Some(old), Some(new));
    comparer.found
}

struct Lister<'a> {
    schema: &'a Schema,
    path: Path,
    set: FieldSet,
}

impl Lister<'_> {
    fn list(&mut self, shape: ShapeId, value: &Value) {
        let schema = self.schema;
        match schema.shape(shape).atom_for(Some(value)) {
            Atom::Map(map) if !map.atomic => self.list_map(map, value),
            Atom::List(list) if list.list_type != ListType::Atomic => self.list_items(list, value),
            Atom::Map(_) | Atom::List(_) | Atom::Scalar(_) => self.set.insert(&self.path),
            Atom::Nothing => {}
        }
    }

    fn list_map(&mut self, map: &MapShape, value: &Value) {
        for (key, inner) in value.as_object().into_iter().flatten() {
            self.path.push(PathElement::field(key));
            self.list(map.shape_at(key).unwrap_or(usize::MAX), inner);
            // A declared field is owned through what is in it; a key of a map is owned itself.
            let empty = inner.is_null() || inner.as_object().is_some_and(serde_json::Map::is_empty);
            if empty || !map.fields.contains_key(key) {
                self.set.insert(&self.path);
            }
            self.path.pop();
        }
    }

    fn list_items(&mut self, list: &ListShape, value: &Value) {
        let found: Vec<_> = items(Some(value))
            .iter()
            .filter_map(|item| Some((element_of(self.schema, list, item).ok()?, item)))
            .collect();
        for (element, item) in &found {
            self.path.push(element.clone());
            // Elements with one key twice cannot be told apart, so that they are owned together.
            if found.iter().filter(|(other, _)| other == element).count() == 1 {
                self.list(list.element, item);
            }
            self.set.insert(&self.path);
            self.path.pop();
        }
    }
}

struct Comparer<'a> {
    schema: &'a Schema,
    path: Path,
    found: Comparison,
}

impl Comparer<'_> {
    fn compare(&mut self, shape: ShapeId, old: Option<&Value>, new: Option<&Value>) {
        // Most of an object is as it was; what is the same needs no look inside.
        if old.is_some() && old == new {
            return;
        }
        let shape = self.schema.shape(shape);
        let was_leaf = match (old, new) {
            (Some(_), None) => self.compare_as(shape.atom_for(old), old, new),
            (Some(left), Some(right)) if !shape.reads_alike(left, right) => {
                self.compare_as(shape.atom_for(old), old, new);
                self.compare_as(shape.atom_for(new), old, new)
            }
            _ => self.compare_as(shape.atom_for(new), old, new),
        };
        if !was_leaf {
            match (old, new) {
                (None, _) => self.found.added.insert(&self.path),
                (_, None) => self.found.removed.insert(&self.path),
                _ => {}
            }
        }
    }

    /// Returns whether the value was compared as a whole.
    fn compare_as(&mut self, atom: Atom<'_>, old: Option<&Value>, new: Option<&Value>) -> bool {
        match atom {
            Atom::Map(map) => {
                // Empty and null are told apart by looking at them as a whole.
                if map.atomic || (nothing_in(old, true) && nothing_in(new, true)) {
                    return self.compare_leaf(old, new);
                }
                self.compare_maps(map, old, new);
            }
            Atom::List(list) => {
                if list.list_type == ListType::Atomic || (nothing_in(old, false) && nothing_in(new, false)) {
                    return self.compare_leaf(old, new);
                }
                self.compare_lists(list, old, new);
            }
            Atom::Scalar(_) => return self.compare_leaf(old, new),
            Atom::Nothing => {}
        }
        false
    }

    fn compare_leaf(&mut self, old: Option<&Value>, new: Option<&Value>) -> bool {
        match (old, new) {
            (None, _) => self.found.added.insert(&self.path),
            (_, None) => self.found.removed.insert(&self.path),
            (Some(old), Some(new)) if !same(old, new) => self.found.modified.insert(&self.path),
            _ => {}
        }
        true
    }

    fn compare_maps(&mut self, map: &MapShape, old: Option<&Value>, new: Option<&Value>) {
        let (old, new) = (old.and_then(Value::as_object), new.and_then(Value::as_object));
        let mut keys: Vec<&String> = old.into_iter().chain(new).flat_map(serde_json::Map::keys).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            self.path.push(PathElement::field(key));
            let (old, new) = (old.and_then(|map| map.get(key)), new.and_then(|map| map.get(key)));
            self.compare(map.shape_at(key).unwrap_or(usize::MAX), old, new);
            self.path.pop();
        }
    }

    fn compare_lists(&mut self, list: &ListShape, old: Option<&Value>, new: Option<&Value>) {
        let schema = self.schema;
        let mut sides: BTreeMap<PathElement, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        let element = |item: &Value| element_of(schema, list, item).ok();
        for (element, item) in items(old).iter().filter_map(|item| Some((element(item)?, item))) {
            sides.entry(element).or_default().0.push(item);
        }
        for (element, item) in items(new).iter().filter_map(|item| Some((element(item)?, item))) {
            sides.entry(element).or_default().1.push(item);
        }
        for (element, (old, new)) in sides {
            self.path.push(element);
            self.compare_elements(list, &old, &new);
            self.path.pop();
        }
    }

    /// Compares what two lists have under one key. Several elements under one key count as one value.
    fn compare_elements(&mut self, list: &ListShape, old: &[&Value], new: &[&Value]) {
        match (old, new) {
            ([] | [_], [] | [_]) => self.compare(list.element, old.first().copied(), new.first().copied()),
            ([_, _, ..], [_, _, ..]) => {
                if old.len() != new.len() || !old.iter().zip(new).all(|(old, new)| same(old, new)) {
                    self.found.modified.insert(&self.path);
                }
            }
            ([_, _, ..], _) => {
                if let Some(only) = new.first() {
                    self.compare(list.element, None, Some(only));
                }
                self.found.removed.insert(&self.path);
            }
            (_, [_, _, ..]) => {
                if let Some(only) = old.first() {
                    self.compare(list.element, Some(only), None);
                }
                self.found.added.insert(&self.path);
            }
        }
    }
}
