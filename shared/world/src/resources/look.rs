//! Short ways to read and fill a JSON object by the names of its fields. Absent and null read alike, as in Go.

use serde_json::{Map, Value};

static NOTHING: Value = Value::Null;
static NO_ITEMS: Vec<Value> = Vec::new();

/// The value at a path such as `["spec", "template"]`, or null.
pub fn at<'a>(object: &'a Value, path: &[&str]) -> &'a Value {
    let mut place = object;
    for name in path {
        match place.get(*name) {
            Some(inner) => place = inner,
            None => return &NOTHING,
        }
    }
    place
}

/// The text at a path, or the empty string.
pub fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).as_str().unwrap_or_default()
}

/// The whole number at a path, if there is one.
pub fn number(object: &Value, path: &[&str]) -> Option<i64> {
    at(object, path).as_i64()
}

/// The items of the list at a path, or none.
pub fn items<'a>(object: &'a Value, path: &[&str]) -> &'a [Value] {
    at(object, path).as_array().unwrap_or(&NO_ITEMS)
}

/// The entries of the map at a path, in order of their keys.
pub fn entries<'a>(object: &'a Value, path: &[&str]) -> Vec<(&'a str, &'a Value)> {
    let mut found: Vec<(&str, &Value)> = at(object, path)
        .as_object()
        .map(|map| map.iter().map(|(key, value)| (key.as_str(), value)).collect())
        .unwrap_or_default();
    found.sort_by(|left, right| left.0.cmp(right.0));
    found
}

/// Whether the field is there and not null.
pub fn has(object: &Value, path: &[&str]) -> bool {
    !at(object, path).is_null()
}

/// The object at a field, made when it is absent or something else.
pub fn object_at<'a>(object: &'a mut Value, name: &str) -> &'a mut Value {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let place = &mut object[name];
    if !place.is_object() {
        *place = Value::Object(Map::new());
    }
    place
}

/// Sets a field only when it is absent or null: what a default is.
pub fn default_to(object: &mut Value, name: &str, value: impl Into<Value>) {
    if object.is_object() && object.get(name).is_none_or(Value::is_null) {
        object[name] = value.into();
    }
}

/// As `default_to`, and also when the text is empty: Go has no absent string.
pub fn default_text(object: &mut Value, name: &str, value: &str) {
    if object.is_object() && object.get(name).and_then(Value::as_str).unwrap_or_default().is_empty() {
        object[name] = value.into();
    }
}

/// Calls `change` on each item of the list field `name`.
pub fn each_item(object: &mut Value, name: &str, change: &mut dyn FnMut(&mut Value)) {
    if let Some(list) = object.get_mut(name).and_then(Value::as_array_mut) {
        list.iter_mut().for_each(change);
    }
}
