//! What an object is made of, as far as merging it is concerned: scalars, maps and lists of three types.
//!
//! The shapes of the core kinds come from the table `core_types.txt`, those of a custom resource from the OpenAPI
//! schema of its definition; without a schema, maps are merged key by key and lists are replaced whole.
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{core_table, crd_schema};

/// Where a shape stands in its schema. Shapes refer to each other by number because some types contain themselves.
pub type ShapeId = usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    String,
    Numeric,
    Boolean,
    Untyped,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListType {
    /// Owned and replaced as one value.
    Atomic,
    /// Scalars, each owned on its own.
    Set,
    /// Objects told apart by the values of these fields.
    Map(Vec<String>),
}

#[derive(Debug, Clone)]
pub struct ListShape {
    pub list_type: ListType,
    pub element: ShapeId,
}

#[derive(Debug, Clone, Default)]
pub struct MapShape {
    /// The name of the type, for messages; empty for a plain map.
    pub name: String,
    pub atomic: bool,
    pub fields: BTreeMap<String, Field>,
    /// The shape of a key that is no declared field; none when such a key is an error.
    pub element: Option<ShapeId>,
}

#[derive(Debug, Clone, Default)]
pub struct Field {
    pub shape: ShapeId,
    /// Counts only where the field is a key of a list and left out of an element.
    pub default: Option<Value>,
    /// What the server writes when the field is missing.
    pub always: Option<Value>,
    /// The server leaves the field out when it is empty.
    pub omit_empty: bool,
    pub strategy: Strategy,
    pub merge_key: Option<String>,
}

/// What strategic merge patch does with a list or an object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strategy {
    #[default]
    Unset,
    Merge,
    Replace,
}

/// What a value may be. More than one is set only where the schema does not say, and then the value decides.
#[derive(Debug, Clone, Default)]
pub struct Shape {
    pub scalar: Option<Scalar>,
    pub list: Option<ListShape>,
    pub map: Option<MapShape>,
}

/// The one reading of a shape that fits a value.
#[derive(Debug, Clone, Copy)]
pub enum Atom<'a> {
    Map(&'a MapShape),
    Scalar(Scalar),
    List(&'a ListShape),
    Nothing,
}

static NO_SHAPE: Shape = Shape { scalar: None, list: None, map: None };

/// The shape of one kind, with what else depends on the kind when fields are tracked.
#[derive(Debug, Clone)]
pub struct Schema {
    pub api_version: String,
    pub kind: String,
    /// Core kinds pass through typed structures in the real server, custom resources do not.
    pub core: bool,
    /// Entries of other versions are forgotten; empty means that every version is known.
    pub known_versions: Vec<String>,
    shapes: Arc<Vec<Shape>>,
    root: ShapeId,
}

impl Schema {
    /// The schema of a core kind, or nothing when the table does not have it.
    pub fn of_core(api_version: &str, kind: &str) -> Option<Self> {
        let table = core_table::table();
        let root = table.kinds.get(&(api_version.to_owned(), kind.to_owned()))?;
        Some(Self::new(api_version, kind, true, Arc::clone(&table.shapes), *root))
    }

    /// The schema of a custom resource in one version, from `openAPIV3Schema` if it has one.
    pub fn of_custom_resource(api_version: &str, kind: &str, openapi: Option<&Value>) -> Self {
        let mut shapes = core_table::table().shapes.as_ref().clone();
        let root = match openapi {
            Some(openapi) => crd_schema::add_resource(&mut shapes, openapi),
            None => core_table::DEDUCED,
        };
        Self::new(api_version, kind, false, Arc::new(shapes), root)
    }

    fn new(api_version: &str, kind: &str, core: bool, shapes: Arc<Vec<Shape>>, root: ShapeId) -> Self {
        let (api_version, kind) = (api_version.to_owned(), kind.to_owned());
        Self { api_version, kind, core, known_versions: Vec::new(), shapes, root }
    }

    pub fn root(&self) -> ShapeId {
        self.root
    }

    pub fn shape(&self, id: ShapeId) -> &Shape {
        self.shapes.get(id).unwrap_or(&NO_SHAPE)
    }

    pub fn knows_version(&self, version: &str) -> bool {
        self.known_versions.is_empty() || self.known_versions.iter().any(|known| known == version)
    }
}

/// Group, version and kind as the server prints them in messages; the core group is empty before its slash.
pub fn printed_kind(api_version: &str, kind: &str) -> String {
    let slash = if api_version.contains('/') { "" } else { "/" };
    format!("{slash}{api_version}, Kind={kind}")
}

impl Shape {
    /// The reading that fits the value; without a value, or for null, the first there is.
    pub fn atom_for(&self, value: Option<&Value>) -> Atom<'_> {
        match value {
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) if self.scalar.is_some() => self.scalar_atom(),
            Some(Value::Array(_)) if self.list.is_some() => self.list_atom(),
            _ => match (&self.map, &self.scalar) {
                (Some(map), _) => Atom::Map(map),
                (None, Some(scalar)) => Atom::Scalar(*scalar),
                (None, None) => self.list_atom(),
            },
        }
    }

    /// Whether two values get the same reading, null being of every type at once.
    pub fn reads_alike(&self, left: &Value, right: &Value) -> bool {
        self.reading_of(left) == self.reading_of(right)
    }

    fn reading_of(&self, value: &Value) -> u8 {
        match value {
            Value::Bool(_) | Value::Number(_) | Value::String(_) if self.scalar.is_some() => 1,
            Value::Array(_) if self.list.is_some() => 2,
            Value::Object(_) if self.map.is_some() => 3,
            _ => self.only_reading(),
        }
    }

    /// A shape with a single reading has it for every value.
    fn only_reading(&self) -> u8 {
        match (&self.scalar, &self.list, &self.map) {
            (Some(_), None, None) => 1,
            (None, Some(_), None) => 2,
            (None, None, Some(_)) => 3,
            _ => 0,
        }
    }

    fn scalar_atom(&self) -> Atom<'_> {
        self.scalar.map_or(Atom::Nothing, Atom::Scalar)
    }

    fn list_atom(&self) -> Atom<'_> {
        self.list.as_ref().map_or(Atom::Nothing, Atom::List)
    }
}

impl MapShape {
    /// The shape of the value at a key.
    pub fn shape_at(&self, key: &str) -> Option<ShapeId> {
        self.fields.get(key).map(|field| field.shape).or(self.element)
    }
}

#[cfg(test)]
#[path = "schema_of_tests.rs"]
mod tests;
