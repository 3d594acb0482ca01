//! Watches: a stream of changes from a revision on, with initial events, bookmarks, and the end that a real one has.

use bytes::Bytes;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::sync::mpsc;

use super::{
    list::{Selection, version},
    options,
    request::Query,
    status::Failure,
    store::{Change, ObjectKey, ResourceKey, Store, Stored},
};
use crate::{body::WorldBody, clock::Clock, resources::errors::FieldError};

/// How often a watcher that asked for bookmarks hears of the present revision.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);

/// Without `timeoutSeconds` a watch ends by itself after this long, as behind a real server.
const LONGEST: Duration = Duration::from_secs(45 * 60);

/// Changes that wait for a slow watcher before it is cut off.
const BUFFER: usize = 1024;

/// What is watched, and how each object is to look.
pub struct Watch {
    pub resource: ResourceKey,
    pub namespace: Option<String>,
    pub selection: Selection,
    /// Turns an object into what the client asked for (its version, a table row, metadata only).
    pub view: Arc<dyn Fn(&Stored) -> Bytes + Send + Sync>,
    /// How a bookmark looks, where it is more than a version: revision, and whether the initial events end here.
    pub bookmark: Option<Arc<dyn Fn(u64, bool) -> Bytes + Send + Sync>>,
    /// `apiVersion` and `kind` for bookmarks.
    pub type_meta: (String, String),
}

/// Where a watch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// First everything that is there, then changes; with the mark at the end of the first part or without.
    Now {
        mark_end: bool,
    },
    After(u64),
}

/// Starts a watch. Errors that a real server sends inside the stream are sent inside the stream.
pub fn watch(store: Store, clock: Clock, watch: Watch, query: &Query) -> Result<WorldBody, Failure> {
    let bookmarks = query.flag("allowWatchBookmarks");
    let start = start(query)?;
    let seconds = query.number("timeoutSeconds")?.and_then(|seconds| u64::try_from(seconds).ok());
    let longest = seconds.filter(|seconds| *seconds > 0).map_or(LONGEST, Duration::from_secs);
    let (sender, receiver) = mpsc::channel(BUFFER);
    // What is there now is looked up now: what happens before the first event is read comes after it.
    let first = match start {
        Start::Now { .. } => Some(store.list(&watch.resource, watch.namespace.as_deref())),
        Start::After(_) => None,
    };
    tokio::spawn(async move {
        let running = run(&store, clock, &watch, (start, first), bookmarks, &sender);
        // A body that nobody reads any more ends the task too.
        tokio::select! {
            biased;
            () = sender.closed() => {}
            () = clock.sleep(longest) => {}
            () = running => {}
        }
    });
    Ok(WorldBody::Stream(receiver))
}

fn start(query: &Query) -> Result<Start, Failure> {
    let mut errors = Vec::new();
    let mut forbid = |why: &str| errors.push(FieldError::forbidden("resourceVersionMatch", why));
    let (initial, wanted) = (query.given("sendInitialEvents").is_some(), query.get("resourceVersionMatch"));
    if initial && wanted != Some("NotOlderThan") {
        forbid("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    }
    if wanted.is_some() && !initial {
        forbid("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
    }
    if let Some(other) = wanted.filter(|wanted| *wanted != "NotOlderThan") {
        errors.push(FieldError::not_supported("resourceVersionMatch", other, &["NotOlderThan"]));
    }
    if query.get("continue").is_some() {
        let why = "resourceVersionMatch is forbidden when continue is provided";
        errors.push(FieldError::forbidden("resourceVersionMatch", why));
    }
    options::refuse("ListOptions", &errors)?;
    if query.flag("sendInitialEvents") {
        return Ok(Start::Now { mark_end: true });
    }
    match query.get("resourceVersion") {
        None | Some("0") => Ok(Start::Now { mark_end: false }),
        Some(text) => version(text).map(Start::After),
    }
}

type Listed = (Vec<(ObjectKey, Arc<Stored>)>, u64);

async fn run(
    store: &Store,
    clock: Clock,
    watch: &Watch,
    (start, first): (Start, Option<Listed>),
    bookmarks: bool,
    sender: &mpsc::Sender<Bytes>,
) {
    let mut news = store.subscribe();
    let mut seen = match start {
        Start::After(revision) => revision,
        Start::Now { mark_end } => {
            let (objects, revision) = first.unwrap_or_default();
            for (_, stored) in objects.iter().filter(|(_, stored)| watch.selection.matches(&stored.value)) {
                if sender.send(line("ADDED", &(watch.view)(stored))).await.is_err() {
                    return;
                }
            }
            if mark_end && bookmarks && sender.send(bookmark(watch, revision, true)).await.is_err() {
                return;
            }
            revision
        }
    };
    // One timer over all rounds: every change in the cluster wakes this loop, and must not put the bookmark off.
    let next_bookmark = clock.sleep(BOOKMARK_EVERY);
    tokio::pin!(next_bookmark);
    loop {
        news.mark_unchanged();
        let (changes, revision) = match store.read_log(&watch.resource, seen) {
            Ok(read) => read,
            Err(compacted) => {
                let message = format!("too old resource version: {} ({})", compacted.asked, compacted.oldest);
                let status = Bytes::from(Failure::expired(message).to_value().to_string());
                drop(sender.send(line("ERROR", &status)).await);
                return;
            }
        };
        seen = seen.max(revision);
        for change in &changes {
            let Some(event) = event(watch, change) else { continue };
            if sender.send(event).await.is_err() {
                return;
            }
        }
        tokio::select! {
            biased;
            changed = news.changed() => {
                if changed.is_err() {
                    return;
                }
            }
            () = &mut next_bookmark, if bookmarks => {
                next_bookmark.set(clock.sleep(BOOKMARK_EVERY));
                if sender.send(bookmark(watch, seen, false)).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// What a change is to a watcher that sees only some objects: coming into view is an addition, leaving it a deletion.
fn event(watch: &Watch, change: &Change) -> Option<Bytes> {
    let inside = watch.namespace.as_ref().is_none_or(|namespace| *namespace == change.key.0);
    let matched = |stored: &Arc<Stored>| inside && watch.selection.matches(&stored.value);
    let before = change.before.as_ref().is_some_and(matched);
    let now = !change.deleted && matched(&change.after);
    let kind = match (before, now) {
        (false, true) => "ADDED",
        (true, true) => "MODIFIED",
        (true, false) => "DELETED",
        (false, false) => return None,
    };
    // Who cannot see an object any more is shown how it was, at the version at which it left.
    let left = change.before.as_ref().filter(|_| kind == "DELETED" && !change.deleted);
    let shown = left.map(|before| {
        let mut value = before.value.clone();
        value["metadata"]["resourceVersion"] = change.revision.to_string().into();
        Stored::unsaved(value)
    });
    Some(line(kind, &(watch.view)(shown.as_ref().unwrap_or(&change.after))))
}

fn bookmark(watch: &Watch, revision: u64, end_of_initial: bool) -> Bytes {
    if let Some(shown) = &watch.bookmark {
        return line("BOOKMARK", &shown(revision, end_of_initial));
    }
    let (api_version, kind) = &watch.type_meta;
    let mut object = json!({
        "kind": kind,
        "apiVersion": api_version,
        "metadata": { "resourceVersion": revision.to_string() },
    });
    if end_of_initial {
        object["metadata"]["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
    }
    line("BOOKMARK", &Bytes::from(object.to_string()))
}

fn line(kind: &str, object: &Bytes) -> Bytes {
    let mut text = Vec::with_capacity(object.len() + 32);
    text.extend_from_slice(b"{\"type\":\"");
    text.extend_from_slice(kind.as_bytes());
    text.extend_from_slice(b"\",\"object\":");
    text.extend_from_slice(object);
    text.extend_from_slice(b"}\n");
    Bytes::from(text)
}
