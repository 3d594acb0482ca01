//! `metadata.managedFields`: read, written and sorted as the server does, with old updates run together.
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::fields::FieldSet;

/// More updaters than this are not kept apart.
const MOST_UPDATERS: usize = 10;
/// Longer names of managers are cut.
const LONGEST_NAME: usize = 128;
const ANCIENT: &str = "ancient-changes";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Apply,
    Update,
}

/// What tells one entry from another. Appliers are the same whatever version they apply.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ManagerId {
    pub name: String,
    pub operation: Operation,
    /// Empty for an applier.
    pub api_version: String,
    pub subresource: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub set: FieldSet,
    pub api_version: String,
    pub time: Option<String>,
}

pub type Managed = BTreeMap<ManagerId, Entry>;

impl ManagerId {
    pub fn applier(name: &str, subresource: &str) -> Self {
        Self {
            name: named(name),
            operation: Operation::Apply,
            api_version: String::new(),
            subresource: subresource.to_owned(),
        }
    }

    pub fn updater(name: &str, api_version: &str, subresource: &str) -> Self {
        let (api_version, subresource) = (api_version.to_owned(), subresource.to_owned());
        Self { name: named(name), operation: Operation::Update, api_version, subresource }
    }

    /// The manager as messages of conflicts show it.
    pub fn printed(&self) -> String {
        let mut text = format!("{:?}", self.name);
        if !self.subresource.is_empty() {
            text = format!("{text} with subresource {:?}", self.subresource);
        }
        if self.operation == Operation::Update {
            text = format!("{text} using {}", self.api_version);
        }
        text
    }
}

impl ManagerId {
    /// The text by which the server sorts managers in a message.
    pub fn sorting_text(&self) -> String {
        let operation = if self.operation == Operation::Apply { "Apply" } else { "Update" };
        let mut text = format!("{{\"manager\":{},\"operation\":\"{operation}\"", Value::from(self.name.as_str()));
        for (key, value) in [("apiVersion", &self.api_version), ("subresource", &self.subresource)] {
            if !value.is_empty() {
                text.push_str(&format!(",\"{key}\":{}", Value::from(value.as_str())));
            }
        }
        text + "}"
    }
}

/// The manager of a request that names none: what stands before the first slash of its user agent.
pub fn name_of(field_manager: &str, user_agent: &str) -> String {
    if !field_manager.is_empty() {
        return field_manager.to_owned();
    }
    let mut name = String::new();
    for letter in user_agent.chars().take_while(|letter| *letter != '/').filter(|letter| !letter.is_control()) {
        if name.len() + letter.len_utf8() > LONGEST_NAME {
            break;
        }
        name.push(letter);
    }
    name
}

fn named(name: &str) -> String {
    if name.is_empty() { "unknown".to_owned() } else { name.to_owned() }
}

/// Reads the entries of an object. An entry that makes no sense makes all of them worthless.
pub fn decode(object: &Value) -> Result<Managed, String> {
    let mut managed = Managed::new();
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    for (index, entry) in entries.into_iter().flatten().enumerate() {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err("operation must be `Apply` or `Update`".to_owned()),
        };
        let api_version = text("apiVersion");
        if api_version.is_empty() {
            return Err("apiVersion must not be empty".to_owned());
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
            other => return Err(format!("invalid fieldsType {other:?} in managed fields entry {index}")),
        }
        let set = FieldSet::from_fields_v1(entry.get("fieldsV1").unwrap_or(&Value::Null))?;
        let id = ManagerId {
            name: text("manager").to_owned(),
            operation,
            api_version: if operation == Operation::Apply { String::new() } else { api_version.to_owned() },
            subresource: text("subresource").to_owned(),
        };
        let time = entry.get("time").and_then(Value::as_str).map(str::to_owned);
        managed.insert(id, Entry { set, api_version: api_version.to_owned(), time });
    }
    Ok(managed)
}

/// Writes the entries into the object, replacing whatever it had.
pub fn encode(object: &mut Value, managed: &Managed) {
    let mut entries: Vec<(&ManagerId, &Entry)> = managed.iter().collect();
    // Appliers come before updaters, then by time; the time is text that sorts like the moment it stands for.
    entries.sort_by_key(|(id, entry)| {
        let time = entry.time.clone().unwrap_or_default();
        (id.operation, time, id.name.clone(), entry.api_version.clone(), id.subresource.clone())
    });
    let written: Vec<Value> = entries.into_iter().map(|(id, entry)| encoded(id, entry)).collect();
    strip(object);
    if written.is_empty() {
        return;
    }
    if let Some(object) = object.as_object_mut()
        && let Value::Object(metadata) = object.entry("metadata").or_insert_with(|| json!({}))
    {
        metadata.insert("managedFields".to_owned(), Value::Array(written));
    }
}

fn encoded(id: &ManagerId, entry: &Entry) -> Value {
    let mut written = Map::new();
    let mut put = |name: &str, value: Value| written.insert(name.to_owned(), value);
    put("manager", Value::from(id.name.as_str()));
    put("operation", Value::from(if id.operation == Operation::Apply { "Apply" } else { "Update" }));
    put("apiVersion", Value::from(entry.api_version.as_str()));
    if let Some(time) = &entry.time {
        put("time", Value::from(time.as_str()));
    }
    put("fieldsType", Value::from("FieldsV1"));
    put("fieldsV1", entry.set.to_fields_v1());
    if !id.subresource.is_empty() {
        put("subresource", Value::from(id.subresource.as_str()));
    }
    Value::Object(written)
}

/// Takes the entries off an object.
pub fn strip(object: &mut Value) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
}

/// Whether a request asks for all entries to be forgotten: an empty list, or a list of one empty entry.
pub fn is_reset(object: &Value) -> bool {
    let Some(entries) = object.pointer("/metadata/managedFields").and_then(Value::as_array) else { return false };
    match entries.as_slice() {
        [] => true,
        [only] => only.as_object().is_some_and(Map::is_empty),
        _ => false,
    }
}

/// Runs the oldest updates of each version together until there are few enough.
pub fn cap_updaters(managed: &mut Managed) {
    let mut updaters: Vec<ManagerId> = managed.keys().filter(|id| id.operation == Operation::Update).cloned().collect();
    let mut count = updaters.len();
    updaters.sort_by_key(|id| (managed.get(id).and_then(|entry| entry.time.clone()), id.clone()));
    let mut first_of_version: BTreeMap<String, ManagerId> = BTreeMap::new();
    for id in updaters {
        if count <= MOST_UPDATERS {
            return;
        }
        let Some(version) = managed.get(&id).map(|entry| entry.api_version.clone()) else { continue };
        let Some(first) = first_of_version.get(&version) else {
            first_of_version.insert(version, id);
            continue;
        };
        let bucket = ManagerId::updater(ANCIENT, &version, "");
        if !managed.contains_key(&bucket)
            && let Some(oldest) = managed.remove(first)
        {
            managed.insert(bucket.clone(), oldest);
        }
        if let Some(merged) = managed.remove(&id)
            && let Some(bucket) = managed.get_mut(&bucket)
        {
            bucket.set = bucket.set.union(&merged.set);
            bucket.time = merged.time;
        }
        count -= 1;
    }
}

/// Keeps the old times where a write changes nothing else, so that it is no write at all. To be called last, after
/// defaults and admission.
pub fn keep_times_if_nothing_else_changed(old: &Value, new: &mut Value) {
    let entries = |object: &Value| object.pointer("/metadata/managedFields").cloned();
    let (Some(old_entries), Some(new_entries)) = (entries(old), entries(new)) else { return };
    let timeless = |entries: &Value| -> Vec<Value> {
        let mut entries = entries.as_array().cloned().unwrap_or_default();
        entries.iter_mut().filter_map(Value::as_object_mut).for_each(|entry| drop(entry.remove("time")));
        entries
    };
    if timeless(&old_entries) != timeless(&new_entries) {
        return;
    }
    let mut with_old_times = new.clone();
    if let Some(place) = with_old_times.pointer_mut("/metadata/managedFields") {
        *place = old_entries;
    }
    if with_old_times == *old {
        *new = with_old_times;
    }
}

#[cfg(test)]
#[path = "managed_tests.rs"]
mod tests;
