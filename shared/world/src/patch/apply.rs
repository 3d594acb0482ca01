//! Server-side apply, and who manages which field after any other write.
use std::borrow::Cow;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::combine::{merged, without};
use super::compare::{Comparison, compare, fields_of};
use super::fields::{FieldSet, Path, printed};
use super::managed::{self, Entry, Managed, ManagerId};
use super::normalise::{blank, normalised};
use super::schema_of::{Schema, printed_kind};
use super::walk::same;
use super::{PatchError, last_applied, validate};

/// Who writes, and through which door.
#[derive(Debug, Clone)]
pub struct Manager<'a> {
    /// The field manager of the request, or what stands before the slash in its user agent.
    pub name: &'a str,
    /// Empty for the resource itself.
    pub subresource: &'a str,
    /// What this door leaves as it is, so that nobody comes to manage it by writing through it.
    pub ignored: &'a FieldSet,
}

/// A conflict: a field that would change, and who manages it.
type Conflict = (ManagerId, Path);

/// Why an application came to nothing: it is wrong in itself, or others manage what it wants to set.
pub(crate) enum Refusal {
    Error(PatchError),
    Conflicts(Vec<Conflict>),
}

/// Applies a configuration to the live object, or to none for a create, and returns the object to store.
///
/// The result is not defaulted. When the application changes no field, it keeps the old times.
pub fn apply(
    live: Option<&Value>,
    config: &Value,
    manager: &Manager<'_>,
    force: bool,
    schema: &Schema,
    now: &str,
) -> Result<Value, PatchError> {
    check_config(config, schema)?;
    let live = live.map_or_else(|| blank(schema), |live| normalised(schema, live.clone()));
    let attempt = Attempt { live: &live, config, manager, schema, now };
    let applied = match attempt.run(force) {
        Err(Refusal::Conflicts(conflicts)) if last_applied::is_upgraded_for(manager) => {
            let left = last_applied::unexplained(conflicts, &live, schema);
            if left.is_empty() { attempt.run(true) } else { Err(Refusal::Conflicts(left)) }
        }
        other => other,
    };
    let mut object = applied.map_err(|refusal| match refusal {
        Refusal::Error(error) => error,
        Refusal::Conflicts(conflicts) => conflict_error(&conflicts),
    })?;
    if last_applied::is_upgraded_for(manager) {
        last_applied::refresh(&mut object, config);
    }
    Ok(object)
}

/// Brings the entries of `new` up to date after a create, an update or a patch that is no apply.
///
/// `new` is what will be stored; `old` is what is stored, and so has been through here before, or nothing for a
/// create.
pub fn track_update(old: Option<&Value>, new: Value, manager: &Manager<'_>, schema: &Schema, now: &str) -> Value {
    let created = old.is_none();
    let old = old.map_or_else(|| Cow::Owned(blank(schema)), Cow::Borrowed);
    let mut managed = entries_after(&old, &new, manager);
    let mut new = normalised(schema, new);
    managed::strip(&mut new);
    // An object that lived without entries goes on without them until it is first applied to.
    let untracked = managed.is_empty() && !created && old.pointer("/metadata/uid").is_some();
    if !untracked {
        record_update(&mut managed, &old, &new, manager, schema, now);
        managed::cap_updaters(&mut managed);
    }
    managed::encode(&mut new, &managed);
    new
}

/// The entries a write starts from: those it brings along, else those of the live object.
fn entries_after(old: &Value, new: &Value, manager: &Manager<'_>) -> Managed {
    let of_old = || managed::decode(old).unwrap_or_default();
    if !manager.subresource.is_empty() {
        return of_old();
    }
    if managed::is_reset(new) {
        return Managed::new();
    }
    managed::decode(new).ok().filter(|managed| !managed.is_empty()).unwrap_or_else(of_old)
}

fn check_config(config: &Value, schema: &Schema) -> Result<(), PatchError> {
    let text = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if api_version != schema.api_version || kind != schema.kind {
        return Err(PatchError::bad_request(format!("invalid object type: {}", printed_kind(api_version, kind))));
    }
    if config.pointer("/metadata/managedFields").is_some_and(|entries| !entries.is_null()) {
        return Err(PatchError::bad_request("metadata.managedFields must be nil"));
    }
    Ok(())
}

/// Whether a configuration fits its schema, as it was sent.
pub fn check_shape(config: &Value, schema: &Schema) -> Result<(), PatchError> {
    check_config(config, schema)?;
    match validate::complaint(schema, config) {
        None => Ok(()),
        Some(complaint) => {
            let subject = printed_subject(config, schema);
            Err(PatchError::internal(format!("failed to create typed patch object ({subject}): {complaint}")))
        }
    }
}

struct Attempt<'a> {
    live: &'a Value,
    config: &'a Value,
    manager: &'a Manager<'a>,
    schema: &'a Schema,
    now: &'a str,
}

impl Attempt<'_> {
    fn run(&self, force: bool) -> Result<Value, Refusal> {
        let Self { config, manager, schema, now, .. } = *self;
        let internal = |text: String| Refusal::Error(PatchError::internal(text));
        let decoded = managed::decode(self.live);
        let mut managed = decoded.map_err(|text| internal(format!("failed to decode managed fields: {text}")))?;
        let mut live = self.live.clone();
        managed::strip(&mut live);
        if managed.is_empty() {
            let before = Manager { name: "before-first-apply", ..manager.clone() };
            record_update(&mut managed, &blank(schema), &live, &before, schema, now);
        }
        if let Some(complaint) = validate::complaint(schema, config) {
            let subject = printed_subject(config, schema);
            return Err(internal(format!("failed to create typed patch object ({subject}): {complaint}")));
        }
        managed.retain(|_, entry| schema.knows_version(&entry.api_version));
        let id = ManagerId::applier(manager.name, manager.subresource);
        let set = fields_of(schema, config).difference_with_all_below(manager.ignored);
        let last = managed.remove(&id);
        let time = last.as_ref().and_then(|entry| entry.time.clone());
        managed.insert(id.clone(), Entry { set, api_version: schema.api_version.clone(), time });

        let laid_over =
            merged(schema, &live, config).map_err(|text| internal(format!("failed to merge config: {text}")))?;
        let new = match &last {
            Some(last) if !last.set.is_empty() => prune(schema, &laid_over, &managed, &last.set),
            _ => laid_over,
        };
        let comparison = compare(schema, &live, &new).without(manager.ignored);
        let conflicts = take_from_others(&mut managed, &comparison, Some(&id));
        if !force && !conflicts.is_empty() {
            return Err(Refusal::Conflicts(conflicts));
        }
        let unchanged = same(&live, &new);
        let stored = if unchanged { live } else { normalised(schema, new) };
        if let Some(entry) = managed.get_mut(&id)
            && !unchanged
        {
            entry.time = Some(now.to_owned());
        }
        forget_untracked(&mut managed, &id);
        let mut stored = stored;
        managed::encode(&mut stored, &managed);
        Ok(stored)
    }
}

/// Takes out what the manager applied last time, does not apply now, and nobody else manages.
fn prune(schema: &Schema, object: &Value, managed: &Managed, last: &FieldSet) -> Value {
    let declared = |set: &FieldSet| set.with_declared_fields(schema, schema.root());
    let everything = declared(&fields_of(schema, object));
    let wanted = managed.values().fold(FieldSet::default(), |wanted, entry| wanted.union(&entry.set));
    let pruned = without(schema, object, &declared(last));
    let kept = declared(&fields_of(schema, &pruned)).union(&declared(&wanted));
    let pruned = without(schema, object, &everything.difference(&kept));
    let kept = declared(&fields_of(schema, &pruned));
    without(schema, object, &everything.difference(&kept).intersection(&declared(last)))
}

/// Records what an update changed under the name of its manager.
fn record_update(managed: &mut Managed, old: &Value, new: &Value, manager: &Manager<'_>, schema: &Schema, now: &str) {
    managed.retain(|_, entry| schema.knows_version(&entry.api_version));
    // The entries of the old object are missing from the new one, but as nobody manages them that takes nothing away.
    let comparison = compare(schema, old, new).without(manager.ignored);
    take_from_others(managed, &comparison, None);
    let mut set = comparison.modified.union(&comparison.added).difference_with_all_below(manager.ignored);
    set = set.difference(never_tracked());
    if set.is_empty() {
        return;
    }
    let id = ManagerId::updater(manager.name, &schema.api_version, manager.subresource);
    if let Some(previous) = managed.get(&id) {
        set = set.union(&previous.set);
    }
    managed.insert(id, Entry { set, api_version: schema.api_version.clone(), time: Some(now.to_owned()) });
}

/// Takes changed and removed fields away from all but one, and returns who managed what was changed.
fn take_from_others(managed: &mut Managed, comparison: &Comparison, except: Option<&ManagerId>) -> Vec<Conflict> {
    let changed = comparison.modified.union(&comparison.added);
    let mut conflicts = Vec::new();
    for (id, entry) in managed.iter_mut().filter(|(id, _)| Some(*id) != except) {
        let taken = entry.set.intersection(&changed);
        conflicts.extend(taken.paths().into_iter().map(|path| (id.clone(), path)));
        entry.set = entry.set.difference(&taken).difference(&comparison.removed);
    }
    managed.retain(|_, entry| !entry.set.is_empty());
    conflicts
}

fn forget_untracked(managed: &mut Managed, id: &ManagerId) {
    if let Some(entry) = managed.get_mut(id) {
        entry.set = entry.set.difference(never_tracked());
        if entry.set.is_empty() {
            managed.remove(id);
        }
    }
}

/// What no entry ever lists, because the server itself sees to it or because it names the object.
fn never_tracked() -> &'static FieldSet {
    static SET: OnceLock<FieldSet> = OnceLock::new();
    SET.get_or_init(|| {
        let metadata = ["name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation"];
        let mut paths: Vec<Vec<&str>> = vec![vec!["apiVersion"], vec!["kind"], vec!["metadata"]];
        paths.extend(metadata.iter().chain(&["managedFields", "resourceVersion"]).map(|name| vec!["metadata", *name]));
        FieldSet::of_paths(&paths.iter().map(Vec::as_slice).collect::<Vec<_>>())
    })
}

fn printed_subject(config: &Value, schema: &Schema) -> String {
    let text = |path: &str| config.pointer(path).and_then(Value::as_str).unwrap_or_default();
    format!(
        "{}/{}; {}",
        text("/metadata/namespace"),
        text("/metadata/name"),
        printed_kind(&schema.api_version, &schema.kind)
    )
}

fn conflict_error(conflicts: &[Conflict]) -> PatchError {
    let mut conflicts = conflicts.to_vec();
    conflicts.sort_by_key(|(id, _)| id.sorting_text());
    let causes: Vec<Value> = conflicts
        .iter()
        .map(|(id, path)| {
            json!({
                "reason": "FieldManagerConflict",
                "message": format!("conflict with {}", id.printed()),
                "field": printed(path),
            })
        })
        .collect();
    let message = match conflicts.as_slice() {
        [(id, path)] => format!("Apply failed with 1 conflict: conflict with {}: {}", id.printed(), printed(path)),
        many => {
            let mut lines = Vec::new();
            let mut last = None;
            for (id, path) in many {
                if last != Some(id) {
                    lines.push(format!("conflicts with {}:", id.printed()));
                    last = Some(id);
                }
                lines.push(format!("- {}", printed(path)));
            }
            format!("Apply failed with {} conflicts: {}", many.len(), lines.join("\n"))
        }
    };
    PatchError { code: 409, reason: "Conflict", message, details: json!({ "causes": causes }) }
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
