//! What on-delete must know: which object is to go, and what kind it is.

use model::{DeletionRequested, SnapshotCarried};

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The object with its kind, in words.
    pub object: String,
    pub snapshot: SnapshotCarried,
}

pub fn read(event: DeletionRequested) -> Seen {
    let name = match event.object.namespace {
        Some(namespace) => format!("{namespace}/{}", event.object.name),
        None => event.object.name.to_string(),
    };
    Seen { object: format!("{} {name}", event.kind), snapshot: event.snapshot }
}
