//! One object, several versions. Ours convert by the name of the version alone; only Events have two shapes.

use serde_json::{Map, Value};

use crate::resources::{events, kinds::Resource};

/// The object as a version of its group shows it.
pub fn shown(resource: &Resource, mut value: Value) -> Value {
    if resource.group == "events.k8s.io" {
        value = events::to_events_group(&value);
    }
    name(&mut value, &resource.api_version(), &resource.kind);
    value
}

/// The object as it is stored, whatever version it came in.
pub fn to_stored(resource: &Resource, mut value: Value) -> Value {
    if resource.group == "events.k8s.io" {
        value = events::to_core(&value);
    }
    let storage = &resource.storage;
    let api_version = if storage.group.is_empty() {
        storage.version.clone()
    } else {
        format!("{}/{}", storage.group, storage.version)
    };
    name(&mut value, &api_version, &resource.kind);
    value
}

fn name(value: &mut Value, api_version: &str, kind: &str) {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value["apiVersion"] = api_version.into();
    value["kind"] = kind.into();
}
