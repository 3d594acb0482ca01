//! The life of an object, whoever changes it: identity, generation, graceful deletion, finalizers.
//!
//! The HTTP verbs and the cluster's own controllers both come here, so that neither can do what the other cannot.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use std::sync::Arc;

use super::{
    status::{About, Failure},
    store::{Next, ObjectKey, ResourceKey, Store, Stored},
};
use crate::{chance::Chance, clock::Clock, resources::kinds::Resource};

/// The objects of a cluster and what gives them identity and time.
#[derive(Debug, Clone)]
pub struct Objects {
    pub store: Store,
    pub clock: Clock,
    chance: Chance,
}

/// How an object is to go.
#[derive(Debug, Clone, Default)]
pub struct Deletion {
    pub uid: Option<String>,
    pub resource_version: Option<String>,
    /// Seconds; absent means the object's own.
    pub grace: Option<i64>,
    pub propagation: Propagation,
    pub dry_run: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Propagation {
    #[default]
    Background,
    Foreground,
    Orphan,
}

/// What became of a deletion.
#[derive(Debug, Clone)]
pub enum Deleted {
    /// It is gone; this was its last state.
    Gone(Arc<Stored>),
    /// It waits for its grace period or finalizers.
    Going(Arc<Stored>),
}

/// What a write did.
#[derive(Debug, Clone)]
pub struct Written {
    pub stored: Arc<Stored>,
    /// False where the write changed nothing, so there is no new revision.
    pub changed: bool,
}

impl Objects {
    pub fn new(store: Store, clock: Clock, chance: Chance) -> Self {
        Objects { store, clock, chance }
    }

    pub fn get(&self, resource: &ResourceKey, namespace: &str, name: &str) -> Option<Arc<Stored>> {
        self.store.get(resource, &key(namespace, name))
    }

    pub fn list(&self, resource: &ResourceKey) -> Vec<Arc<Stored>> {
        self.store.list(resource, None).0.into_iter().map(|(_, stored)| stored).collect()
    }

    /// The time as objects carry it: whole seconds.
    pub fn now(&self) -> String {
        seconds(self.clock.now())
    }

    /// Gives a new object its identity. The name must be there or be asked for with `generateName`.
    pub fn prepare(&self, value: &mut Value) {
        let now = self.now();
        let metadata = metadata_of(value);
        let prefix = metadata.get("generateName").and_then(Value::as_str).map(str::to_owned);
        let unnamed = metadata.get("name").and_then(Value::as_str).is_none_or(str::is_empty);
        if let Some(prefix) = prefix.filter(|prefix| unnamed && !prefix.is_empty()) {
            let kept: String = prefix.chars().take(58).collect();
            metadata.insert("name".to_owned(), format!("{kept}{}", self.suffix()).into());
        }
        metadata.insert("uid".to_owned(), self.chance.uuid().into());
        metadata.insert("creationTimestamp".to_owned(), now.into());
        for never_set in ["resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
            metadata.remove(never_set);
        }
    }

    /// Five letters that make a name unique. Vowels and look-alikes are left out, so that no word appears by chance.
    pub fn suffix(&self) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        (0..5).map(|_| char::from(LETTERS[self.chance.below(LETTERS.len() as u64) as usize])).collect()
    }

    /// Where etcd would keep an object: some refusals say it.
    pub fn path(&self, resource: &Resource, namespace: &str, name: &str) -> String {
        let place = match (resource.group.as_str(), resource.plural.as_str()) {
            ("", "nodes") => "minions".to_owned(),
            ("", "services") => "services/specs".to_owned(),
            (group, plural) if resource.custom.is_some() || group == "apiextensions.k8s.io" => {
                format!("{group}/{plural}")
            }
            (_, plural) => plural.to_owned(),
        };
        let inside = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
        format!("/registry/{place}/{inside}{name}")
    }

    /// Stores a new object that has been [prepared](Self::prepare), unless its name is taken.
    pub fn create(&self, resource: &ResourceKey, value: Value, dry_run: bool) -> Result<Arc<Stored>, Failure> {
        let (namespace, name) = (text(&value, "namespace"), text(&value, "name"));
        let taken = Failure::already_exists(About { group: &resource.0, resource: &resource.1, name: &name });
        let (result, stored) = self.store.change(resource, &key(&namespace, &name), |before, _| match before {
            Some(_) => (None, Err(taken)),
            None if dry_run => (None, Ok(value.clone())),
            None => (Some(Next::Write(value.clone())), Ok(Value::Null)),
        });
        result.map(|rehearsed| stored.unwrap_or_else(|| Stored::unsaved(rehearsed)))
    }

    /// Changes an object in one step. `change` sees the present state and may refuse; what it cannot change
    /// (identity, deletion) is put back. An object that is being deleted and loses its last finalizer goes.
    pub fn update(
        &self,
        resource: &ResourceKey,
        namespace: &str,
        name: &str,
        dry_run: bool,
        change: impl FnOnce(&mut Value) -> Result<(), Failure>,
    ) -> Result<Written, Failure> {
        let missing = Failure::not_found(About { group: &resource.0, resource: &resource.1, name });
        let (result, stored) = self.store.change(resource, &key(namespace, name), |before, _| {
            let Some(before) = before else { return (None, Err(missing)) };
            let mut after = before.value.clone();
            if let Err(failure) = change(&mut after) {
                return (None, Err(failure));
            }
            keep_identity(&before.value, &mut after);
            count_generation(&before.value, &mut after);
            if after == before.value {
                return (None, Ok(Written { stored: before.clone(), changed: false }));
            }
            let unsaved = Written { stored: Stored::unsaved(after.clone()), changed: true };
            if dry_run {
                return (None, Ok(unsaved));
            }
            let next = if is_finished(&after) { Next::Remove(after) } else { Next::Write(after) };
            (Some(next), Ok(unsaved))
        });
        // Who takes the last finalizer away sees the version that was never written; watchers see that of the removal.
        let stored = stored.filter(|stored| !is_finished(&stored.value));
        result.map(|written| Written { stored: stored.unwrap_or(written.stored), changed: written.changed })
    }

    /// Begins or finishes a deletion, as far as grace period, finalizers and propagation allow.
    pub fn delete(
        &self,
        resource: &ResourceKey,
        namespace: &str,
        name: &str,
        deletion: &Deletion,
    ) -> Result<Deleted, Failure> {
        let about = About { group: &resource.0, resource: &resource.1, name };
        let now = self.clock.now();
        let (result, stored) = self.store.change(resource, &key(namespace, name), |before, _| {
            let Some(before) = before else { return (None, Err(Failure::not_found(about))) };
            if let Err(failure) = preconditions(about, &before.value, deletion) {
                return (None, Err(failure));
            }
            let mut after = before.value.clone();
            let grace = grace_seconds(resource, &before.value, deletion);
            add_propagation_finalizer(&mut after, deletion.propagation);
            let waits = grace > 0 || has_finalizers(&after);
            if waits || is_graceful(resource) {
                mark_deleted(&mut after, now, grace);
            }
            let unchanged = after == before.value;
            let last = Stored::unsaved(after.clone());
            // What is deleted gracefully is seen once more before it goes, with no time left.
            let once_more = !waits && is_graceful(resource) && !unchanged;
            match (waits || once_more, deletion.dry_run || (waits && unchanged)) {
                (true, true) if waits => (None, Ok(Deleted::Going(last))),
                (_, true) => (None, Ok(Deleted::Gone(last))),
                (true, false) => (Some(Next::Write(after)), Ok(Deleted::Going(last))),
                (false, false) => (Some(Next::Remove(after)), Ok(Deleted::Gone(last))),
            }
        });
        match (result?, stored) {
            (Deleted::Going(_), Some(stored)) if is_finished(&stored.value) => {
                let again = Deletion { uid: Some(text(&stored.value, "uid")), ..Deletion::default() };
                self.delete(resource, namespace, name, &again)
            }
            (Deleted::Going(_), Some(stored)) => Ok(Deleted::Going(stored)),
            (Deleted::Gone(_), Some(stored)) => Ok(Deleted::Gone(stored)),
            (answer, None) => Ok(answer),
        }
    }
}

pub fn key(namespace: &str, name: &str) -> ObjectKey {
    (namespace.to_owned(), name.to_owned())
}

/// A time as objects carry it.
pub fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub fn text(value: &Value, field: &str) -> String {
    value["metadata"][field].as_str().unwrap_or_default().to_owned()
}

/// The metadata of an object; one that has none gets it.
fn metadata_of(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    let metadata = &mut value["metadata"];
    if !metadata.is_object() {
        *metadata = Value::Object(Map::new());
    }
    metadata.as_object_mut().unwrap_or_else(|| unreachable!("made an object above"))
}

/// Whether somebody still holds it. A namespace has finalizers of its own in its spec: until it is empty.
fn has_finalizers(value: &Value) -> bool {
    let some = |list: &Value| list.as_array().is_some_and(|list| !list.is_empty());
    some(&value["metadata"]["finalizers"]) || (value["kind"] == "Namespace" && some(&value["spec"]["finalizers"]))
}

/// Being deleted, past its grace period, and nobody holds it any more.
fn is_finished(value: &Value) -> bool {
    let metadata = &value["metadata"];
    let grace = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
    metadata["deletionTimestamp"].is_string() && grace == 0 && !has_finalizers(value)
}

fn keep_identity(before: &Value, after: &mut Value) {
    let kept = metadata_of(after);
    let fixed = [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "name",
        "namespace",
        "generateName",
        "resourceVersion",
        "generation",
    ];
    for field in fixed {
        match before["metadata"].get(field) {
            Some(value) => _ = kept.insert(field.to_owned(), value.clone()),
            None => _ = kept.remove(field),
        }
    }
}

/// A generation counts what was asked for: everything but metadata and status.
fn count_generation(before: &Value, after: &mut Value) {
    let Some(generation) = before["metadata"]["generation"].as_i64() else { return };
    // A priority class has one and never counts it.
    if before["kind"] == "PriorityClass" {
        return;
    }
    let asked = |value: &Value| {
        let mut asked = value.as_object().cloned().unwrap_or_default();
        asked.remove("metadata");
        asked.remove("status");
        // Where a pod runs is decided, not asked for.
        if let (Some("Pod"), Some(spec)) = (value["kind"].as_str(), asked.get_mut("spec")) {
            spec["nodeName"] = Value::Null;
        }
        asked
    };
    if asked(before) != asked(after) {
        metadata_of(after).insert("generation".to_owned(), (generation + 1).into());
    }
}

fn preconditions(about: About<'_>, value: &Value, deletion: &Deletion) -> Result<(), Failure> {
    // The kind stands here where other refusals name the resource.
    let about = About { resource: value["kind"].as_str().unwrap_or_default(), ..about };
    let check = |field: &str, shown: &str, wanted: &Option<String>, what: &str| match wanted {
        Some(wanted) if *wanted != text(value, field) => {
            let found = text(value, field);
            let why = format!(
                "the {shown} in the precondition ({wanted}) does not match the {shown} in record ({found}). The object \
                 might have been {what}"
            );
            Err(Failure::conflict(about, &why))
        }
        _ => Ok(()),
    };
    check("uid", "UID", &deletion.uid, "deleted and then recreated")?;
    check("resourceVersion", "ResourceVersion", &deletion.resource_version, "modified")
}

/// Only pods are deleted gracefully, and only while a kubelet has to stop them. A period can only become shorter.
fn grace_seconds(resource: &ResourceKey, value: &Value, deletion: &Deletion) -> i64 {
    if !is_graceful(resource) {
        return 0;
    }
    let running = value["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
    let over = matches!(value["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    if !running || over {
        return 0;
    }
    let own = value["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(30);
    let asked = deletion.grace.unwrap_or(own).max(0);
    match value["metadata"]["deletionGracePeriodSeconds"].as_i64() {
        Some(already) => asked.min(already),
        None => asked,
    }
}

fn is_graceful(resource: &ResourceKey) -> bool {
    (&*resource.0, &*resource.1) == ("", "pods")
}

fn add_propagation_finalizer(value: &mut Value, propagation: Propagation) {
    let finalizer = match propagation {
        Propagation::Background => return,
        Propagation::Foreground => "foregroundDeletion",
        Propagation::Orphan => "orphan",
    };
    let metadata = metadata_of(value);
    let list = metadata.entry("finalizers").or_insert_with(|| json!([]));
    if let Value::Array(list) = list {
        // The last word counts: who orphans does not wait for dependents, and the other way round.
        list.retain(|one| one == finalizer || (one != "orphan" && one != "foregroundDeletion"));
        if !list.iter().any(|one| one == finalizer) {
            list.push(finalizer.into());
        }
    }
}

fn mark_deleted(value: &mut Value, now: Timestamp, grace: i64) {
    let has_generation = value["metadata"]["generation"].as_i64();
    let is_namespace = value["kind"] == "Namespace";
    let metadata = metadata_of(value);
    let shorter =
        metadata.get("deletionGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|already| grace < already);
    let first = !metadata.contains_key("deletionTimestamp");
    if first || shorter {
        let at = now.checked_add(SignedDuration::from_secs(grace)).unwrap_or(now);
        metadata.insert("deletionTimestamp".to_owned(), seconds(at).into());
        if !is_namespace {
            metadata.insert("deletionGracePeriodSeconds".to_owned(), grace.into());
        }
    }
    if is_namespace {
        value["status"]["phase"] = "Terminating".into();
        return;
    }
    let metadata = metadata_of(value);
    if let Some(generation) = has_generation.filter(|_| first) {
        metadata.insert("generation".to_owned(), (generation + 1).into());
    }
}
