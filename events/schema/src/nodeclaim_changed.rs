//! `dev.pilotlight.nodeclaim.changed.v1`: a NodeClaim was made or has changed. Goes to on-nodeclaim.

use model::{ClaimSeen, Event, EventKind, NodeClaimChanged, ObjectName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

use crate::{
    cloud_event::BadEvent,
    object::{NodeClassRef, NodeSelectorRequirement, Object, ResourceMap, all, resources},
    registry::{EventShape, Head},
    snapshot::{self, AnySnapshot},
    word::Word,
};

/// The data of a changed NodeClaim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeClaimChangedData {
    pub claim: NodeClaim,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<AnySnapshot>")]
    pub snapshot: Option<Value>,
}

/// The claim's contract, without its status: that is read fresh.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeClaim {
    #[serde(flatten)]
    pub object: Object,
    pub node_class_ref: NodeClassRef,
    /// The label `karpenter.sh/nodepool`, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_pool: Option<Word<ObjectName>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: ResourceMap,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<NodeSelectorRequirement>,
    #[serde(rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
}

impl EventShape for NodeClaimChangedData {
    const KIND: EventKind = EventKind::NodeClaimChanged;
    const NAME: &'static str = "dev.pilotlight.nodeclaim.changed";
    const TYPE: &'static str = "dev.pilotlight.nodeclaim.changed.v1";

    fn into_event(self, head: Head) -> Result<Event, BadEvent> {
        let NodeClaimChangedData { claim, snapshot } = self;
        let NodeClaim { object, node_class_ref, node_pool, requests, requirements, provider_id } = claim;
        Ok(Event::NodeClaimChanged(NodeClaimChanged {
            subject: head.subject()?,
            cluster: head.cluster,
            claim: ClaimSeen {
                object: object.into(),
                class: node_class_ref.into(),
                pool: node_pool.map(|word| word.value),
                requests: resources(requests),
                requirements: all(requirements),
                provider_id,
            },
            snapshot: snapshot::carried(snapshot, Self::TYPE)?,
        }))
    }
}
