//! What on-idle-timer must know: whose timer ticked, and what the cluster looked like.

use model::{IdleTick, SnapshotCarried};

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub cluster: String,
    pub snapshot: SnapshotCarried,
}

pub fn read(event: IdleTick) -> Seen {
    Seen { cluster: event.cluster.to_string(), snapshot: event.snapshot }
}
