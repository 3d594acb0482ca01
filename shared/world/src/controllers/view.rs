//! The controllers' view of the store: every object, found by name, by uid, by owner, and pods by node.
//!
//! It follows the store's log; where the log was compacted away it lists again and works out what it missed.

use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::kinds::Kind;
use crate::api::store::{Change, ObjectKey, ResourceKey, Store, Stored};

/// A change, and of what.
#[derive(Debug, Clone)]
pub(super) struct Noticed {
    /// `None` for a custom resource.
    pub(super) kind: Option<Kind>,
    pub(super) place: Place,
    pub(super) change: Change,
}

/// Where an object stands: which collection, which key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) collection: usize,
    pub(super) key: ObjectKey,
}

#[derive(Debug)]
struct Collection {
    resource: ResourceKey,
    kind_name: String,
    namespaced: bool,
    objects: BTreeMap<ObjectKey, Arc<Stored>>,
    seen: Option<u64>,
}

#[derive(Debug)]
pub(super) struct View {
    collections: Vec<Collection>,
    revision: u64,
    uids: BTreeMap<String, Place>,
    owned: BTreeMap<String, BTreeSet<Place>>,
    pods_by_node: BTreeMap<String, BTreeSet<ObjectKey>>,
}

impl Default for View {
    fn default() -> Self {
        let collection = |kind: Kind| Collection {
            resource: kind.resource(),
            kind_name: kind.name().to_owned(),
            namespaced: kind.namespaced(),
            objects: BTreeMap::new(),
            seen: None,
        };
        let (uids, owned, pods_by_node) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        View { collections: Kind::all().map(collection).collect(), revision: 0, uids, owned, pods_by_node }
    }
}

impl View {
    pub(super) fn resource(&self, kind: Kind) -> &ResourceKey {
        &self.collections[kind as usize].resource
    }

    pub(super) fn resource_at(&self, place: &Place) -> Option<&ResourceKey> {
        self.collections.get(place.collection).map(|collection| &collection.resource)
    }

    pub(super) fn get(&self, kind: Kind, key: &ObjectKey) -> Option<&Arc<Stored>> {
        self.collections[kind as usize].objects.get(key)
    }

    pub(super) fn at(&self, place: &Place) -> Option<&Arc<Stored>> {
        self.collections.get(place.collection)?.objects.get(&place.key)
    }

    pub(super) fn all(&self, kind: Kind) -> impl Iterator<Item = (&ObjectKey, &Arc<Stored>)> {
        self.collections[kind as usize].objects.iter()
    }

    pub(super) fn in_namespace<'a>(
        &'a self,
        kind: Kind,
        namespace: &'a str,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a Arc<Stored>)> {
        let from = (namespace.to_owned(), String::new());
        self.collections[kind as usize].objects.range(from..).take_while(move |(key, _)| key.0 == namespace)
    }

    /// Whether objects of this kind are followed here.
    pub(super) fn knows(&self, api_version: &str, kind: &str) -> bool {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        self.collections.iter().any(|one| *one.resource.0 == *group && one.kind_name == kind)
    }

    pub(super) fn has_uid(&self, uid: &str) -> bool {
        self.uids.contains_key(uid)
    }

    pub(super) fn by_uid(&self, uid: &str) -> Option<&Place> {
        self.uids.get(uid)
    }

    /// Everything that names this uid as an owner.
    pub(super) fn owned_by(&self, uid: &str) -> impl Iterator<Item = &Place> {
        self.owned.get(uid).into_iter().flatten()
    }

    /// The objects of a kind that this uid controls.
    pub(super) fn controlled(&self, kind: Kind, uid: &str) -> Vec<(ObjectKey, Arc<Stored>)> {
        let places = self.owned_by(uid).filter(|place| place.collection == kind as usize);
        let objects = places.filter_map(|place| Some((place.key.clone(), self.at(place)?.clone())));
        objects.filter(|(_, stored)| super::fields::controller_uid(&stored.value) == Some(uid)).collect()
    }

    pub(super) fn pods_on(&self, node: &str) -> impl Iterator<Item = (&ObjectKey, &Arc<Stored>)> {
        let keys = self.pods_by_node.get(node).into_iter().flatten();
        keys.filter_map(|key| self.get(Kind::Pod, key).map(|stored| (key, stored)))
    }

    /// Everything in a namespace, custom resources too.
    pub(super) fn contents(&self, namespace: &str) -> Vec<Place> {
        let mut places = Vec::new();
        for (number, collection) in self.collections.iter().enumerate().filter(|(_, one)| one.namespaced) {
            let from = (namespace.to_owned(), String::new());
            let keys = collection.objects.range(from..).map(|(key, _)| key).take_while(|key| key.0 == namespace);
            places.extend(keys.map(|key| Place { collection: number, key: key.clone() }));
        }
        places
    }

    pub(super) fn pull(&mut self, store: &Store) -> Vec<Noticed> {
        let mut all = Vec::new();
        loop {
            let revision = store.revision();
            if revision == self.revision {
                return all;
            }
            let mut news = Vec::new();
            for number in 0..self.collections.len() {
                news.extend(self.news(store, number, revision));
            }
            news.sort_by_key(|noticed: &Noticed| noticed.change.revision);
            for noticed in &news {
                self.apply(noticed);
            }
            self.revision = revision;
            all.append(&mut news);
            self.follow_definitions(&all);
        }
    }

    /// What happened in one collection since the last look.
    fn news(&mut self, store: &Store, number: usize, revision: u64) -> Vec<Noticed> {
        let kind = Kind::all().nth(number);
        let collection = &mut self.collections[number];
        let told = collection.seen.and_then(|seen| store.changes_since(&collection.resource, seen).ok());
        let changes = match told {
            Some(changes) => {
                collection.seen = Some(changes.last().map_or(revision, |last| last.revision.max(revision)));
                changes
            }
            None => {
                let (listed, at) = store.list(&collection.resource, None);
                collection.seen = Some(at);
                missed(&collection.objects, &listed, at)
            }
        };
        let noticed =
            |change: Change| Noticed { kind, place: Place { collection: number, key: change.key.clone() }, change };
        changes.into_iter().map(noticed).collect()
    }

    fn apply(&mut self, noticed: &Noticed) {
        let Noticed { place, change, kind } = noticed;
        let objects = &mut self.collections[place.collection].objects;
        if let (false, Some(known)) = (change.deleted, objects.get_mut(&place.key))
            && is_filed_alike(&known.value, &change.after.value)
        {
            *known = change.after.clone();
            return;
        }
        if let Some(before) = self.collections[place.collection].objects.remove(&place.key) {
            self.forget(*kind, place, &before.value);
        }
        if !change.deleted {
            self.remember(*kind, place, &change.after.value);
            self.collections[place.collection].objects.insert(place.key.clone(), change.after.clone());
        }
    }

    fn remember(&mut self, kind: Option<Kind>, place: &Place, value: &Value) {
        if let Some(uid) = value["metadata"]["uid"].as_str() {
            self.uids.insert(uid.to_owned(), place.clone());
        }
        for owner in owner_uids(value) {
            self.owned.entry(owner.to_owned()).or_default().insert(place.clone());
        }
        if let (Some(Kind::Pod), Some(node)) = (kind, value["spec"]["nodeName"].as_str()) {
            self.pods_by_node.entry(node.to_owned()).or_default().insert(place.key.clone());
        }
    }

    fn forget(&mut self, kind: Option<Kind>, place: &Place, value: &Value) {
        if let Some(uid) = value["metadata"]["uid"].as_str() {
            self.uids.remove(uid);
        }
        for owner in owner_uids(value) {
            if let Some(places) = self.owned.get_mut(owner) {
                places.remove(place);
                if places.is_empty() {
                    self.owned.remove(owner);
                }
            }
        }
        if let (Some(Kind::Pod), Some(node)) = (kind, value["spec"]["nodeName"].as_str())
            && let Some(pods) = self.pods_by_node.get_mut(node)
        {
            pods.remove(&place.key);
            if pods.is_empty() {
                self.pods_by_node.remove(node);
            }
        }
    }

    /// A definition that appears brings a collection of its own; its objects come with the next look.
    fn follow_definitions(&mut self, news: &[Noticed]) {
        for noticed in news.iter().filter(|noticed| noticed.kind == Some(Kind::CustomResourceDefinition)) {
            let spec = &noticed.change.after.value["spec"];
            let (Some(group), Some(plural)) = (spec["group"].as_str(), spec["names"]["plural"].as_str()) else {
                continue;
            };
            let resource: ResourceKey = (group.into(), plural.into());
            if self.collections.iter().all(|collection| collection.resource != resource) {
                let namespaced = spec["scope"].as_str() == Some("Namespaced");
                let kind_name = spec["names"]["kind"].as_str().unwrap_or_default().to_owned();
                self.collections.push(Collection {
                    resource,
                    kind_name,
                    namespaced,
                    objects: BTreeMap::new(),
                    seen: None,
                });
                self.revision = 0;
            }
        }
    }
}

/// Whether two versions of an object are found in the same ways.
fn is_filed_alike(before: &Value, after: &Value) -> bool {
    let (old, new) = (&before["metadata"], &after["metadata"]);
    old["uid"] == new["uid"]
        && old["ownerReferences"] == new["ownerReferences"]
        && before["spec"]["nodeName"] == after["spec"]["nodeName"]
}

fn owner_uids(value: &Value) -> impl Iterator<Item = &str> {
    value["metadata"]["ownerReferences"].as_array().into_iter().flatten().filter_map(|owner| owner["uid"].as_str())
}

/// The changes that a log would have held between what was known and what is.
fn missed(known: &BTreeMap<ObjectKey, Arc<Stored>>, listed: &[(ObjectKey, Arc<Stored>)], at: u64) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut gone: BTreeSet<&ObjectKey> = known.keys().collect();
    for (key, after) in listed {
        gone.remove(key);
        let before = known.get(key).cloned();
        if before.as_ref().is_none_or(|before| before.revision != after.revision) {
            changes.push(Change {
                revision: after.revision,
                key: key.clone(),
                before,
                after: after.clone(),
                deleted: false,
            });
        }
    }
    for key in gone {
        if let Some(last) = known.get(key) {
            let before = Some(last.clone());
            changes.push(Change { revision: at, key: key.clone(), before, after: last.clone(), deleted: true });
        }
    }
    changes
}
