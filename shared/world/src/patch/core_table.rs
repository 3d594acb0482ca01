//! Reads `core_types.txt`, the table of the types of the core kinds, into shapes, once per process.
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::schema_of::{Field, ListShape, ListType, MapShape, Scalar, Shape, ShapeId, Strategy};

/// A value nobody has described, merged key by key as far as it is made of maps.
pub const DEDUCED: ShapeId = 0;
/// A value nobody has described, replaced as a whole.
pub const OPAQUE: ShapeId = 1;
pub const STRING: ShapeId = 2;
pub const NUMERIC: ShapeId = 3;
pub const BOOLEAN: ShapeId = 4;
pub const ANY_SCALAR: ShapeId = 5;

const OBJECT_META: &str = "meta.v1.ObjectMeta";

pub struct CoreTable {
    pub shapes: Arc<Vec<Shape>>,
    /// Root shapes by API version and kind.
    pub kinds: BTreeMap<(String, String), ShapeId>,
    pub object_meta: ShapeId,
}

pub fn table() -> &'static CoreTable {
    static TABLE: OnceLock<CoreTable> = OnceLock::new();
    TABLE.get_or_init(|| read(include_str!("core_types.txt")))
}

fn read(text: &str) -> CoreTable {
    let mut reader = Reader { shapes: common_shapes(), named: BTreeMap::new() };
    // Names come first, because types refer to types further down.
    for name in text.lines().filter_map(type_name) {
        reader.shapes.push(Shape::default());
        reader.named.insert(name.to_owned(), reader.shapes.len() - 1);
    }
    let mut kinds = BTreeMap::new();
    let mut current = None;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            [":", api_version, kind, shape] => {
                let root = reader.shape_of(shape);
                kinds.insert(((*api_version).to_owned(), (*kind).to_owned()), root);
            }
            ["=", name, rest @ ..] => current = reader.begin(name, rest.contains(&"atomic")),
            [name, shape, rest @ ..] => {
                let field = Field { shape: reader.shape_of(shape), ..field_of(rest) };
                if let Some(map) = current.and_then(|id| reader.map_at(id)) {
                    map.fields.insert((*name).to_owned(), field);
                }
            }
            _ => {}
        }
    }
    let object_meta = reader.named.get(OBJECT_META).copied().unwrap_or(DEDUCED);
    CoreTable { shapes: Arc::new(reader.shapes), kinds, object_meta }
}

fn type_name(line: &str) -> Option<&str> {
    line.strip_prefix("= ").and_then(|rest| rest.split(' ').next())
}

/// The shapes with fixed numbers, in the order of the constants above.
fn common_shapes() -> Vec<Shape> {
    let anything = |atomic: bool, element: ShapeId| Shape {
        scalar: Some(Scalar::Untyped),
        list: Some(ListShape { list_type: ListType::Atomic, element: OPAQUE }),
        map: Some(MapShape { atomic, element: Some(element), ..MapShape::default() }),
    };
    let scalar = |scalar: Scalar| Shape { scalar: Some(scalar), ..Shape::default() };
    vec![
        anything(false, DEDUCED),
        anything(true, OPAQUE),
        scalar(Scalar::String),
        scalar(Scalar::Numeric),
        scalar(Scalar::Boolean),
        scalar(Scalar::Untyped),
    ]
}

struct Reader {
    shapes: Vec<Shape>,
    named: BTreeMap<String, ShapeId>,
}

impl Reader {
    fn begin(&mut self, name: &str, atomic: bool) -> Option<ShapeId> {
        let id = self.named.get(name).copied()?;
        let name = name.rsplit('.').next().unwrap_or(name).trim_end_matches("@atomic").to_owned();
        let map = MapShape { name, atomic, ..MapShape::default() };
        *self.shapes.get_mut(id)? = Shape { map: Some(map), ..Shape::default() };
        Some(id)
    }

    fn map_at(&mut self, id: ShapeId) -> Option<&mut MapShape> {
        self.shapes.get_mut(id)?.map.as_mut()
    }

    fn shape_of(&mut self, text: &str) -> ShapeId {
        if let Some((inside, element)) = bracketed(text, '[', ']') {
            let list_type = match inside {
                "" => ListType::Atomic,
                "set" => ListType::Set,
                keys => ListType::Map(keys.split(',').map(str::to_owned).collect()),
            };
            let element = self.shape_of(element);
            return self.push(Shape { list: Some(ListShape { list_type, element }), ..Shape::default() });
        }
        if let Some((inside, element)) = bracketed(text, '{', '}') {
            let element = Some(self.shape_of(element));
            let map = MapShape { atomic: inside == "atomic", element, ..MapShape::default() };
            return self.push(Shape { map: Some(map), ..Shape::default() });
        }
        match text {
            "s" => STRING,
            "n" => NUMERIC,
            "b" => BOOLEAN,
            "u" => ANY_SCALAR,
            "*" => OPAQUE,
            _ => text.strip_prefix('#').and_then(|name| self.named.get(name)).copied().unwrap_or(DEDUCED),
        }
    }

    fn push(&mut self, shape: Shape) -> ShapeId {
        self.shapes.push(shape);
        self.shapes.len() - 1
    }
}

fn bracketed(text: &str, open: char, close: char) -> Option<(&str, &str)> {
    text.strip_prefix(open)?.split_once(close)
}

fn field_of(words: &[&str]) -> Field {
    let mut field = Field::default();
    for word in words {
        if let Some(value) = word.strip_prefix('!') {
            field.always = serde_json::from_str(value).ok();
        } else if let Some(value) = word.strip_prefix("default=") {
            field.default = serde_json::from_str::<Value>(value).ok();
        } else if let Some(key) = word.strip_prefix("key=") {
            field.merge_key = Some(key.to_owned());
        } else if let Some(strategies) = word.strip_prefix("strategy=") {
            // retainKeys alone changes what a client sends, not what the server does with it.
            field.strategy = match strategies {
                "replace" => Strategy::Replace,
                strategies if strategies.starts_with("merge") => Strategy::Merge,
                _ => Strategy::Unset,
            };
        } else if *word == "-" {
            field.omit_empty = true;
        }
    }
    field
}
