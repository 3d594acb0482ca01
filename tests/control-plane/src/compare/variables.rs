//! What a scenario keeps from one answer for a later request.

use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Default)]
pub struct Variables(BTreeMap<String, Value>);

impl Variables {
    pub fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// Puts values in the place of `${name}`.
    pub fn fill(&self, text: &str) -> String {
        let mut filled = text.to_owned();
        for (name, value) in &self.0 {
            let mark = format!("${{{name}}}");
            if filled.contains(&mark) {
                filled = filled.replace(&mark, &shown(value));
            }
        }
        filled
    }

    /// The same in every string of a value. `{$use, $set, $drop}` becomes the kept object with its changes.
    pub fn fill_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.fill(text).into(),
            Value::Array(items) => items.iter().map(|item| self.fill_value(item)).collect(),
            Value::Object(object) => match object.get("$use").and_then(Value::as_str) {
                Some(name) => self.changed(name, value),
                None => object.iter().map(|(key, item)| (self.fill(key), self.fill_value(item))).collect(),
            },
            other => other.clone(),
        }
    }

    fn changed(&self, name: &str, how: &Value) -> Value {
        let mut value = self.0.get(name).cloned().unwrap_or_default();
        for pointer in how["$drop"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            remove(&mut value, pointer);
        }
        for (pointer, new) in how["$set"].as_object().into_iter().flatten() {
            put(&mut value, pointer, self.fill_value(new));
        }
        value
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn split(pointer: &str) -> (&str, String) {
    let (parent, last) = pointer.rsplit_once('/').unwrap_or(("", pointer));
    (parent, last.replace("~1", "/").replace("~0", "~"))
}

fn remove(value: &mut Value, pointer: &str) {
    let (parent, last) = split(pointer);
    match value.pointer_mut(parent) {
        Some(Value::Object(object)) => _ = object.remove(&last),
        Some(Value::Array(items)) => {
            if let Ok(index) = last.parse::<usize>()
                && index < items.len()
            {
                items.remove(index);
            }
        }
        _ => {}
    }
}

/// Objects on the way are made where they are missing.
fn put(value: &mut Value, pointer: &str, new: Value) {
    let (parent, last) = split(pointer);
    if !parent.is_empty() && value.pointer(parent).is_none() {
        put(value, parent, Value::Object(serde_json::Map::new()));
    }
    match value.pointer_mut(parent) {
        Some(Value::Object(object)) => _ = object.insert(last, new),
        Some(Value::Array(items)) => match last.parse::<usize>() {
            Ok(index) if index < items.len() => items[index] = new,
            _ => items.push(new),
        },
        _ => {}
    }
}
