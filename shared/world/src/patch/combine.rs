//! Lays an applied configuration over a live object, and takes owned fields out of an object again.
use serde_json::{Map, Value};

use super::fields::{FieldSet, PathElement};
use super::schema_of::{Atom, ListShape, ListType, MapShape, Schema, ShapeId};
use super::walk::{element_of, items, nothing_in};

/// The live object with the configuration laid over it.
pub fn merged(schema: &Schema, live: &Value, config: &Value) -> Result<Value, String> {
    merge(schema, schema.root(), Some(live), Some(config)).map(Option::unwrap_or_default)
}

/// The object without the members of the set. What becomes empty by it stays, as an empty map or list.
pub fn without(schema: &Schema, object: &Value, set: &FieldSet) -> Value {
    remove(schema, schema.root(), object, set).unwrap_or_default()
}

fn merge(
    schema: &Schema,
    shape: ShapeId,
    live: Option<&Value>,
    config: Option<&Value>,
) -> Result<Option<Value>, String> {
    let atom = schema.shape(shape).atom_for(config.or(live));
    let either = || config.or(live).cloned();
    match atom {
        Atom::Scalar(_) | Atom::Nothing => Ok(either()),
        Atom::Map(map) if map.atomic || (nothing_in(live, true) && nothing_in(config, true)) => Ok(either()),
        Atom::Map(map) => merge_maps(schema, map, live, config),
        Atom::List(list) => {
            if list.list_type == ListType::Atomic || (nothing_in(live, false) && nothing_in(config, false)) {
                return Ok(either());
            }
            merge_lists(schema, list, items(live), items(config))
        }
    }
}

fn merge_maps(
    schema: &Schema,
    map: &MapShape,
    live: Option<&Value>,
    config: Option<&Value>,
) -> Result<Option<Value>, String> {
    let (live, config) = (live.and_then(Value::as_object), config.and_then(Value::as_object));
    let mut result = Map::new();
    for key in live.into_iter().chain(config).flat_map(Map::keys) {
        if result.contains_key(key) {
            continue;
        }
        let (live, config) = (live.and_then(|map| map.get(key)), config.and_then(|map| map.get(key)));
        if let Some(value) = merge(schema, map.shape_at(key).unwrap_or(usize::MAX), live, config)? {
            result.insert(key.clone(), value);
        }
    }
    Ok((!result.is_empty()).then_some(Value::Object(result)))
}

/// Merges two keyed lists or sets. What both have comes in the order of the configuration; what only the live list
/// has keeps its place between them, and goes before what only the configuration has.
fn merge_lists(schema: &Schema, list: &ListShape, live: &[Value], config: &[Value]) -> Result<Option<Value>, String> {
    let live_elements = elements(schema, list, live)?;
    let config_elements = elements(schema, list, config)?;
    let live_at = |wanted: &PathElement| -> Option<Value> {
        let mut found = live_elements.iter().zip(live).filter(|(element, _)| *element == wanted);
        let first = found.next()?.1.clone();
        // Two live elements with one key cannot both be merged with the new one, so that neither is.
        Some(if found.next().is_some() { Value::Null } else { first })
    };
    let mut shared = config_elements.iter().filter(|element| live_elements.contains(element)).peekable();
    let mut taken: Vec<&PathElement> = Vec::new();
    let mut result = Vec::new();
    let (mut left, mut right) = (0, 0);
    while left < live_elements.len() || right < config_elements.len() {
        let (mine, theirs) = (live_elements.get(left), config_elements.get(right));
        if let (Some(mine), Some(theirs)) = (mine, theirs)
            && mine != theirs
            && config_elements.contains(mine)
            && shared.peek().is_some_and(|next| *next != mine)
        {
            left += 1;
            continue;
        }
        if let Some(mine) = mine.filter(|mine| Some(*mine) != theirs) {
            if !config_elements.contains(mine) {
                result.extend(merge(schema, list.element, live.get(left), None)?);
                left += 1;
                continue;
            }
            if taken.contains(&mine) {
                left += 1;
            }
        }
        if let Some(theirs) = theirs {
            taken.push(theirs);
            result.extend(merge(schema, list.element, live_at(theirs).as_ref(), config.get(right))?);
            right += 1;
            left += usize::from(mine == Some(theirs));
            if shared.peek().is_some_and(|next| *next == theirs) {
                shared.next();
            }
        }
    }
    Ok((!result.is_empty()).then_some(Value::Array(result)))
}

fn elements(schema: &Schema, list: &ListShape, items: &[Value]) -> Result<Vec<PathElement>, String> {
    let element = |(index, item)| element_of(schema, list, item).map_err(|error| format!("element {index}: {error}"));
    items.iter().enumerate().map(element).collect()
}

fn remove(schema: &Schema, shape: ShapeId, value: &Value, set: &FieldSet) -> Option<Value> {
    match (schema.shape(shape).atom_for(Some(value)), value) {
        (Atom::Scalar(_), _) => Some(value.clone()),
        (Atom::Map(map), Value::Object(object)) if !map.atomic => remove_from_map(schema, map, object, set),
        (Atom::List(list), Value::Array(items)) if list.list_type != ListType::Atomic => {
            remove_from_list(schema, list, items, set)
        }
        _ => None,
    }
}

fn remove_from_map(schema: &Schema, map: &MapShape, object: &Map<String, Value>, set: &FieldSet) -> Option<Value> {
    let mut matched = false;
    let mut kept = Map::new();
    for (key, value) in object {
        let element = PathElement::field(key);
        if set.has_member(&element) {
            continue;
        }
        let below = set.below(&element).filter(|below| !below.is_empty());
        matched |= below.is_some();
        let shape = map.shape_at(key).unwrap_or(usize::MAX);
        kept.insert(
            key.clone(),
            below.map_or_else(|| value.clone(), |below| remove_inside(schema, shape, value, below)),
        );
    }
    (!kept.is_empty() || matched).then_some(Value::Object(kept))
}

fn remove_from_list(schema: &Schema, list: &ListShape, items: &[Value], set: &FieldSet) -> Option<Value> {
    let mut matched = false;
    let mut kept = Vec::new();
    for item in items {
        let element = element_of(schema, list, item).ok();
        if element.as_ref().is_some_and(|element| set.has_member(element)) {
            continue;
        }
        let below = element.as_ref().and_then(|element| set.below(element)).filter(|below| !below.is_empty());
        matched |= below.is_some();
        kept.push(below.map_or_else(|| item.clone(), |below| remove_inside(schema, list.element, item, below)));
    }
    (!kept.is_empty() || matched).then_some(Value::Array(kept))
}

/// Removes fields inside a value that itself stays, be it empty.
fn remove_inside(schema: &Schema, shape: ShapeId, value: &Value, below: &FieldSet) -> Value {
    remove(schema, shape, value, below).unwrap_or_else(|| match value {
        Value::Object(_) => Value::Object(Map::new()),
        Value::Array(_) => Value::Array(Vec::new()),
        _ => Value::Null,
    })
}
