//! The words of the domain: what happened, what the cluster looked like, what we answer.
//!
//! Plain values that compare and clone. There is no IO here and no dependency that could do any;
//! JSON shapes live in `events/schema`, which turns them into these types and lets nothing else in.

pub mod answer;
pub mod claim;
pub mod command;
pub mod disruption;
pub mod duration;
pub mod event;
pub mod few;
pub mod ids;
pub mod instance;
pub mod left_over;
pub mod money;
pub mod names;
pub mod node;
pub mod offering;
pub mod place;
pub mod plan;
pub mod provision;
pub mod requirement;
pub mod resources;
pub mod snapshot;
pub mod stock;
pub mod taint;

pub use answer::{Answer, Outcome};
pub use claim::{Attempt, Claim, ClaimStatus, Condition, ConditionKind, Launch, LaunchRecord, Truth};
pub use command::{CommandOrder, CommandPhase, CommandRecord, CommandWork, Manifest};
pub use event::{
    ClaimSeen, DeletableKind, DeletionRequested, Event, EventKind, IdleTick, NodeClaimChanged, ObjectSeen, OneEvent,
    PendingPod, PodPending, WorkspaceChanged, WorkspaceSeen,
};
pub use few::{Few, Labels};
pub use ids::{ClusterId, InvalidId, Namespace, ObjectName, ResourceVersion, Uid};
pub use instance::{Ensured, Gone, Instance, InstanceKey, InstanceRequest, InstanceState, Owned, Progress, Rebooted};
pub use left_over::{LeaseOf, LeaseSeen, StockLine};
pub use money::{Cap, Entry, Ledger};
pub use node::{Node, NodeCondition, Pod, PodKind, VolumeAttached};
pub use offering::{Arch, CapacityType, Gpu, InvalidCapacityType, Offering, OfferingId, Price, Stock};
pub use plan::{
    Action, ActionResult, ClaimChange, Conclusion, Failure, FinalizerChange, Next, NodeChange, Note, OwnerChange, Plan,
    PodRef, Reservation, Retry,
};
pub use provision::{ClaimToMake, PodNote, PoolRef};
pub use requirement::{InvalidOperator, Operator, Requirement};
pub use resources::{InvalidQuantity, Quantity, Resources};
pub use snapshot::{
    ClaimInFlight, ClassRef, DaemonSeen, DaemonShape, NodeSeen, PodShape, PodsSeen, PoolSeen, Snapshot,
    SnapshotCarried, SnapshotMissing, UnboundSeen, class_label,
};
pub use stock::{Scope, StockMemory, Unavailable};
pub use taint::{Effect, InvalidEffect, Taint, Toleration};
