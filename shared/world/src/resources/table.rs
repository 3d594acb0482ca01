//! `as=Table` answers: the columns kubectl prints, computed on the server.

use crate::resources::columns::{self, Column};
use crate::resources::kinds::Resource;
use crate::resources::look::{at, text};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// How much of each object a row carries, by the request's `includeObject`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncludeObject {
    Nothing,
    Metadata,
    Object,
}

impl IncludeObject {
    /// None for a word the server refuses: `unrecognized includeObject value`.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "None" => Some(IncludeObject::Nothing),
            "" | "Metadata" => Some(IncludeObject::Metadata),
            "Object" => Some(IncludeObject::Object),
            _ => None,
        }
    }
}

/// The table of some objects. `list_metadata` is the metadata of the list, or of the one object asked for; only what a
/// table may carry is taken from it. A watch sends `with_columns` only in its first event.
pub fn table(
    resource: &Resource,
    objects: &[Value],
    list_metadata: &Value,
    include: IncludeObject,
    with_columns: bool,
    now: Timestamp,
) -> Value {
    let rows: Vec<Value> = objects.iter().map(|object| row(resource, object, include, now)).collect();
    let mut metadata = Map::new();
    for name in ["resourceVersion", "continue", "remainingItemCount"] {
        if let Some(value) = list_metadata.get(name) {
            metadata.insert(name.to_owned(), value.clone());
        }
    }
    let definitions = if with_columns { column_definitions(resource) } else { Value::Null };
    json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "columnDefinitions": definitions,
        "rows": rows})
}

/// The columns of a resource, as they stand in a table.
pub fn column_definitions(resource: &Resource) -> Value {
    match &resource.custom {
        Some(custom) => columns::custom_definitions(&custom.columns),
        None => Value::Array(columns::of_kind(&resource.kind).iter().map(Column::definition).collect()),
    }
}

/// The object as PartialObjectMetadata: what rows carry, and what `as=PartialObjectMetadata` answers.
pub fn partial_metadata(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": at(object, &["metadata"])})
}

fn row(resource: &Resource, object: &Value, include: IncludeObject, now: Timestamp) -> Value {
    let cells = match &resource.custom {
        Some(custom) => columns::custom_cells(&custom.columns, object, now),
        None => columns::cells(&resource.kind, object, now),
    };
    let mut row = json!({"cells": cells});
    match include {
        IncludeObject::Nothing => row["object"] = Value::Null,
        IncludeObject::Metadata => row["object"] = partial_metadata(object),
        IncludeObject::Object => row["object"] = object.clone(),
    }
    if resource.kind == "Pod" && resource.group.is_empty() {
        match text(object, &["status", "phase"]) {
            "Succeeded" => row["conditions"] = finished("Succeeded", "The pod has completed successfully."),
            "Failed" => row["conditions"] = finished("Failed", "The pod failed."),
            _ => {}
        }
    }
    row
}

fn finished(reason: &str, message: &str) -> Value {
    json!([{"type": "Completed", "status": "True", "reason": reason, "message": message}])
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
