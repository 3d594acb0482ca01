//! Everything that can happen, as one closed enum. Parsing ends here; deciding starts here.

use core::fmt;
use jiff::Timestamp;
use std::collections::BTreeMap;

use crate::{
    ClassRef, ClusterId, Namespace, ObjectName, Requirement, ResourceVersion, Resources, SnapshotCarried, Toleration,
    Uid,
};

/// An event is a hint: read the present state before acting on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    PodPending(PodPending),
    NodeClaimChanged(NodeClaimChanged),
    WorkspaceChanged(WorkspaceChanged),
    IdleTick(IdleTick),
    DeletionRequested(DeletionRequested),
}

/// Which of them, without its content: what a function subscribes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    PodPending,
    NodeClaimChanged,
    WorkspaceChanged,
    IdleTick,
    DeletionRequested,
}

/// An event that a function can ask for by its type.
pub trait OneEvent: Sized {
    const KIND: EventKind;
    fn from_event(event: Event) -> Option<Self>;
}

/// The object as the sender saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectSeen {
    pub namespace: Option<Namespace>,
    pub name: ObjectName,
    pub uid: Uid,
    pub resource_version: ResourceVersion,
}

/// A pod wants what no node has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodPending {
    pub cluster: ClusterId,
    pub subject: String,
    pub pod: PendingPod,
    pub snapshot: SnapshotCarried,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingPod {
    pub object: ObjectSeen,
    pub requests: Resources,
    pub node_selector: BTreeMap<String, String>,
    pub tolerations: Vec<Toleration>,
}

/// A NodeClaim was made or has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeClaimChanged {
    pub cluster: ClusterId,
    pub subject: String,
    pub claim: ClaimSeen,
    pub snapshot: SnapshotCarried,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimSeen {
    pub object: ObjectSeen,
    pub class: ClassRef,
    pub pool: Option<ObjectName>,
    pub requests: Resources,
    pub requirements: Vec<Requirement>,
    pub provider_id: Option<String>,
}

/// A KAITO Workspace was made or has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceChanged {
    pub cluster: ClusterId,
    pub subject: String,
    pub workspace: WorkspaceSeen,
    pub snapshot: SnapshotCarried,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceSeen {
    pub object: ObjectSeen,
    pub instance_type: Option<String>,
    pub count: u32,
    pub preset: Option<String>,
}

/// The timer ticked: look for what is idle, leaked or stuck.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleTick {
    pub cluster: ClusterId,
    pub tick: Timestamp,
    pub snapshot: SnapshotCarried,
}

/// Somebody asked for an object of ours to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletionRequested {
    pub cluster: ClusterId,
    pub subject: String,
    pub kind: DeletableKind,
    pub object: ObjectSeen,
    pub snapshot: SnapshotCarried,
}

/// What on-delete can take down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeletableKind {
    NodeClaim,
    Node,
    Workspace,
}

impl fmt::Display for DeletableKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeletableKind::NodeClaim => "NodeClaim",
            DeletableKind::Node => "Node",
            DeletableKind::Workspace => "Workspace",
        })
    }
}

macro_rules! one_event {
    ($($kind:ident),+) => {$(
        impl OneEvent for $kind {
            const KIND: EventKind = EventKind::$kind;
            fn from_event(event: Event) -> Option<Self> {
                match event {
                    Event::$kind(own) => Some(own),
                    _ => None,
                }
            }
        }
    )+};
}
one_event!(PodPending, NodeClaimChanged, WorkspaceChanged, IdleTick, DeletionRequested);
