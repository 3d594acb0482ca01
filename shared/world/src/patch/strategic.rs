//! Strategic merge patch: a merge patch that knows how to merge the lists of the core kinds, and takes directives.
use serde_json::{Map, Value};

use super::PatchError;
use super::merge_keys::{of_list, of_object};
use super::schema_of::{Schema, ShapeId, Strategy};
use super::strategic_lists::{delete_from_scalars, in_set_order, merge_list};
use super::validate::{go_text, go_type};

pub(crate) const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
const SET_ORDER: &str = "$setElementOrder";

/// Why a patch does not work out, before it is known how the server answers that.
#[derive(Debug)]
pub(crate) enum Refused {
    BadFormat(&'static str),
    ListOfLists,
    Other(String),
}

/// The object with the patch merged into it.
pub fn strategic_merge_patch(object: &Value, patch: &Value, schema: &Schema) -> Result<Value, PatchError> {
    if !schema.core {
        return Err(unsupported());
    }
    let Value::Object(patch) = patch else {
        let message = "json: cannot unmarshal {} into Go value of type map[string]interface {}";
        return Err(PatchError::bad_request(message.replacen("{}", super::json::go_kind(patch), 1)));
    };
    let original = object.as_object().cloned().unwrap_or_default();
    match merge_map(original, patch.clone(), schema, schema.root()) {
        Ok(merged) => Ok(Value::Object(merged)),
        Err(Refused::BadFormat(message)) => Err(PatchError::bad_request(message)),
        Err(Refused::ListOfLists) => Err(PatchError::unprocessable()),
        Err(Refused::Other(message)) => Err(PatchError::internal(message)),
    }
}

/// The answer where strategic merge patch is not served: for every custom resource.
pub fn unsupported() -> PatchError {
    let accepted = ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {}",
        accepted.join(", ")
    );
    PatchError { code: 415, reason: "UnsupportedMediaType", message, details: Value::Null }
}

pub(crate) fn merge_map(
    mut original: Map<String, Value>,
    mut patch: Map<String, Value>,
    schema: &Schema,
    shape: ShapeId,
) -> Result<Map<String, Value>, Refused> {
    if let Some(directive) = patch.get(DIRECTIVE).cloned() {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            Some("delete") => Ok(Map::new()),
            _ => Err(unknown_directive(&directive, &patch)),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    merge_ordered_lists(&mut original, &mut patch, schema, shape)?;
    // The server goes through a patch in no order; deletions first is one it may take, and the same every time.
    let mut fields: Vec<(String, Value)> = patch.into_iter().collect();
    fields.sort_by(|left, right| left.0.cmp(&right.0));
    for (key, value) in fields {
        let (key, deletes) = match key.split_once('/') {
            Some((DELETE_FROM_LIST, name)) => (name.to_owned(), true),
            _ if key.starts_with(DELETE_FROM_LIST) => {
                return Err(Refused::BadFormat("invalid patch format of primitive list"));
            }
            _ => (key, false),
        };
        merge_field(&mut original, key, value, deletes, schema, shape)?;
    }
    Ok(original)
}

fn merge_field(
    original: &mut Map<String, Value>,
    key: String,
    mut value: Value,
    deletes: bool,
    schema: &Schema,
    shape: ShapeId,
) -> Result<(), Refused> {
    if value.is_null() {
        original.remove(&key);
        return Ok(());
    }
    let merged = match (original.remove(&key), value) {
        (Some(Value::Object(old)), Value::Object(new)) => {
            let meta = of_object(schema, shape, &key).map_err(Refused::Other)?;
            let replaced = meta.strategy == Strategy::Replace;
            Some(Value::Object(if replaced { new } else { merge_map(old, new, schema, meta.below)? }))
        }
        (Some(Value::Array(old)), Value::Array(new)) => {
            let meta = of_list(schema, shape, &key).map_err(Refused::Other)?;
            Some(Value::Array(if deletes {
                delete_from_scalars(old, &new, meta.merge_key)?
            } else if meta.strategy == Strategy::Merge {
                merge_list(old, new, &meta, schema)?
            } else {
                new
            }))
        }
        (old, _) if deletes => old,
        (_, new) => {
            value = new;
            discard_nulls(&mut value);
            without_directives(value)
        }
    };
    if let Some(merged) = merged {
        original.insert(key, merged);
    }
    Ok(())
}

/// `$retainKeys` lists every key an object may have after the patch.
fn retain_keys(original: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), Refused> {
    let Some(retained) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let bad_format = || Refused::BadFormat("invalid patch format of retainKeys");
    let retained = retained.as_array().cloned().ok_or_else(bad_format)?;
    let is_retained = |key: &String| retained.iter().any(|retained| retained.as_str() == Some(key));
    let exempt = |key: &String, value: &Value| {
        value.is_null() || key.starts_with(DELETE_FROM_LIST) || key.starts_with(SET_ORDER)
    };
    if patch.iter().any(|(key, value)| !exempt(key, value) && !is_retained(key)) {
        return Err(bad_format());
    }
    original.retain(|key, _| is_retained(key));
    Ok(())
}

/// Merges the lists whose order the patch gives with `$setElementOrder/<list>`.
fn merge_ordered_lists(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    schema: &Schema,
    shape: ShapeId,
) -> Result<(), Refused> {
    let orders: Vec<String> = patch.keys().filter(|key| key.starts_with(SET_ORDER)).cloned().collect();
    for directive in orders {
        let order = list_of(patch.remove(&directive).unwrap_or_default())?;
        let Some((SET_ORDER, name)) = directive.split_once('/') else {
            return Err(Refused::BadFormat("invalid patch format of setElementOrder list"));
        };
        let old = original.get(name).cloned().map(list_of).transpose()?;
        let new = patch.get(name).cloned().map(list_of).transpose()?;
        let meta = of_list(schema, shape, name).map_err(Refused::Other)?;
        if old.is_some() || new.is_some() {
            let merged = in_set_order(old, new, &order, &meta, schema)?;
            original.insert(name.to_owned(), Value::Array(merged));
            patch.remove(name);
        }
    }
    Ok(())
}

fn list_of(value: Value) -> Result<Vec<Value>, Refused> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(Refused::Other(format!("expected a []interface {{}}, but received a {}", go_type(&other)))),
    }
}

pub(crate) fn unknown_directive(directive: &Value, patch: &Map<String, Value>) -> Refused {
    let patch = go_text(&Value::Object(patch.clone()));
    Refused::Other(format!("unknown patch type: {} in map: {patch}", go_text(directive)))
}

fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// What is left of a value that goes in unmerged: an object with a directive is about something that is not there.
pub(crate) fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.contains_key(DIRECTIVE) => None,
        Value::Object(map) => Some(Value::Object(
            map.into_iter().filter_map(|(key, value)| Some((key, without_directives(value)?))).collect(),
        )),
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(without_directives).collect())),
        other => Some(other),
    }
}
