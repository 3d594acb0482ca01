//! Garbage collection by owner references: background, foreground and orphaning.

use serde_json::Value;
use std::collections::BTreeSet;

use super::{
    Controller,
    context::Context,
    fields,
    view::{Noticed, Place},
};
use crate::api::objects::{Deletion, Propagation};

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

#[derive(Debug, Default)]
pub(super) struct Garbage {
    /// Objects whose owners may be gone.
    dependents: BTreeSet<Place>,
    /// Objects that are going and wait for, or must let go of, what they own.
    owners: BTreeSet<Place>,
}

impl Controller for Garbage {
    fn notice(&mut self, context: &Context, noticed: &Noticed) {
        let change = &noticed.change;
        let after = &change.after.value;
        if change.deleted {
            self.dependents.extend(context.view.owned_by(fields::uid(after)).cloned());
            self.note_owners(context, after);
            return;
        }
        let before = change.before.as_ref().map(|before| &before.value);
        let references = &after["metadata"]["ownerReferences"];
        if before.is_none_or(|before| before["metadata"]["ownerReferences"] != *references) {
            if !fields::list(references).is_empty() {
                self.dependents.insert(noticed.place.clone());
            }
            if let Some(before) = before {
                self.note_owners(context, before);
            }
        }
        if fields::is_going(after) && (has_finalizer(after, FOREGROUND) || has_finalizer(after, ORPHAN)) {
            self.owners.insert(noticed.place.clone());
        }
    }

    fn work(&mut self, context: &mut Context) {
        for place in std::mem::take(&mut self.owners) {
            let Some(owner) = context.view.at(&place).cloned() else { continue };
            if has_finalizer(&owner.value, ORPHAN) {
                orphan(context, &place, fields::uid(&owner.value));
            } else if has_finalizer(&owner.value, FOREGROUND) {
                delete_in_foreground(context, &place, fields::uid(&owner.value));
            }
        }
        for place in std::mem::take(&mut self.dependents) {
            collect(context, &place);
        }
    }
}

impl Garbage {
    /// A dependent went or changed its owners: one of them may have waited for that.
    fn note_owners(&mut self, context: &Context, dependent: &Value) {
        for owner in fields::list(&dependent["metadata"]["ownerReferences"]) {
            if let Some(place) = owner["uid"].as_str().and_then(|uid| context.view.by_uid(uid))
                && context.view.at(place).is_some_and(|owner| fields::is_going(&owner.value))
            {
                self.owners.insert(place.clone());
            }
        }
    }
}

/// Deletes an object whose owners are all gone; takes the gone ones off an object that has others.
fn collect(context: &mut Context, place: &Place) {
    let Some(stored) = context.view.at(place).cloned() else { return };
    if fields::is_going(&stored.value) {
        return;
    }
    let owners = fields::list(&stored.value["metadata"]["ownerReferences"]);
    // An owner of a kind nobody here knows may well exist.
    let is_gone = |owner: &Value| {
        let known = context
            .view
            .knows(owner["apiVersion"].as_str().unwrap_or_default(), owner["kind"].as_str().unwrap_or_default());
        known && owner["uid"].as_str().is_none_or(|uid| !context.view.has_uid(uid))
    };
    let gone: Vec<&Value> = owners.iter().filter(|owner| is_gone(owner)).collect();
    let Some(resource) = context.view.resource_at(place) else { return };
    if gone.is_empty() {
        return;
    }
    if gone.len() == owners.len() {
        let deletion = Deletion { uid: Some(fields::uid(&stored.value).to_owned()), ..Deletion::default() };
        _ = context.objects.delete(resource, &place.key.0, &place.key.1, &deletion);
        return;
    }
    let gone: Vec<Value> = gone.into_iter().map(|owner| owner["uid"].clone()).collect();
    remove_owners(context, place, &gone);
}

fn remove_owners(context: &Context, place: &Place, uids: &[Value]) {
    let Some(resource) = context.view.resource_at(place) else { return };
    // An object that vanished meanwhile has no owners either.
    _ = context.objects.update(resource, &place.key.0, &place.key.1, false, |value| {
        if let Some(owners) = value["metadata"]["ownerReferences"].as_array_mut() {
            owners.retain(|owner| !uids.contains(&owner["uid"]));
        }
        if fields::list(&value["metadata"]["ownerReferences"]).is_empty()
            && let Some(metadata) = value["metadata"].as_object_mut()
        {
            metadata.remove("ownerReferences");
        }
        Ok(())
    });
}

fn orphan(context: &Context, owner: &Place, uid: &str) {
    let dependents: Vec<Place> = context.view.owned_by(uid).cloned().collect();
    for dependent in dependents {
        remove_owners(context, &dependent, &[uid.into()]);
    }
    remove_finalizer(context, owner, ORPHAN);
}

/// Deletes what an object owns and lets the object go once nothing that blocks it is left.
fn delete_in_foreground(context: &Context, owner: &Place, uid: &str) {
    let mut blocked = false;
    let dependents: Vec<Place> = context.view.owned_by(uid).cloned().collect();
    for dependent in dependents.iter().filter(|dependent| !context.is_gone(dependent)) {
        let Some(stored) = context.view.at(dependent) else { continue };
        let owners = fields::list(&stored.value["metadata"]["ownerReferences"]);
        let blocks = owners.iter().any(|owner| owner["uid"] == *uid && owner["blockOwnerDeletion"] == true);
        let solid = |owner: &&Value| {
            let other =
                owner["uid"].as_str().filter(|other| *other != uid).and_then(|other| context.view.by_uid(other));
            other.and_then(|place| context.view.at(place)).is_some_and(|other| !fields::is_going(&other.value))
        };
        if owners.iter().any(|owner| solid(&owner)) {
            remove_owners(context, dependent, &[uid.into()]);
            continue;
        }
        if let (false, Some(resource)) = (fields::is_going(&stored.value), context.view.resource_at(dependent)) {
            let deletion = Deletion { propagation: Propagation::Foreground, ..Deletion::default() };
            _ = context.objects.delete(resource, &dependent.key.0, &dependent.key.1, &deletion);
        }
        blocked |= blocks && !context.is_gone(dependent);
    }
    if !blocked {
        remove_finalizer(context, owner, FOREGROUND);
    }
}

fn has_finalizer(value: &Value, finalizer: &str) -> bool {
    fields::list(&value["metadata"]["finalizers"]).iter().any(|one| one == finalizer)
}

fn remove_finalizer(context: &Context, place: &Place, finalizer: &str) {
    let Some(resource) = context.view.resource_at(place) else { return };
    _ = context.objects.update(resource, &place.key.0, &place.key.1, false, |value| {
        fields::remove_finalizer(value, finalizer);
        Ok(())
    });
}
