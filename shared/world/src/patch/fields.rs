//! Sets of field paths, and the form `fieldsV1` in which `metadata.managedFields` writes them.
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value};

use super::schema_of::{Schema, ShapeId};

/// One step from a value to a value inside it. The order of the variants is the order of the server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathElement {
    Field(String),
    /// The element of a keyed list with these key fields, sorted by name.
    Key(Vec<(String, Ranked)>),
    /// The element of a set.
    Value(Ranked),
    Index(i64),
}

/// A JSON value in the order the server gives values: numbers by size, then strings, booleans, lists, maps, null.
#[derive(Debug, Clone)]
pub struct Ranked(pub Value);

pub type Path = Vec<PathElement>;

/// A set of paths, kept as a tree. A path is a member where it ends; a node above it need not be one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet {
    members: BTreeSet<PathElement>,
    children: BTreeMap<PathElement, FieldSet>,
}

impl FieldSet {
    pub fn of_paths(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            set.insert(&path.iter().map(|name| PathElement::Field((*name).to_owned())).collect::<Path>());
        }
        set
    }

    pub fn insert(&mut self, path: &[PathElement]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    pub fn has_member(&self, element: &PathElement) -> bool {
        self.members.contains(element)
    }

    pub fn has(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.has_member(last),
            [first, rest @ ..] => self.below(first).is_some_and(|set| set.has(rest)),
        }
    }

    /// What the set says of the inside of one element.
    pub fn below(&self, element: &PathElement) -> Option<&Self> {
        self.children.get(element)
    }

    pub fn union(&self, other: &Self) -> Self {
        let mut joined = self.clone();
        joined.members.extend(other.members.iter().cloned());
        for (element, set) in &other.children {
            let node = joined.children.entry(element.clone()).or_default();
            *node = node.union(set);
        }
        joined
    }

    pub fn intersection(&self, other: &Self) -> Self {
        let members = self.members.intersection(&other.members).cloned().collect();
        let both = |(element, set): (&PathElement, &Self)| {
            let common = set.intersection(other.below(element)?);
            (!common.is_empty()).then(|| (element.clone(), common))
        };
        Self { members, children: self.children.iter().filter_map(both).collect() }
    }

    /// The paths that are not in the other set; a path below a removed one stays.
    pub fn difference(&self, other: &Self) -> Self {
        self.subtract(other, false)
    }

    /// The paths that are neither in the other set nor below one of its members.
    pub fn difference_with_all_below(&self, other: &Self) -> Self {
        self.subtract(other, true)
    }

    fn subtract(&self, other: &Self, all_below: bool) -> Self {
        let members = self.members.difference(&other.members).cloned().collect();
        let rest = |(element, set): (&PathElement, &Self)| {
            if all_below && other.has_member(element) {
                return None;
            }
            let left = other.below(element).map_or_else(|| set.clone(), |below| set.subtract(below, all_below));
            (!left.is_empty()).then(|| (element.clone(), left))
        };
        Self { members, children: self.children.iter().filter_map(rest).collect() }
    }

    /// The same set with every declared field that has something below it as a member. Only elements of lists and
    /// keys of maps can be owned without their insides; a declared field counts as present when anything in it is.
    pub fn with_declared_fields(&self, schema: &Schema, shape: ShapeId) -> Self {
        let shape = schema.shape(shape);
        let mut set = self.clone();
        for (element, below) in &self.children {
            let inside = match (element, &shape.map, &shape.list) {
                (PathElement::Field(name), Some(map), _) => {
                    if map.fields.contains_key(name) {
                        set.members.insert(element.clone());
                    }
                    map.shape_at(name)
                }
                (PathElement::Key(_), _, Some(list)) => Some(list.element),
                _ => None,
            };
            let below = below.with_declared_fields(schema, inside.unwrap_or(usize::MAX));
            set.children.insert(element.clone(), below);
        }
        set
    }

    /// Every path, members of a node before what is below it.
    pub fn paths(&self) -> Vec<Path> {
        let mut paths: Vec<Path> = self.members.iter().map(|element| vec![element.clone()]).collect();
        for (element, set) in &self.children {
            paths.extend(set.paths().into_iter().map(|path| [vec![element.clone()], path].concat()));
        }
        paths
    }

    pub fn to_fields_v1(&self) -> Value {
        let mut written = Map::new();
        for element in &self.members {
            written.insert(element.to_key(), Value::Object(Map::new()));
        }
        for (element, set) in self.children.iter().filter(|(_, set)| !set.is_empty()) {
            let Value::Object(below) = set.to_fields_v1() else { continue };
            let mut node = Map::new();
            if self.has_member(element) {
                node.insert(".".to_owned(), Value::Object(Map::new()));
            }
            node.extend(below);
            written.insert(element.to_key(), Value::Object(node));
        }
        Value::Object(written)
    }

    /// Reads `fieldsV1`. Elements of a kind nobody knows are dropped, as a newer server may have written them.
    pub fn from_fields_v1(fields: &Value) -> Result<Self, String> {
        let mut set = Self::default();
        for (key, below) in fields.as_object().into_iter().flatten().filter(|(key, _)| *key != ".") {
            let Some(element) = PathElement::from_key(key)? else { continue };
            let children = Self::from_fields_v1(below)?;
            if children.is_empty() || below.get(".").is_some() {
                set.members.insert(element.clone());
            }
            if !children.is_empty() {
                set.children.insert(element, children);
            }
        }
        Ok(set)
    }
}

impl PathElement {
    pub fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    pub fn key(mut fields: Vec<(String, Value)>) -> Self {
        fields.sort_by(|left, right| left.0.cmp(&right.0));
        Self::Key(fields.into_iter().map(|(name, value)| (name, Ranked(value))).collect())
    }

    fn to_key(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(fields) => {
                let fields = fields.iter().map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), value.0));
                format!("k:{{{}}}", fields.collect::<Vec<_>>().join(","))
            }
            Self::Value(value) => format!("v:{}", value.0),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    fn from_key(key: &str) -> Result<Option<Self>, String> {
        let parse = |text: &str| serde_json::from_str::<Value>(text).map_err(|error| format!("{key}: {error}"));
        match key.split_at_checked(2) {
            Some(("f:", name)) => Ok(Some(Self::field(name))),
            Some(("v:", value)) => Ok(Some(Self::Value(Ranked(parse(value)?)))),
            Some(("k:", fields)) => match parse(fields)? {
                Value::Object(fields) => Ok(Some(Self::key(fields.into_iter().collect()))),
                _ => Err(format!("{key}: expected an object of key fields")),
            },
            Some(("i:", index)) => index.parse().map(|index| Some(Self::Index(index))).map_err(|_| key.to_owned()),
            Some((prefix, _)) if prefix.ends_with(':') => Ok(None),
            Some(_) => Err(format!("missing colon: {key}")),
            None => Err("key must be 2 characters long:".to_owned()),
        }
    }
}

/// The path as messages show it: `.spec.containers[name="app"].image`.
pub fn printed(path: &[PathElement]) -> String {
    path.iter().map(ToString::to_string).collect()
}

impl fmt::Display for PathElement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(out, ".{name}"),
            Self::Key(fields) => {
                let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", value.0)).collect();
                write!(out, "[{}]", fields.join(","))
            }
            Self::Value(value) => write!(out, "[={}]", value.0),
            Self::Index(index) => write!(out, "[{index}]"),
        }
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
                (Some(left), Some(right)) => left.cmp(&right),
                _ => left.as_f64().partial_cmp(&right.as_f64()).unwrap_or(Ordering::Equal),
            },
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
            (Value::Null, Value::Null) => Ordering::Equal,
            // Lists and maps are no keys and no set elements; any steady order will do for them.
            (left, right) => rank(left).cmp(&rank(right)).then_with(|| left.to_string().cmp(&right.to_string())),
        }
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

#[cfg(test)]
#[path = "fields_tests.rs"]
mod tests;
