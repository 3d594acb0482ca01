//! What merging, comparing, removing and validating have in common: the elements of lists, and equality of values.
use serde_json::Value;

use super::fields::PathElement;
use super::schema_of::{ListShape, ListType, Schema};

/// The path element of one element of a list that is not atomic.
pub fn element_of(schema: &Schema, list: &ListShape, item: &Value) -> Result<PathElement, String> {
    match &list.list_type {
        ListType::Atomic => Err("invalid indexing of non-associative list".to_owned()),
        ListType::Set => match item {
            Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
            Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
            Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                Ok(PathElement::Value(super::fields::Ranked(item.clone())))
            }
        },
        ListType::Map(keys) => keyed_element(schema, list, keys, item),
    }
}

fn keyed_element(schema: &Schema, list: &ListShape, keys: &[String], item: &Value) -> Result<PathElement, String> {
    let Value::Object(object) = item else {
        return Err(match item {
            Value::Null => "associative list with keys may not have a null element".to_owned(),
            _ => "associative list with keys may not have non-map elements".to_owned(),
        });
    };
    let declared = schema.shape(list.element).map.as_ref();
    let default_of =
        |key: &String| declared.and_then(|map| map.fields.get(key)).and_then(|field| field.default.clone());
    let value_of = |key: &String| object.get(key).cloned().or_else(|| default_of(key));
    let fields: Vec<_> = keys.iter().filter_map(|key| Some((key.clone(), value_of(key)?))).collect();
    if fields.is_empty() {
        let keys = keys.iter().map(|key| format!("{key:?}")).collect::<Vec<_>>().join(" ");
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{keys}] \
             (and doesn't have default values for any key fields)"
        ));
    }
    Ok(PathElement::key(fields))
}

/// Equality as the server sees it: 1 and 1.0 are one number.
pub fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let in_right = |(key, value): (&String, &Value)| right.get(key).is_some_and(|other| same(value, other));
            left.len() == right.len() && left.iter().all(in_right)
        }
        _ => left == right,
    }
}

/// The items of a list; null and everything that is no list have none.
pub fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether a map or list has nothing in it. Null counts as empty, and so does a value of another type.
pub fn nothing_in(value: Option<&Value>, is_map: bool) -> bool {
    match value {
        Some(Value::Object(map)) if is_map => map.is_empty(),
        Some(Value::Array(list)) if !is_map => list.is_empty(),
        _ => true,
    }
}
