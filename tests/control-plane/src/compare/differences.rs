//! Two answers compared field by field.

use serde_json::{Map, Value};
use std::collections::BTreeSet;

use super::{
    pairing::{Pairing, Relation},
    side::Reply,
};

/// One field that is not the same on both sides. `None` is "not there".
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    pub path: String,
    pub world: Option<Value>,
    pub server: Option<Value>,
}

/// What comparing found, and how much it looked at.
#[derive(Debug, Default)]
pub struct Comparison {
    pub fields: usize,
    pub differences: Vec<Difference>,
}

/// What of two answers is compared.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// What only the server has is passed over, and list items are matched by their names.
    pub subset: bool,
    /// Pointers into the body; empty means all of it.
    pub only: Vec<String>,
}

pub fn compare(world: &Reply, server: &Reply, scope: &Scope, pairing: &mut Pairing) -> Comparison {
    let mut comparing = Comparing { found: Comparison::default(), pairing, subset: scope.subset };
    comparing.values("status", &world.status.into(), &server.status.into());
    let headers = |reply: &Reply| -> Value {
        reply.headers.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect()
    };
    if world.status != server.status {
        // Two different things: what else differs follows from that, and only their messages help a reader.
        comparing.one("body.message", world.body.get("message"), server.body.get("message"), false);
        return comparing.found;
    }
    comparing.values("headers", &headers(world), &headers(server));
    if scope.only.is_empty() {
        comparing.values("body", &world.body, &server.body);
    }
    for pointer in &scope.only {
        let path = format!("body{}", pointer.replace('/', "."));
        match (world.body.pointer(pointer), server.body.pointer(pointer)) {
            (Some(ours), Some(theirs)) => comparing.values(&path, ours, theirs),
            (ours, theirs) => comparing.one(&path, ours, theirs, ours.is_none() && theirs.is_none()),
        }
    }
    comparing.found
}

struct Comparing<'a> {
    found: Comparison,
    pairing: &'a mut Pairing,
    subset: bool,
}

impl Comparing<'_> {
    fn one(&mut self, path: &str, world: Option<&Value>, server: Option<&Value>, same: bool) {
        self.found.fields += 1;
        if !same {
            let (world, server) = (world.cloned(), server.cloned());
            self.found.differences.push(Difference { path: path.to_owned(), world, server });
        }
    }

    fn values(&mut self, path: &str, world: &Value, server: &Value) {
        match (world, server) {
            (Value::Object(ours), Value::Object(theirs)) => self.objects(path, ours, theirs),
            (Value::Array(ours), Value::Array(theirs)) => self.lists(path, ours, theirs),
            (Value::String(ours), Value::String(theirs)) => {
                let same = self.texts(path, ours, theirs);
                self.one(path, Some(world), Some(server), same);
            }
            _ => self.one(path, Some(world), Some(server), world == server),
        }
    }

    fn texts(&mut self, path: &str, world: &str, server: &str) -> bool {
        // What a page token holds is each server's own business.
        if path.ends_with("metadata.continue") {
            return world.is_empty() == server.is_empty();
        }
        if path.contains(".cells[") && is_age(world) && is_age(server) {
            return true;
        }
        self.pairing.are_same_text(world, server)
    }

    fn objects(&mut self, path: &str, world: &Map<String, Value>, server: &Map<String, Value>) {
        if let (Some(ours), Some(theirs)) = (generated_name(world), generated_name(server)) {
            self.pairing.learn_name(ours, theirs);
        }
        let keys: BTreeSet<&String> = world.keys().chain(server.keys()).collect();
        for key in keys {
            let below = format!("{path}.{key}");
            match (world.get(key), server.get(key)) {
                (Some(Value::String(ours)), Some(Value::String(theirs))) if is_version(path, key) => {
                    let relation = relation(path, world);
                    let same = self.pairing.are_same_version(ours, theirs, relation);
                    self.one(&below, world.get(key), server.get(key), same);
                }
                (Some(Value::Array(ours)), Some(Value::Array(theirs))) if key == "managedFields" => {
                    self.lists(&below, &by_manager(ours), &by_manager(theirs));
                }
                // Go walks its maps in any order, and so do the causes that it finds there.
                (Some(Value::Array(ours)), Some(Value::Array(theirs))) if below.ends_with("details.causes") => {
                    self.lists(&below, &by_text(ours), &by_text(theirs));
                }
                (Some(Value::String(ours)), Some(Value::String(theirs))) if key == "message" && path == "body" => {
                    let same = self.pairing.are_same_text(ours, theirs)
                        || self.pairing.are_same_text(&in_order(ours), &in_order(theirs));
                    self.one(&below, world.get(key), server.get(key), same);
                }
                (Some(ours), Some(theirs)) => self.values(&below, ours, theirs),
                (None, Some(_)) if self.subset => {}
                (ours, theirs) => self.one(&below, ours, theirs, false),
            }
        }
    }

    fn lists(&mut self, path: &str, world: &[Value], server: &[Value]) {
        if self.subset && world.iter().chain(server).all(|item| identity(item).is_some()) {
            for ours in world {
                let name = identity(ours).unwrap_or_default();
                let below = format!("{path}[{name}]");
                match server.iter().find(|theirs| identity(theirs) == identity(ours)) {
                    Some(theirs) => self.values(&below, ours, theirs),
                    None => self.one(&below, Some(ours), None, false),
                }
            }
            return;
        }
        for index in 0..world.len().max(server.len()) {
            let below = format!("{path}[{index}]");
            match (world.get(index), server.get(index)) {
                (Some(ours), Some(theirs)) => self.values(&below, ours, theirs),
                (ours, theirs) => self.one(&below, ours, theirs, false),
            }
        }
    }
}

fn is_version(path: &str, key: &str) -> bool {
    key == "resourceVersion" && (path.ends_with("metadata") || path.ends_with("involvedObject"))
}

/// Lists, tables and bookmarks show the version of the whole store.
fn relation(path: &str, metadata: &Map<String, Value>) -> Relation {
    let of_an_object = metadata.contains_key("uid") || metadata.contains_key("name");
    if of_an_object && path != "body.table" { Relation::Strict } else { Relation::Loose }
}

fn generated_name(metadata: &Map<String, Value>) -> Option<&str> {
    let base = metadata.get("generateName")?.as_str()?;
    metadata.get("name")?.as_str().filter(|name| name.starts_with(base))
}

/// Entries made in one second stand in the order of their managers, else by time: so the order is a matter of chance.
fn by_manager(entries: &[Value]) -> Vec<Value> {
    let mut sorted = entries.to_vec();
    sorted.sort_by_key(|entry| {
        ["manager", "operation", "subresource", "apiVersion"]
            .map(|key| entry[key].as_str().unwrap_or_default().to_owned())
    });
    sorted
}

fn by_text(causes: &[Value]) -> Vec<Value> {
    let mut sorted = causes.to_vec();
    sorted.sort_by_key(ToString::to_string);
    sorted
}

/// The messages of several causes, `[a: x, b: y]`, in one order: each begins with a field and what is wrong with it.
fn in_order(message: &str) -> String {
    let Some((head, list)) = message.split_once(" is invalid: [") else { return message.to_owned() };
    let labels = ["Invalid value", "Required value", "Forbidden", "Unsupported value", "Duplicate value", "Too "];
    let mut parts: Vec<String> = Vec::new();
    for piece in list.trim_end_matches(']').split(", ") {
        let begins = piece.split_once(": ").is_some_and(|(field, said)| {
            !field.split('[').next().unwrap_or_default().contains(' ')
                && labels.iter().any(|label| said.starts_with(label))
        });
        match parts.last_mut() {
            Some(last) if !begins => *last = format!("{last}, {piece}"),
            _ => parts.push(piece.to_owned()),
        }
    }
    parts.sort();
    format!("{head} is invalid: [{}]", parts.join(", "))
}

/// What makes an item of a discovery document itself.
fn identity(item: &Value) -> Option<String> {
    for keys in [&["name"][..], &["resource"], &["groupVersion"], &["version"], &["metadata", "name"], &["subresource"]]
    {
        let found = keys.iter().try_fold(item, |at, key| at.get(key)).and_then(Value::as_str);
        if let Some(found) = found {
            return Some(found.to_owned());
        }
    }
    item.as_str().map(str::to_owned)
}

/// An age in a table: some seconds, whatever the two runs took.
fn is_age(text: &str) -> bool {
    let seconds = text.strip_suffix('s').is_some_and(|number| number.len() < 3 && number.parse::<u8>().is_ok());
    seconds || text.starts_with("1m")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn paths(world: Value, server: Value, subset: bool) -> Vec<String> {
        let reply = |body| Reply { status: 200, body, ..Reply::default() };
        let scope = Scope { subset, ..Scope::default() };
        let found = compare(&reply(world), &reply(server), &scope, &mut Pairing::default());
        found.differences.into_iter().map(|difference| difference.path).collect()
    }

    #[test]
    fn a_field_that_differs_or_is_missing_is_named_by_its_path() {
        let world = json!({ "a": { "b": [1, 2] }, "only": 1 });
        let server = json!({ "a": { "b": [1, 3, 4] }, "c": null });
        assert_eq!(paths(world, server, false), ["body.a.b[1]", "body.a.b[2]", "body.c", "body.only"]);
    }

    #[test]
    fn a_subset_matches_items_by_name_and_passes_over_the_rest() {
        let world = json!({ "resources": [{ "name": "pods", "kind": "Pod" }, { "name": "toys" }] });
        let server = json!({ "resources": [{ "name": "bindings" }, { "name": "pods", "kind": "Pods" }], "more": 1 });
        assert_eq!(paths(world, server, true), ["body.resources[pods].kind", "body.resources[toys]"]);
    }

    #[test]
    fn managers_of_one_object_are_compared_in_any_order() {
        let [one, two] = ["a", "b"].map(|manager| json!({ "manager": manager, "operation": "Update" }));
        let world = json!({ "metadata": { "managedFields": [one.clone(), two.clone()] } });
        let server = json!({ "metadata": { "managedFields": [two, one] } });
        assert!(paths(world, server, false).is_empty());
    }
}
