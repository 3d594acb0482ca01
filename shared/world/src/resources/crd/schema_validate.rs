//! Validation of an object against a structural schema, with the messages of the real server. On an update, a part
//! that did not change is not judged again (ratcheting): old objects survive a tightened schema.

use super::formats::is_of_format;
use crate::resources::errors::{FieldError, Reason};
use crate::resources::look::{at, items, text};
use regex::Regex;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

/// What the schema finds wrong with `object`; see `validate_change` for updates.
pub fn validate_schema(schema: &Value, object: &Value) -> Vec<FieldError> {
    validate_change(schema, object, None)
}

/// As `validate_schema`, leaving out what is equal in `old`.
pub fn validate_change(schema: &Value, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check(schema, object, old, "", &mut errors);
    errors
}

fn check(schema: &Value, value: &Value, old: Option<&Value>, path: &str, errors: &mut Vec<FieldError>) {
    if old == Some(value) {
        return;
    }
    if !check_type(schema, value, path, errors) {
        check_enum(schema, value, path, errors);
        return;
    }
    if value.is_null() {
        return;
    }
    check_alternatives(schema, value, path, errors);
    match value {
        Value::String(string) => check_string(schema, string, path, errors),
        Value::Number(_) => check_number(schema, value, path, errors),
        Value::Array(list) => check_list(schema, list, old, path, errors),
        Value::Object(map) => check_object(schema, map, old, path, errors),
        Value::Null | Value::Bool(_) => {}
    }
    check_enum(schema, value, path, errors);
}

fn check_enum(schema: &Value, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        let supported: Vec<String> =
            allowed.iter().map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned)).collect();
        let supported: Vec<&str> = supported.iter().map(String::as_str).collect();
        errors.push(FieldError::not_supported(name_of(path), value.clone(), &supported));
    }
}

/// False when the value is of a wrong type, and nothing further can be said about it.
fn check_type(schema: &Value, value: &Value, path: &str, errors: &mut Vec<FieldError>) -> bool {
    let int_or_string = at(schema, &["x-kubernetes-int-or-string"]) == true;
    let wanted = if int_or_string { "integer,string" } else { text(schema, &["type"]) };
    if wanted.is_empty() || (value.is_null() && at(schema, &["nullable"]) == true) {
        return true;
    }
    let actual = type_name(value);
    let fits = match wanted {
        "integer,string" => matches!(actual, "integer" | "string"),
        "number" => matches!(actual, "integer" | "number"),
        other => actual == other,
    };
    if !fits {
        let detail = format!("{path} in body must be of type {wanted}: \"{actual}\"");
        errors.push(FieldError::type_invalid(name_of(path), actual, &detail));
    }
    fits
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(number) if number.as_f64().is_some_and(|float| float.fract() == 0.0) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// allOf, anyOf, oneOf and not. The server reports these without a field of their own.
fn check_alternatives(schema: &Value, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let failures = |alternative: &Value| {
        let mut found = Vec::new();
        check(alternative, value, None, path, &mut found);
        found
    };
    let mut refuse = |message: String| errors.push(FieldError::invalid("<nil>", "", &message));
    let any_of = items(schema, &["anyOf"]);
    let mut best: Option<Vec<FieldError>> = None;
    if !any_of.is_empty() {
        best = fewest(any_of.iter().map(failures));
        if best.is_some() {
            refuse(format!("\"{path}\" must validate at least one schema (anyOf)"));
        }
    }
    let one_of = items(schema, &["oneOf"]);
    if !one_of.is_empty() {
        let results: Vec<_> = one_of.iter().map(failures).collect();
        let valid = results.iter().filter(|result| result.is_empty()).count();
        if valid == 0 {
            best = fewest(results.into_iter());
        }
        let found =
            if valid == 0 { "Found none valid".to_owned() } else { format!("Found {valid} valid alternatives") };
        if valid != 1 {
            refuse(format!("\"{path}\" must validate one and only one schema (oneOf). {found}"));
        }
    }
    let all_of: Vec<FieldError> = items(schema, &["allOf"]).iter().flat_map(failures).collect();
    if !all_of.is_empty() {
        refuse(format!("\"{path}\" must validate all the schemas (allOf)"));
    }
    if schema.get("not").is_some_and(|not| failures(not).is_empty()) {
        refuse(format!("\"{path}\" must not validate the schema (not)"));
    }
    errors.extend(best.into_iter().flatten());
    errors.extend(all_of);
}

/// None when one alternative holds, else the errors of the one that is nearest.
fn fewest(results: impl Iterator<Item = Vec<FieldError>>) -> Option<Vec<FieldError>> {
    results.min_by_key(Vec::len).filter(|errors| !errors.is_empty())
}

fn check_string(schema: &Value, string: &str, path: &str, errors: &mut Vec<FieldError>) {
    let length = string.chars().count() as u64;
    let pattern = text(schema, &["pattern"]);
    // The first of these that is broken is all that is said.
    if let Some(most) = at(schema, &["maxLength"]).as_u64().filter(|most| length > *most) {
        errors.push(FieldError::too_long(name_of(path), most));
    } else if let Some(least) = at(schema, &["minLength"]).as_u64().filter(|least| length < *least) {
        let detail = format!("{path} in body should be at least {least} chars long");
        errors.push(FieldError::invalid(name_of(path), string, &detail));
    } else if !pattern.is_empty() && !matches(pattern, string) {
        errors.push(FieldError::invalid(name_of(path), string, &format!("{path} in body should match '{pattern}'")));
    }
    let format = text(schema, &["format"]);
    if !format.is_empty() && !is_of_format(format, string) {
        let detail = format!("{path} in body must be of type {format}: {}", crate::resources::errors::quote(string));
        errors.push(FieldError::type_invalid(name_of(path), string, &detail));
    }
}

fn check_number(schema: &Value, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let Some(number) = value.as_f64() else { return };
    let mut refuse = |detail: String| errors.push(FieldError::invalid(name_of(path), value.clone(), &detail));
    if let Some(factor) = at(schema, &["multipleOf"]).as_f64()
        && (number / factor).fract() != 0.0
    {
        refuse(format!("{path} in body should be a multiple of {}", at(schema, &["multipleOf"])));
    }
    if let Some(most) = at(schema, &["maximum"]).as_f64() {
        let exclusive = at(schema, &["exclusiveMaximum"]) == true;
        if number > most || (exclusive && number >= most) {
            let or_equal = if exclusive { "" } else { " or equal to" };
            refuse(format!("{path} in body should be less than{or_equal} {}", at(schema, &["maximum"])));
        }
    }
    if let Some(least) = at(schema, &["minimum"]).as_f64() {
        let exclusive = at(schema, &["exclusiveMinimum"]) == true;
        if number < least || (exclusive && number <= least) {
            let or_equal = if exclusive { "" } else { " or equal to" };
            refuse(format!("{path} in body should be greater than{or_equal} {}", at(schema, &["minimum"])));
        }
    }
    let fits = match text(schema, &["format"]) {
        "int32" => value.as_i64().is_none_or(|whole| i32::try_from(whole).is_ok()),
        "int64" => value.as_i64().is_some() || !value.is_u64(),
        _ => true,
    };
    if !fits {
        let format = text(schema, &["format"]);
        refuse(format!("Checked value must be of type {} with format {format}", text(schema, &["type"])));
    }
}

fn check_list(schema: &Value, list: &[Value], old: Option<&Value>, path: &str, errors: &mut Vec<FieldError>) {
    let length = list.len() as u64;
    if let Some(least) = at(schema, &["minItems"]).as_u64().filter(|least| length < *least) {
        let detail = format!("{path} in body should have at least {least} items");
        errors.push(FieldError::invalid(name_of(path), length, &detail));
    }
    if let Some(most) = at(schema, &["maxItems"]).as_u64().filter(|most| length > *most) {
        errors.push(FieldError::too_many(name_of(path), length, most));
    }
    if at(schema, &["uniqueItems"]) == true && (1..list.len()).any(|index| list[..index].contains(&list[index])) {
        errors.push(FieldError::invalid(name_of(path), "", &format!("{path} in body shouldn't contain duplicates")));
    }
    let item_schema = at(schema, &["items"]);
    for (index, item) in list.iter().enumerate() {
        check(item_schema, item, matching_item(schema, item, old), &format!("{path}[{index}]"), errors);
    }
    check_uniqueness(schema, list, path, errors);
}

/// Sets hold no item twice, maps no key twice.
fn check_uniqueness(schema: &Value, list: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    let list_type = text(schema, &["x-kubernetes-list-type"]);
    let identity = |item: &Value| match list_type {
        "set" => Some(item.clone()),
        "map" => Some(key_of(schema, item)),
        _ => None,
    };
    let identities: Vec<Value> = list.iter().filter_map(identity).collect();
    for (index, one) in identities.iter().enumerate() {
        if identities[..index].contains(one) {
            errors.push(FieldError::duplicate(&format!("{path}[{index}]"), one.clone()));
        }
    }
}

/// The old item of a list-map with the same keys; other lists have no correlation between old and new.
pub fn matching_item<'a>(schema: &Value, item: &Value, old: Option<&'a Value>) -> Option<&'a Value> {
    if text(schema, &["x-kubernetes-list-type"]) != "map" {
        return None;
    }
    let key = key_of(schema, item);
    old?.as_array()?.iter().find(|one| key_of(schema, one) == key)
}

fn key_of(schema: &Value, item: &Value) -> Value {
    let names = items(schema, &["x-kubernetes-list-map-keys"]).iter().filter_map(Value::as_str);
    Value::Object(names.filter_map(|name| Some((name.to_owned(), item.get(name)?.clone()))).collect())
}

fn check_object(
    schema: &Value,
    map: &Map<String, Value>,
    old: Option<&Value>,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    let count = map.len() as u64;
    if let Some(least) = at(schema, &["minProperties"]).as_u64().filter(|least| count < *least) {
        let detail = format!("{path} in body should have at least {least} properties");
        errors.push(FieldError::invalid(name_of(path), count, &detail));
    }
    if let Some(most) = at(schema, &["maxProperties"]).as_u64().filter(|most| count > *most) {
        errors.push(FieldError::too_many(name_of(path), count, most));
    }
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for name in items(schema, &["required"]).iter().filter_map(Value::as_str) {
        if !map.contains_key(name) {
            errors.push(FieldError::new(Reason::Required, &below(name), Value::Null, ""));
        }
    }
    let properties = at(schema, &["properties"]);
    let additional = at(schema, &["additionalProperties"]);
    for (name, value) in map {
        let before = old.and_then(|old| old.get(name));
        if let Some(known) = properties.get(name) {
            check(known, value, before, &below(name), errors);
        } else if additional.is_object() {
            check(additional, value, before, &below(name), errors);
        }
    }
}

/// The root has no path, and Go prints a nil path this way.
fn name_of(path: &str) -> &str {
    if path.is_empty() { "<nil>" } else { path }
}

/// Patterns are compiled once for the life of the process: a list of a thousand items asks for the same one.
fn matches(pattern: &str, string: &str) -> bool {
    static COMPILED: LazyLock<Mutex<HashMap<String, Option<Regex>>>> = LazyLock::new(Mutex::default);
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let regex = compiled.entry(pattern.to_owned()).or_insert_with(|| Regex::new(pattern).ok());
    regex.as_ref().is_none_or(|regex| regex.is_match(string))
}

#[cfg(test)]
#[path = "schema_validate_tests.rs"]
mod tests;
