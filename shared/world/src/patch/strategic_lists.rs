//! The lists of a strategic merge patch: merged by key or as sets, and put in order.
use serde_json::{Map, Value};

use super::merge_keys::PatchMeta;
use super::schema_of::{Schema, Strategy};
use super::strategic::{DIRECTIVE, Refused, merge_map, unknown_directive, without_directives};
use super::validate::go_text;

/// The list without the given scalars.
pub(crate) fn delete_from_scalars(
    old: Vec<Value>,
    deleted: &[Value],
    merge_key: Option<&str>,
) -> Result<Vec<Value>, Refused> {
    if old.is_empty() && deleted.is_empty() {
        return Ok(old);
    }
    // The directive is for scalars only; elements with a key are deleted by naming the key.
    if are_objects(&old, deleted)? && merge_key.is_none() {
        return Err(Refused::Other("cannot merge lists without merge key for ".to_owned()));
    }
    Ok(old.into_iter().filter(|item| !deleted.contains(item)).collect())
}

/// Merges a list by its key, or a set of scalars, and puts the patch's elements in the order of the patch.
pub(crate) fn merge_list(
    old: Vec<Value>,
    patch: Vec<Value>,
    meta: &PatchMeta<'_>,
    schema: &Schema,
) -> Result<Vec<Value>, Refused> {
    if old.is_empty() && patch.is_empty() {
        return Ok(old);
    }
    let merged = merge_unordered(old, patch, meta, schema)?;
    let key = merged.keyed.then_some(meta.merge_key).flatten();
    ordered(merged.items, &merged.patch_order, &merged.server_order, key)
}

struct Merged {
    items: Vec<Value>,
    patch_order: Vec<Value>,
    /// What the server had, without what the patch deletes.
    server_order: Vec<Value>,
    keyed: bool,
}

fn merge_unordered(
    old: Vec<Value>,
    patch: Vec<Value>,
    meta: &PatchMeta<'_>,
    schema: &Schema,
) -> Result<Merged, Refused> {
    if !are_objects(&old, &patch)? {
        let mut items: Vec<Value> = Vec::new();
        for item in old.iter().chain(&patch) {
            if !items.contains(item) {
                items.push(item.clone());
            }
        }
        return Ok(Merged { items, patch_order: patch, server_order: old, keyed: false });
    }
    let Some(key) = meta.merge_key else {
        let name = schema.shape(meta.below).map.as_ref().map_or("", |map| map.name.as_str());
        return Err(Refused::Other(format!("cannot merge lists without merge key for {name}")));
    };
    let mut old = old;
    let mut plain = Vec::new();
    let mut replaced = false;
    for item in patch.into_iter().filter_map(object) {
        match item.get(DIRECTIVE).map(Value::as_str) {
            None => plain.push(item),
            Some(Some("delete")) => {
                let value = key_of(&item, key)?;
                old.retain(|old| old.get(key) != Some(&value));
            }
            Some(Some("replace")) => replaced = true,
            Some(Some("merge")) => {
                return Err(Refused::Other("merging lists cannot yet be specified in the patch".to_owned()));
            }
            Some(_) => return Err(unknown_directive(item.get(DIRECTIVE).unwrap_or(&Value::Null), &item)),
        }
    }
    let patch_order: Vec<Value> = plain.iter().cloned().map(Value::Object).collect();
    if replaced {
        return Ok(Merged {
            items: patch_order.clone(),
            patch_order: Vec::new(),
            server_order: patch_order,
            keyed: true,
        });
    }
    let mut items = old.clone();
    for item in plain {
        let value = key_of(&item, key)?;
        match items.iter_mut().find(|old| old.get(key) == Some(&value)) {
            Some(found) => {
                let below = object(found.take()).unwrap_or_default();
                *found = Value::Object(merge_map(below, item, schema, meta.below)?);
            }
            None => items.push(Value::Object(item)),
        }
    }
    Ok(Merged { items, patch_order, server_order: old, keyed: true })
}

/// Merges a list and puts it into an order that the patch gives for it.
pub(crate) fn in_set_order(
    old: Option<Vec<Value>>,
    patch: Option<Vec<Value>>,
    order: &[Value],
    meta: &PatchMeta<'_>,
    schema: &Schema,
) -> Result<Vec<Value>, Refused> {
    follows_order(patch.as_deref().unwrap_or_default(), order, meta.merge_key)?;
    let mut server_order = old.clone().unwrap_or_default();
    let merged = match (old, patch) {
        (Some(old), Some(patch)) if meta.strategy == Strategy::Merge => {
            are_objects(&old, &patch)?;
            let merged = merge_unordered(old, patch, meta, schema)?;
            // The server merges in the very memory of the old list, so that new elements take the places of deleted
            // ones in what it then holds for the old order.
            if merged.keyed && !merged.patch_order.is_empty() {
                let places = server_order.iter_mut().zip(&merged.items);
                places.for_each(|(place, item)| *place = item.clone());
            }
            let key = merged.keyed.then_some(meta.merge_key).flatten();
            ordered(merged.items, &merged.patch_order, &merged.server_order, key)?
        }
        (_, Some(patch)) => {
            are_objects(&server_order, &patch)?;
            patch.into_iter().filter_map(without_directives).collect()
        }
        (Some(old), None) => {
            are_objects(&old, &[])?;
            old
        }
        (None, None) => Vec::new(),
    };
    ordered(merged, order, &server_order, meta.merge_key)
}

/// The elements of the patch must come in the order the patch gives.
fn follows_order(patch: &[Value], order: &[Value], key: Option<&str>) -> Result<(), Refused> {
    let deletes = |item: &Value| key.is_some() && item.get(DIRECTIVE).is_some_and(|directive| directive == "delete");
    let mut items = patch.iter().filter(|item| !deletes(item)).peekable();
    if order.is_empty() || patch.is_empty() {
        return Ok(());
    }
    let mut places = order.iter().peekable();
    while let (Some(item), Some(place)) = (items.peek(), places.peek()) {
        if item.get(DIRECTIVE).is_some() {
            items.next();
            continue;
        }
        if let Some(key) = key {
            for object in [*item, *place].iter().filter_map(|value| value.as_object()) {
                key_of(object, key)?;
            }
        }
        if identity(item, key) == identity(place, key) {
            items.next();
        }
        places.next();
    }
    if items.peek().is_none() {
        return Ok(());
    }
    let (patch, order) = (Value::Array(patch.to_vec()), Value::Array(order.to_vec()));
    Err(Refused::Other(format!(
        "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
        go_text(&patch),
        go_text(&order)
    )))
}

/// Sorts a merged list: what the patch names in its order, the rest in the server's, and the two of them together
/// so that the rest keeps its place in front of what followed it on the server.
fn ordered(
    merged: Vec<Value>,
    patch_order: &[Value],
    server_order: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, Refused> {
    if let Some(key) = key {
        for item in merged.iter().chain(patch_order).chain(server_order) {
            key_of(item.as_object().unwrap_or(&Map::new()), key)?;
        }
    }
    let place =
        |order: &[Value], item: &Value| order.iter().position(|other| identity(other, key) == identity(item, key));
    let (mut named, mut rest): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| place(patch_order, item).is_some());
    named.sort_by_key(|item| place(patch_order, item));
    rest.sort_by_key(|item| place(server_order, item));
    let mut result = Vec::with_capacity(named.len() + rest.len());
    let (mut named, mut rest) = (named.into_iter().peekable(), rest.into_iter().peekable());
    while let (Some(left), Some(right)) = (rest.peek(), named.peek()) {
        let rest_first = match (place(server_order, left), place(server_order, right)) {
            (Some(left), Some(right)) => left < right,
            _ => false,
        };
        result.extend(if rest_first { rest.next() } else { named.next() });
    }
    result.extend(named.chain(rest));
    Ok(result)
}

fn identity<'a>(item: &'a Value, key: Option<&str>) -> Option<&'a Value> {
    match key {
        Some(key) => item.get(key),
        None => Some(item),
    }
}

/// Whether the elements are objects. All of them have to be of one type.
fn are_objects(left: &[Value], right: &[Value]) -> Result<bool, Refused> {
    let mut types = left.iter().chain(right).map(super::validate::go_type);
    let Some(first) = types.next() else {
        return Err(Refused::Other("no elements in any of the given slices".to_owned()));
    };
    if first == "[]interface {}" {
        return Err(Refused::ListOfLists);
    }
    if types.any(|other| other != first) {
        let lists = Value::Array(vec![Value::Array(left.to_vec()), Value::Array(right.to_vec())]);
        return Err(Refused::Other(format!("list element types are not identical: {}", go_text(&lists))));
    }
    Ok(first == "map[string]interface {}")
}

fn key_of(item: &Map<String, Value>, key: &str) -> Result<Value, Refused> {
    item.get(key).cloned().ok_or_else(|| {
        let item = go_text(&Value::Object(item.clone()));
        Refused::Other(format!("map: {item} does not contain declared merge key: {key}"))
    })
}

fn object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(map) => Some(map),
        _ => None,
    }
}
