//! The annotation of client-side apply, which `kubectl apply --server-side` takes over and keeps fresh.
use std::collections::BTreeMap;

use serde_json::Value;

use super::apply::Manager;
use super::compare::{compare, fields_of};
use super::fields::Path;
use super::managed::{self, ManagerId};
use super::schema_of::Schema;

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// All annotations of an object together may not be longer.
const LONGEST_ANNOTATIONS: usize = 256 * 1024;

/// Only kubectl's own manager comes from client-side apply.
pub fn is_upgraded_for(manager: &Manager<'_>) -> bool {
    manager.name == "kubectl"
}

/// The conflicts that the annotation does not explain: with fields that client-side apply did not set, or that
/// have changed since.
pub(crate) fn unexplained(conflicts: Vec<(ManagerId, Path)>, live: &Value, schema: &Schema) -> Vec<(ManagerId, Path)> {
    let annotation = annotations(live).and_then(|map| map.get(ANNOTATION)).and_then(Value::as_str);
    let applied = annotation.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let Some(applied) = applied.filter(|object| object.get("apiVersion") == live.get("apiVersion")) else {
        return conflicts;
    };
    let mut live = live.clone();
    managed::strip(&mut live);
    let since = compare(schema, &applied, &live);
    let explained =
        fields_of(schema, &applied).difference(&since.modified).difference(&since.added).difference(&since.removed);
    conflicts.into_iter().filter(|(_, path)| !explained.has(path)).collect()
}

/// Writes the applied configuration into the annotation of an object that has one.
pub fn refresh(object: &mut Value, config: &Value) {
    let has_one = annotations(object).and_then(|map| map.get(ANNOTATION)).and_then(Value::as_str);
    if has_one.is_none_or(str::is_empty) {
        return;
    }
    let mut config = config.clone();
    if let Some(Value::Object(annotations)) = config.pointer_mut("/metadata/annotations") {
        annotations.remove(ANNOTATION);
    }
    let text = format!("{}\n", with_sorted_keys(&config));
    let Some(Value::Object(annotations)) = object.pointer_mut("/metadata/annotations") else { return };
    annotations.insert(ANNOTATION.to_owned(), Value::from(text));
    let length = |(key, value): (&String, &Value)| key.len() + value.as_str().map_or(0, str::len);
    if annotations.iter().map(length).sum::<usize>() > LONGEST_ANNOTATIONS {
        annotations.remove(ANNOTATION);
    }
}

fn annotations(object: &Value) -> Option<&serde_json::Map<String, Value>> {
    object.pointer("/metadata/annotations").and_then(Value::as_object)
}

/// The server writes maps in the order of their keys, whatever order this build of the JSON library keeps.
fn with_sorted_keys(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<&String, &Value> = map.iter().collect();
            let pairs = sorted
                .into_iter()
                .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), with_sorted_keys(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(with_sorted_keys).collect::<Vec<_>>().join(",")),
        scalar => scalar.to_string(),
    }
}
