//! The words of the domain: what happened, what the cluster looked like, what we answer.
//!
//! Plain values that compare and clone. There is no IO here and no dependency that could do any;
//! JSON shapes live in `events/schema`, which turns them into these types and lets nothing else in.

pub mod answer;
pub mod event;
pub mod ids;
pub mod instance;
pub mod offering;
pub mod requirement;
pub mod resources;
pub mod snapshot;
pub mod taint;

pub use answer::{Answer, Outcome};
pub use event::{
    ClaimSeen, DeletableKind, DeletionRequested, Event, EventKind, IdleTick, NodeClaimChanged, ObjectSeen, OneEvent,
    PendingPod, PodPending, WorkspaceChanged, WorkspaceSeen,
};
pub use ids::{ClusterId, InvalidId, Namespace, ObjectName, ResourceVersion, Uid};
pub use instance::{Ensured, Gone, Instance, InstanceKey, InstanceRequest, InstanceState, Owned, Progress};
pub use offering::{Arch, CapacityType, Gpu, InvalidCapacityType, Offering, OfferingId, Price, Stock};
pub use requirement::{InvalidOperator, Operator, Requirement};
pub use resources::{InvalidQuantity, Quantity, Resources};
pub use snapshot::{ClaimInFlight, ClassRef, NodeSeen, PodBound, PoolSeen, Snapshot, SnapshotCarried, SnapshotMissing};
pub use taint::{Effect, InvalidEffect, Taint, Toleration};
