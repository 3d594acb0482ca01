//! What on-workspace must know: the workspace and the nodes it asks for.

use model::{SnapshotCarried, WorkspaceChanged};

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The workspace, as the event names it.
    pub workspace: String,
    /// How many nodes of which type, in words.
    pub asks_for: String,
    pub snapshot: SnapshotCarried,
}

pub fn read(event: WorkspaceChanged) -> Seen {
    let nodes = match event.workspace.count {
        1 => "1 node".to_owned(),
        count => format!("{count} nodes"),
    };
    let asks_for = match event.workspace.instance_type {
        Some(instance_type) => format!("{nodes} of type {instance_type}"),
        None => format!("{nodes} of any type that fits"),
    };
    Seen { workspace: event.subject, asks_for, snapshot: event.snapshot }
}
