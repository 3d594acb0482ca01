//! Turns the OpenAPI schema of a custom resource into shapes.
use serde_json::Value;

use super::core_table::{self, ANY_SCALAR, BOOLEAN, DEDUCED, NUMERIC, OPAQUE, STRING};
use super::schema_of::{Field, ListShape, ListType, MapShape, Scalar, Shape, ShapeId};

/// Adds the shapes of a whole resource and returns its root. Every resource has the usual metadata, whatever its
/// schema says of it.
pub fn add_resource(shapes: &mut Vec<Shape>, openapi: &Value) -> ShapeId {
    let mut builder = Builder { shapes };
    let root = builder.shape_of(openapi, false);
    builder.add_resource_fields(root);
    root
}

struct Builder<'a> {
    shapes: &'a mut Vec<Shape>,
}

impl Builder<'_> {
    /// `preserve` is handed down: a field that keeps unknown fields does so in everything below it.
    fn shape_of(&mut self, openapi: &Value, preserve: bool) -> ShapeId {
        let preserve = preserve || is_true(openapi, "x-kubernetes-preserve-unknown-fields");
        match openapi.get("type").and_then(Value::as_str).unwrap_or_default() {
            "object" => {
                let map = self.map_of(openapi, preserve);
                let id = self.push(Shape { map: Some(map), ..Shape::default() });
                if is_true(openapi, "x-kubernetes-embedded-resource") {
                    self.add_resource_fields(id);
                }
                id
            }
            "array" => {
                let list = self.list_of(openapi, preserve);
                self.push(Shape { list: Some(list), ..Shape::default() })
            }
            "integer" | "number" => NUMERIC,
            "boolean" => BOOLEAN,
            "string" => match openapi.get("format").and_then(Value::as_str).unwrap_or_default() {
                "" | "byte" => STRING,
                _ => ANY_SCALAR,
            },
            _ => {
                let (list, map) = (self.list_of(openapi, preserve), self.map_of(openapi, preserve));
                self.push(Shape { scalar: Some(Scalar::Untyped), list: Some(list), map: Some(map) })
            }
        }
    }

    fn map_of(&mut self, openapi: &Value, preserve: bool) -> MapShape {
        let properties = openapi.get("properties").and_then(Value::as_object);
        let mut map = MapShape {
            atomic: openapi.get("x-kubernetes-map-type").and_then(Value::as_str) == Some("atomic"),
            ..MapShape::default()
        };
        for (name, property) in properties.into_iter().flatten() {
            let shape = self.shape_of(property, preserve);
            map.fields
                .insert(name.clone(), Field { shape, default: property.get("default").cloned(), ..Field::default() });
        }
        map.element = match openapi.get("additionalProperties") {
            None => (preserve || map.fields.is_empty()).then_some(DEDUCED),
            Some(Value::Bool(allowed)) => allowed.then_some(DEDUCED),
            Some(schema) => Some(self.shape_of(schema, preserve)),
        };
        map
    }

    fn list_of(&mut self, openapi: &Value, preserve: bool) -> ListShape {
        let keys = openapi.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
        let list_type = match openapi.get("x-kubernetes-list-type").and_then(Value::as_str) {
            Some("set") => ListType::Set,
            Some("map") => {
                let keys = keys.into_iter().flatten().filter_map(Value::as_str);
                ListType::Map(keys.map(str::to_owned).collect())
            }
            _ => ListType::Atomic,
        };
        let element = match openapi.get("items") {
            Some(items) => self.shape_of(items, preserve),
            None => OPAQUE,
        };
        ListShape { list_type, element }
    }

    fn add_resource_fields(&mut self, id: ShapeId) {
        let Some(map) = self.shapes.get_mut(id).and_then(|shape| shape.map.as_mut()) else { return };
        let fields = [("apiVersion", STRING), ("kind", STRING), ("metadata", core_table::table().object_meta)];
        for (name, shape) in fields {
            map.fields.insert(name.to_owned(), Field { shape, ..Field::default() });
        }
    }

    fn push(&mut self, shape: Shape) -> ShapeId {
        self.shapes.push(shape);
        self.shapes.len() - 1
    }
}

fn is_true(openapi: &Value, extension: &str) -> bool {
    openapi.get(extension).and_then(Value::as_bool).unwrap_or(false)
}
