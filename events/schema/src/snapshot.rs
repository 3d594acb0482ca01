//! The snapshot that may travel with an event: versioned, compact, and bounded.

use jiff::Timestamp;
use model::{ClaimInFlight, NodeSeen, ObjectName, PodBound, PoolSeen, Snapshot, SnapshotCarried, SnapshotMissing, Uid};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

use crate::{
    cloud_event::BadEvent,
    object::{NodeClassRef, NodeSelectorRequirement, NodeTaint, ResourceMap, all, resources},
    registry::from_json,
    word::Word,
};

/// The version this build writes and reads.
pub const VERSION: u32 = 1;

/// A snapshot over this size is not sent, and not read: the function looks for itself. It leaves half of the
/// default body limit to the rest of the event.
pub const MAX_BYTES: usize = 512 * 1024;

/// Version 1 of the picture. The shape of any other version is not known here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSnapshot {
    /// Always 1 for this shape.
    #[schemars(range(min = 1, max = 1))]
    pub version: u32,
    pub taken_at: Word<Timestamp>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<Node>,
    /// Bound pods, as far as topology needs them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<Pod>,
    /// Claims without a node yet. A hint: they are read fresh before new ones are made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<Pool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<NodeClassRef>,
}

/// What the field `snapshot` of an event may hold, for its JSON Schema: this version, or one that is ignored here.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum AnySnapshot {
    ThisVersion(Box<ClusterSnapshot>),
    OtherVersion {
        #[schemars(range(min = 2))]
        version: u32,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    pub name: Word<ObjectName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<NodeTaint>,
    /// Allocatable less the requests of the pods bound to it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub free: ResourceMap,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pod {
    pub namespace: Word<model::Namespace>,
    pub name: Word<ObjectName>,
    pub node: Word<ObjectName>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    pub name: Word<ObjectName>,
    pub uid: Word<Uid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<Word<ObjectName>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: ResourceMap,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pool {
    pub name: Word<ObjectName>,
    #[serde(default)]
    pub weight: u8,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
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
    let bytes = value.to_string().len();
    if bytes > MAX_BYTES {
        return Ok(SnapshotCarried::Missing(SnapshotMissing::TooLarge { bytes }));
    }
    let snapshot: ClusterSnapshot = from_json(value, kind, "snapshot.")?;
    Ok(SnapshotCarried::Carried(Box::new(snapshot.into())))
}

impl From<ClusterSnapshot> for Snapshot {
    fn from(snapshot: ClusterSnapshot) -> Self {
        let ClusterSnapshot { version: _, taken_at, nodes, pods, claims, pools, classes } = snapshot;
        Snapshot {
            taken_at: taken_at.value,
            nodes: all(nodes),
            pods: all(pods),
            claims: all(claims),
            pools: all(pools),
            classes: all(classes),
        }
    }
}

impl From<Node> for NodeSeen {
    fn from(node: Node) -> Self {
        let Node { name, provider_id, labels, taints, free } = node;
        NodeSeen { name: name.value, provider_id, labels, taints: all(taints), free: resources(free) }
    }
}

impl From<Pod> for PodBound {
    fn from(pod: Pod) -> Self {
        let Pod { namespace, name, node, labels } = pod;
        PodBound { namespace: namespace.value, name: name.value, node: node.value, labels }
    }
}

impl From<Claim> for ClaimInFlight {
    fn from(claim: Claim) -> Self {
        let Claim { name, uid, pool, requests } = claim;
        ClaimInFlight {
            name: name.value,
            uid: uid.value,
            pool: pool.map(|word| word.value),
            requests: resources(requests),
        }
    }
}

impl From<Pool> for PoolSeen {
    fn from(pool: Pool) -> Self {
        let Pool { name, weight, limits, requirements, class } = pool;
        PoolSeen {
            name: name.value,
            weight,
            limits: resources(limits),
            requirements: all(requirements),
            class: class.into(),
        }
    }
}
