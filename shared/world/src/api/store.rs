//! The objects of the cluster: one revision counter, one log of changes a resource, nothing else.
//!
//! Guarantees: revisions only grow; a change and its place in the log are one step; a list can be rebuilt as it was
//! at any revision that the log still covers.

use bytes::Bytes;
use serde_json::Value;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};
use tokio::sync::watch;

/// A resource as it is stored: group and plural. Versions of a group share their objects.
pub type ResourceKey = (Arc<str>, Arc<str>);

/// Namespace (empty for cluster-wide objects) and name.
pub type ObjectKey = (String, String);

/// One version of one object. Never changed once it is stored.
#[derive(Debug)]
pub struct Stored {
    pub value: Value,
    pub revision: u64,
    json: OnceLock<Bytes>,
    bare: OnceLock<Bytes>,
}

impl Stored {
    fn new(value: Value, revision: u64) -> Arc<Self> {
        Arc::new(Stored { value, revision, json: OnceLock::new(), bare: OnceLock::new() })
    }

    /// A state that was only rehearsed (dry run): it has no revision.
    pub fn unsaved(value: Value) -> Arc<Self> {
        Stored::new(value, 0)
    }

    /// The object as JSON, written once however many watchers want it.
    pub fn json(&self) -> Bytes {
        self.json.get_or_init(|| Bytes::from(self.value.to_string())).clone()
    }

    /// The same without kind and version, as it stands in a list of its kind.
    pub fn bare_json(&self) -> Bytes {
        let write = || {
            let fields = self.value.as_object().into_iter().flatten();
            let mut text = String::from("{");
            for (name, value) in fields.filter(|(name, _)| *name != "kind" && *name != "apiVersion") {
                let comma = if text.len() > 1 { "," } else { "" };
                text.push_str(&format!("{comma}{}:{value}", Value::from(name.as_str())));
            }
            text.push('}');
            Bytes::from(text)
        };
        self.bare.get_or_init(write).clone()
    }
}

/// What happened to an object. Both sides are kept: a selector asks whether it matched before and whether it does now.
#[derive(Debug, Clone)]
pub struct Change {
    pub revision: u64,
    pub key: ObjectKey,
    pub before: Option<Arc<Stored>>,
    /// For a deletion, the last state with the revision of the deletion.
    pub after: Arc<Stored>,
    pub deleted: bool,
}

#[derive(Debug, Default)]
struct Collection {
    objects: BTreeMap<ObjectKey, Arc<Stored>>,
    log: VecDeque<Change>,
    /// Changes up to here have left the log.
    compacted: u64,
}

#[derive(Debug)]
struct State {
    revision: u64,
    collections: BTreeMap<ResourceKey, Collection>,
    most_changes: usize,
}

/// Cheap to clone; all clones are the same store.
#[derive(Debug, Clone)]
pub struct Store {
    state: Arc<Mutex<State>>,
    revision: Arc<watch::Sender<u64>>,
}

/// Why the log cannot answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    pub asked: u64,
    pub oldest: u64,
}

impl Store {
    /// Keeps this many changes of each resource; older ones are compacted away.
    pub fn new(most_changes: usize) -> Self {
        let state = State { revision: 1, collections: BTreeMap::new(), most_changes };
        Store { state: Arc::new(Mutex::new(state)), revision: Arc::new(watch::channel(1).0) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves the maps whole: every change below is one insertion at the end of a step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn revision(&self) -> u64 {
        self.lock().revision
    }

    /// Told of every new revision.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    pub fn get(&self, resource: &ResourceKey, key: &ObjectKey) -> Option<Arc<Stored>> {
        self.lock().collections.get(resource)?.objects.get(key).cloned()
    }

    /// All objects of a resource, in a namespace or everywhere, with the revision at which this was so.
    pub fn list(&self, resource: &ResourceKey, namespace: Option<&str>) -> (Vec<(ObjectKey, Arc<Stored>)>, u64) {
        let state = self.lock();
        let objects = state.collections.get(resource).map(|collection| in_namespace(&collection.objects, namespace));
        (objects.unwrap_or_default(), state.revision)
    }

    /// The same, as it was at a revision that the log still covers.
    pub fn list_at(
        &self,
        resource: &ResourceKey,
        namespace: Option<&str>,
        revision: u64,
    ) -> Result<Vec<(ObjectKey, Arc<Stored>)>, Compacted> {
        let state = self.lock();
        let Some(collection) = state.collections.get(resource) else { return Ok(Vec::new()) };
        if revision < collection.compacted {
            return Err(Compacted { asked: revision, oldest: collection.compacted });
        }
        let mut objects = collection.objects.clone();
        for change in collection.log.iter().rev().take_while(|change| change.revision > revision) {
            match &change.before {
                Some(before) => _ = objects.insert(change.key.clone(), before.clone()),
                None => _ = objects.remove(&change.key),
            }
        }
        Ok(in_namespace(&objects, namespace))
    }

    /// Everything after a revision.
    pub fn changes_since(&self, resource: &ResourceKey, revision: u64) -> Result<Vec<Change>, Compacted> {
        self.read_log(resource, revision).map(|(changes, _)| changes)
    }

    /// The same, with the revision up to which this is everything.
    pub fn read_log(&self, resource: &ResourceKey, revision: u64) -> Result<(Vec<Change>, u64), Compacted> {
        let state = self.lock();
        let Some(collection) = state.collections.get(resource) else { return Ok((Vec::new(), state.revision)) };
        if revision < collection.compacted {
            return Err(Compacted { asked: revision, oldest: collection.compacted });
        }
        let start = collection.log.partition_point(|change| change.revision <= revision);
        Ok((collection.log.iter().skip(start).cloned().collect(), state.revision))
    }

    /// Looks at an object and decides, in one step, what becomes of it. `None` for the new state keeps it as it is.
    pub fn change<T>(
        &self,
        resource: &ResourceKey,
        key: &ObjectKey,
        decide: impl FnOnce(Option<&Arc<Stored>>, u64) -> (Option<Next>, T),
    ) -> (T, Option<Arc<Stored>>) {
        let mut state = self.lock();
        let revision = state.revision + 1;
        let most_changes = state.most_changes;
        let before = state.collections.get(resource).and_then(|collection| collection.objects.get(key)).cloned();
        let (next, result) = decide(before.as_ref(), revision);
        let Some(next) = next else { return (result, None) };
        let collection = state.collections.entry(resource.clone()).or_default();
        let (after, deleted) = match next {
            Next::Write(value) => (Stored::new(stamped(value, revision), revision), false),
            Next::Remove(value) => (Stored::new(stamped(value, revision), revision), true),
        };
        if deleted {
            collection.objects.remove(key);
        } else {
            collection.objects.insert(key.clone(), after.clone());
        }
        let change = Change { revision, key: key.clone(), before, after: after.clone(), deleted };
        collection.log.push_back(change);
        while collection.log.len() > most_changes {
            collection.compacted = collection.log.pop_front().map_or(collection.compacted, |change| change.revision);
        }
        state.revision = revision;
        drop(state);
        self.revision.send_replace(revision);
        (result, Some(after))
    }

    /// Forgets the log up to now, as etcd's compaction does: watches that lag behind must list again.
    pub fn compact(&self) {
        let mut state = self.lock();
        let revision = state.revision;
        for collection in state.collections.values_mut() {
            collection.log.clear();
            collection.compacted = revision;
        }
    }
}

/// The new state of an object.
pub enum Next {
    Write(Value),
    /// Gone; the value is its last state, for watchers.
    Remove(Value),
}

fn in_namespace(objects: &BTreeMap<ObjectKey, Arc<Stored>>, namespace: Option<&str>) -> Vec<(ObjectKey, Arc<Stored>)> {
    let pair = |(key, stored): (&ObjectKey, &Arc<Stored>)| (key.clone(), stored.clone());
    match namespace {
        None => objects.iter().map(pair).collect(),
        Some(namespace) => {
            let from = (namespace.to_owned(), String::new());
            objects.range(from..).take_while(|((found, _), _)| found == namespace).map(pair).collect()
        }
    }
}

fn stamped(mut value: Value, revision: u64) -> Value {
    if let Some(Value::Object(metadata)) = value.get_mut("metadata") {
        metadata.insert("resourceVersion".to_owned(), revision.to_string().into());
    }
    value
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pods() -> ResourceKey {
        ("".into(), "pods".into())
    }

    fn key(namespace: &str, name: &str) -> ObjectKey {
        (namespace.to_owned(), name.to_owned())
    }

    fn write(store: &Store, key: &ObjectKey, value: Value) -> u64 {
        store.change(&pods(), key, |_, _| (Some(Next::Write(value)), ())).1.unwrap().revision
    }

    #[test]
    fn a_list_can_be_had_as_it_was() {
        let store = Store::new(100);
        let first = write(&store, &key("a", "x"), json!({ "metadata": {}, "n": 1 }));
        let second = write(&store, &key("a", "y"), json!({ "metadata": {}, "n": 1 }));
        write(&store, &key("a", "x"), json!({ "metadata": {}, "n": 2 }));
        store.change(&pods(), &key("a", "y"), |before, _| (Some(Next::Remove(before.unwrap().value.clone())), ()));
        let names = |revision| {
            store.list_at(&pods(), Some("a"), revision).map(|list| {
                list.into_iter().map(|(key, stored)| (key.1, stored.value["n"].clone())).collect::<Vec<_>>()
            })
        };
        assert_eq!(names(first).unwrap(), [("x".to_owned(), json!(1))]);
        assert_eq!(names(second).unwrap(), [("x".to_owned(), json!(1)), ("y".to_owned(), json!(1))]);
        assert_eq!(names(store.revision()).unwrap(), [("x".to_owned(), json!(2))]);
    }

    #[test]
    fn what_was_compacted_is_not_made_up() {
        let store = Store::new(2);
        let first = write(&store, &key("a", "x"), json!({ "metadata": {} }));
        for _ in 0..3 {
            write(&store, &key("a", "x"), json!({ "metadata": {} }));
        }
        assert!(store.changes_since(&pods(), first).is_err());
        assert!(store.list_at(&pods(), None, first).is_err());
        assert_eq!(store.changes_since(&pods(), store.revision() - 2).unwrap().len(), 2);
    }

    #[test]
    fn a_namespace_is_not_its_neighbour() {
        let store = Store::new(10);
        write(&store, &key("a", "x"), json!({ "metadata": {} }));
        write(&store, &key("ab", "y"), json!({ "metadata": {} }));
        write(&store, &key("", "z"), json!({ "metadata": {} }));
        assert_eq!(store.list(&pods(), Some("a")).0.len(), 1);
        assert_eq!(store.list(&pods(), None).0.len(), 3);
    }
}
