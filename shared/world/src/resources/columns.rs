//! The well-known columns of the built-in kinds, and how their cells are computed.

mod controllers;
mod custom;
mod definitions;
mod event;
mod node;
mod pod;
mod service;
mod storage;

pub use custom::{custom_cells, custom_definitions};
pub use definitions::of_kind;
pub use pod::status_word;

use crate::resources::age::age_of;
use crate::resources::look::{at, entries, items, text};
use crate::resources::openapi::described;
use jiff::Timestamp;
use serde_json::{Value, json};

/// One column. Priority 1 is shown only by `kubectl get -o wide`.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub name: &'static str,
    pub value_type: &'static str,
    pub format: &'static str,
    pub priority: i32,
    pub description: Description,
}

/// Where a column's description is written.
#[derive(Clone, Copy, Debug)]
pub enum Description {
    Text(&'static str),
    /// The documentation of a field of an API type: the type's schema name, the field.
    Field(&'static str, &'static str),
}

impl Column {
    pub fn definition(&self) -> Value {
        let description = match self.description {
            Description::Text(text) => text.to_owned(),
            Description::Field(schema, field) => described(schema, field),
        };
        json!({"name": self.name, "type": self.value_type, "format": self.format, "description": description,
            "priority": self.priority})
    }
}

/// The cells of one object, as many as `of_kind` has columns.
pub fn cells(kind: &str, object: &Value, now: Timestamp) -> Vec<Value> {
    let name = || json!(text(object, &["metadata", "name"]));
    let age = || json!(age(object, now));
    let count = |field: &str| json!(entries(object, &[field]).len());
    match kind {
        "Pod" => pod::cells(object, now),
        "Node" => node::cells(object, now),
        "Deployment" => controllers::deployment(object, now),
        "ReplicaSet" => controllers::replica_set(object, now),
        "StatefulSet" => controllers::stateful_set(object, now),
        "DaemonSet" => controllers::daemon_set(object, now),
        "Job" => controllers::job(object, now),
        "ControllerRevision" => controllers::controller_revision(object, now),
        "PodDisruptionBudget" => controllers::disruption_budget(object, now),
        "Service" => service::cells(object, now),
        "Event" => event::cells(object, now),
        "PersistentVolume" => storage::volume(object, now),
        "PersistentVolumeClaim" => storage::claim(object, now),
        "StorageClass" => storage::class(object, now),
        "CSINode" => vec![name(), json!(items(object, &["spec", "drivers"]).len()), age()],
        "VolumeAttachment" => storage::attachment(object, now),
        "Namespace" => vec![name(), json!(text(object, &["status", "phase"])), age()],
        "ConfigMap" => {
            let data = entries(object, &["data"]).len() + entries(object, &["binaryData"]).len();
            vec![name(), json!(data), age()]
        }
        "Secret" => vec![name(), json!(text(object, &["type"])), count("data"), age()],
        "ServiceAccount" => vec![name(), age()],
        "Lease" => vec![name(), json!(text(object, &["spec", "holderIdentity"])), age()],
        "PriorityClass" => {
            let value = at(object, &["value"]).as_i64().unwrap_or_default();
            let default = at(object, &["globalDefault"]) == true;
            vec![name(), json!(value), json!(default), age(), json!(text(object, &["preemptionPolicy"]))]
        }
        _ => vec![name(), json!(text(object, &["metadata", "creationTimestamp"]))],
    }
}

fn age(object: &Value, now: Timestamp) -> String {
    age_of(text(object, &["metadata", "creationTimestamp"]), now)
}

/// `a=1,b=2`, or `<none>`.
fn labels(map: &Value) -> String {
    let pairs: Vec<String> = entries(map, &[])
        .into_iter()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    or_none(&pairs.join(","))
}

fn or_none(text: &str) -> String {
    if text.is_empty() { "<none>".to_owned() } else { text.to_owned() }
}

/// A label selector as kubectl writes it: `a=1,b in (x,y),!c`.
fn selector(selector: &Value) -> String {
    if selector.is_null() {
        return "<none>".to_owned();
    }
    let mut parts: Vec<(String, String)> = entries(selector, &["matchLabels"])
        .into_iter()
        .map(|(key, value)| (key.to_owned(), format!("{key}={}", value.as_str().unwrap_or_default())))
        .collect();
    for requirement in items(selector, &["matchExpressions"]) {
        let key = text(requirement, &["key"]);
        let mut values: Vec<&str> = items(requirement, &["values"]).iter().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        parts.push((
            key.to_owned(),
            match text(requirement, &["operator"]) {
                "In" => format!("{key} in ({values})"),
                "NotIn" => format!("{key} notin ({values})"),
                "Exists" => key.to_owned(),
                "DoesNotExist" => format!("!{key}"),
                _ => "<error>".to_owned(),
            },
        ));
    }
    parts.sort();
    or_none(&parts.into_iter().map(|(_, part)| part).collect::<Vec<_>>().join(","))
}

/// Names and images of a pod spec's containers, each joined by commas.
fn containers(pod_spec: &Value) -> [Value; 2] {
    let joined = |field: &str| {
        items(pod_spec, &["containers"]).iter().map(|one| text(one, &[field])).collect::<Vec<_>>().join(",")
    };
    [json!(joined("name")), json!(joined("image"))]
}
