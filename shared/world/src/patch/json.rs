//! JSON patch (RFC 6902) with the answers of kube-apiserver.
//!
//! The server is laxer than the RFC: it counts indexes below zero from the end, replaces members that are not there,
//! and takes what is missing for null in a test or a copy.
use serde_json::Value;

use super::PatchError;
use super::walk::same;

/// More operations than this are refused.
pub const MOST_OPERATIONS: usize = 10_000;

/// The operation could not be carried out. Which one and why is not told to the client.
struct Inapplicable;

/// The object after every operation of the patch, or nothing of it.
pub fn json_patch(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    let operations = patch.as_array().ok_or_else(|| not_a_patch(patch))?;
    if let Some(bad) = operations.iter().find(|operation| !operation.is_object()) {
        let message = "error decoding patch: json: cannot unmarshal";
        return Err(PatchError::bad_request(format!(
            "{message} {} into Go value of type handlers.jsonPatchOp",
            go_kind(bad)
        )));
    }
    if operations.len() > MOST_OPERATIONS {
        let message =
            format!("The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {}", operations.len());
        let details = Value::Null;
        return Err(PatchError { code: 413, reason: "RequestEntityTooLarge", message, details });
    }
    let mut patched = object.clone();
    for operation in operations {
        perform(&mut patched, operation).map_err(|Inapplicable| PatchError::unprocessable())?;
    }
    Ok(patched)
}

/// The name Go's decoder has for a kind of JSON value.
pub(crate) fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn not_a_patch(patch: &Value) -> PatchError {
    PatchError::bad_request(format!(
        "error decoding patch: json: cannot unmarshal {} into Go value of type []handlers.jsonPatchOp",
        go_kind(patch)
    ))
}

fn perform(object: &mut Value, operation: &Value) -> Result<(), Inapplicable> {
    let text = |name: &str| operation.get(name).and_then(Value::as_str).ok_or(Inapplicable);
    // An operation without a value has the value null.
    let value = || operation.get("value").cloned().unwrap_or_default();
    let path = text("path")?;
    match text("op")? {
        "add" => add(object, path, value()),
        "remove" => remove(object, path).map(drop),
        "replace" => replace(object, path, value()),
        "move" => {
            let moved = remove(object, text("from")?)?;
            add(object, path, moved)
        }
        "copy" => {
            let copied = read(object, text("from")?)?;
            add(object, path, copied)
        }
        "test" => {
            let found = if path.is_empty() { object.clone() } else { read(object, path)? };
            if same(&found, &value()) { Ok(()) } else { Err(Inapplicable) }
        }
        _ => Err(Inapplicable),
    }
}

fn add(object: &mut Value, path: &str, value: Value) -> Result<(), Inapplicable> {
    let (parent, key) = parent_of(object, path)?;
    match parent {
        Value::Object(map) => {
            map.insert(key, value);
            Ok(())
        }
        Value::Array(list) => {
            let at = if key == "-" { list.len() } else { index(&key, list.len() + 1)? };
            list.insert(at, value);
            Ok(())
        }
        _ => Err(Inapplicable),
    }
}

fn remove(object: &mut Value, path: &str) -> Result<Value, Inapplicable> {
    let (parent, key) = parent_of(object, path)?;
    match parent {
        Value::Object(map) => map.remove(&key).ok_or(Inapplicable),
        Value::Array(list) => index(&key, list.len()).map(|at| list.remove(at)),
        _ => Err(Inapplicable),
    }
}

/// Against the letter of the RFC, the server replaces what is not there as long as the object around it is.
fn replace(object: &mut Value, path: &str, value: Value) -> Result<(), Inapplicable> {
    if path.is_empty() {
        let may_be_whole = value.is_object() || value.is_array();
        *object = value;
        return if may_be_whole { Ok(()) } else { Err(Inapplicable) };
    }
    let (parent, key) = parent_of(object, path)?;
    match parent {
        Value::Object(map) => {
            map.insert(key, value);
        }
        Value::Array(list) => {
            let at = index(&key, list.len())?;
            *list.get_mut(at).ok_or(Inapplicable)? = value;
        }
        _ => return Err(Inapplicable),
    }
    Ok(())
}

/// The value at a path; null for a key that is missing from an object that is there.
fn read(object: &mut Value, path: &str) -> Result<Value, Inapplicable> {
    let (parent, key) = parent_of(object, path)?;
    match parent {
        Value::Object(map) => Ok(map.get(&key).cloned().unwrap_or_default()),
        Value::Array(list) => index(&key, list.len()).map(|at| list.get(at).cloned().unwrap_or_default()),
        _ => Err(Inapplicable),
    }
}

/// The value that holds the last part of the path, and that part. What stands before the first slash is ignored.
fn parent_of<'a>(object: &'a mut Value, path: &str) -> Result<(&'a mut Value, String), Inapplicable> {
    let mut keys: Vec<String> = path.split('/').skip(1).map(unescaped).collect();
    let last = keys.pop().ok_or(Inapplicable)?;
    let mut parent = object;
    for key in keys {
        let inner = match parent {
            Value::Object(map) => map.get_mut(&key),
            Value::Array(list) => index(&key, list.len()).ok().and_then(|at| list.get_mut(at)),
            _ => None,
        };
        parent = inner.ok_or(Inapplicable)?;
    }
    Ok((parent, last))
}

/// An index below `length`, counted from the end when negative.
fn index(key: &str, length: usize) -> Result<usize, Inapplicable> {
    let index: i64 = key.parse().map_err(|_| Inapplicable)?;
    let length = i64::try_from(length).map_err(|_| Inapplicable)?;
    let counted = if index < 0 { index + length } else { index };
    if (0..length).contains(&counted) { usize::try_from(counted).map_err(|_| Inapplicable) } else { Err(Inapplicable) }
}

fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
