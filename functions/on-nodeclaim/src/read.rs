//! What on-nodeclaim must know: the claim, its class, and whether an instance is known already.

use model::{NodeClaimChanged, SnapshotCarried};

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The claim, as the event names it.
    pub claim: String,
    /// The kind of its node class: it tells the provider.
    pub class: String,
    pub provider_id: Option<String>,
    pub snapshot: SnapshotCarried,
}

pub fn read(event: NodeClaimChanged) -> Seen {
    Seen {
        claim: event.subject,
        class: event.claim.class.kind,
        provider_id: event.claim.provider_id,
        snapshot: event.snapshot,
    }
}
