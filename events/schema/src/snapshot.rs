//! The snapshot that may travel with an event: versioned, compact, and bounded.
//!
//! What occurs often is written once: texts of labels in `words`, amounts in `resources`, pods that are alike in `shapes`. Where
//! one of them is meant, its position in that list stands for it.

mod pods;
mod read;

use jiff::Timestamp;
use model::{ObjectName, SnapshotCarried, SnapshotMissing, Uid};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io;

use crate::{
    cloud_event::BadEvent,
    object::{NodeClassRef, NodeSelectorRequirement, NodeTaint, ResourceMap},
    registry::from_json,
    word::Word,
};

pub use pods::{Daemon, LabelSelector, NewestDaemon, NodePort, PodAffinityTerm, PortProtocol, Shape, UnboundPod};

/// The version this build writes and reads.
pub const VERSION: u32 = 2;

/// A snapshot over this size is not sent, and not read: the function looks for itself. It leaves a quarter of the
/// default body limit to the rest of the event.
pub const MAX_BYTES: usize = 768 * 1024;

/// Version 2 of the picture. The shape of any other version is not known here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSnapshot {
    /// Always 2 for this shape.
    #[schemars(range(min = 2, max = 2))]
    pub version: u32,
    pub taken_at: Word<Timestamp>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<Node>,
    /// What the pods on those nodes are like.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shapes: Vec<Shape>,
    /// The newest pod of each DaemonSet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub daemons: Vec<NewestDaemon>,
    /// Pods without a node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unbound: Vec<UnboundPod>,
    /// Claims without a node yet. A hint: they are read fresh before new ones are made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<Pool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<NodeClassRef>,
    /// Keys and values of labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// Amounts that nodes have and pods ask for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceMap>,
}

/// What the field `snapshot` of an event may hold, for its JSON Schema: this version, or one that is ignored here.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum AnySnapshot {
    This(Box<ClusterSnapshot>),
    Older {
        #[schemars(range(min = 0, max = 1))]
        version: u32,
    },
    Newer {
        #[schemars(range(min = 3))]
        version: u32,
    },
}

/// Labels: positions in `words`, of a key and its value in turns.
pub type Labels = Vec<u32>;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    pub name: Word<ObjectName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Labels,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<NodeTaint>,
    /// Position in `resources`.
    pub capacity: u32,
    /// Position in `resources`. What is free is this less the requests of the pods.
    pub allocatable: u32,
    #[serde(default, skip_serializing_if = "is_false")]
    pub deleting: bool,
    /// The pods on it: positions in `shapes`, and how many of each, in turns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    pub name: Word<ObjectName>,
    pub uid: Word<Uid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Word<ObjectName>>,
    #[serde(default, skip_serializing_if = "ResourceMap::is_empty")]
    pub requests: ResourceMap,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pool {
    pub name: Word<ObjectName>,
    #[serde(default)]
    pub weight: u8,
    #[serde(default, skip_serializing_if = "ResourceMap::is_empty")]
    pub limits: ResourceMap,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<NodeSelectorRequirement>,
    pub class: NodeClassRef,
}

/// Reads the field `snapshot` of an event's data. A version or size we cannot use is no error: the event is still
/// a good hint, the function only has to look for itself. A snapshot that claims our version and is malformed is.
pub(crate) fn carried(field: Option<Value>, kind: &'static str) -> Result<SnapshotCarried, BadEvent> {
    let Some(value) = field.filter(|value| !value.is_null()) else {
        return Ok(SnapshotCarried::Missing(SnapshotMissing::NotSent));
    };
    let version = value.get("version").and_then(Value::as_u64).and_then(|version| u32::try_from(version).ok());
    if let Some(other) = version.filter(|version| *version != VERSION) {
        return Ok(SnapshotCarried::Missing(SnapshotMissing::UnknownVersion(other)));
    }
    let bytes = length(&value);
    if bytes > MAX_BYTES {
        return Ok(SnapshotCarried::Missing(SnapshotMissing::TooLarge { bytes }));
    }
    let snapshot: ClusterSnapshot = from_json(value, kind, "snapshot.")?;
    let snapshot = model::Snapshot::try_from(snapshot)
        .map_err(|problem| BadEvent::Data { kind, problem: format!("snapshot.{problem}") })?;
    Ok(SnapshotCarried::Carried(Box::new(snapshot)))
}

pub(crate) fn is_false(value: &bool) -> bool {
    !value
}

/// As text, without making one.
fn length(value: &Value) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Neither a Value nor counting can fail; if it did, what was counted so far is as good.
    drop(serde_json::to_writer(&mut count, value));
    count.0
}
