//! Small changes to objects: a field by its path, a condition by its type.

use serde_json::{Map, Value};

/// The value at a path like `.spec.replicas`, or null.
pub fn get<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').filter(|part| !part.is_empty()).fold(value, |value, part| &value[part])
}

/// Sets the value at a path like `.spec.replicas`, making objects on the way.
pub fn set(value: &mut Value, path: &str, new: Value) {
    let mut place = value;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = &mut place[part];
    }
    *place = new;
}

pub fn remove(value: &mut Value, fields: &[&str]) {
    if let Value::Object(object) = value {
        object.retain(|field, _| !fields.contains(&field.as_str()));
    }
}

/// Removes the fields of an object that are null: absent and null read alike.
pub fn drop_nulls(value: &mut Value) {
    if let Value::Object(object) = value {
        object.retain(|_, field| !field.is_null());
    }
}

/// Puts a condition into `conditions`, in place of the one of its type.
pub fn set_condition(status: &mut Value, condition: Value) {
    if !status["conditions"].is_array() {
        set(status, ".conditions", Value::Array(Vec::new()));
    }
    let Some(conditions) = status["conditions"].as_array_mut() else { return };
    match conditions.iter_mut().find(|one| one["type"] == condition["type"]) {
        Some(place) => *place = condition,
        None => conditions.push(condition),
    }
}

/// A selector object in the words of a query, as the scale subresource shows it.
pub fn selector_text(selector: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut terms: Vec<(String, String)> = Vec::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        terms.push((key.clone(), format!("{key}={}", word(value))));
    }
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = word(&expression["key"]);
        let mut values: Vec<String> = expression["values"].as_array().into_iter().flatten().map(word).collect();
        values.sort();
        let text = match expression["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "DoesNotExist" => format!("!{key}"),
            _ => key.clone(),
        };
        terms.push((key, text));
    }
    terms.sort();
    terms.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
}
