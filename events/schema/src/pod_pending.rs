//! `dev.pilotlight.pod.pending.v1`: a pod wants what no node has. Goes to on-pending-pod.

use model::{Event, EventKind, PendingPod, PodPending};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

use crate::{
    cloud_event::BadEvent,
    object::{Object, PodToleration, ResourceMap, all, resources},
    registry::{EventShape, Head},
    snapshot::{self, AnySnapshot},
};

/// The data of a pending pod.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodPendingData {
    pub pod: Pod,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<AnySnapshot>")]
    pub snapshot: Option<Value>,
}

/// The pod, as far as placing it needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pod {
    #[serde(flatten)]
    pub object: Object,
    /// What the scheduler counts: containers, init containers and overhead together.
    pub requests: ResourceMap,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<PodToleration>,
}

impl EventShape for PodPendingData {
    const KIND: EventKind = EventKind::PodPending;
    const NAME: &'static str = "dev.pilotlight.pod.pending";
    const TYPE: &'static str = "dev.pilotlight.pod.pending.v1";

    fn into_event(self, head: Head) -> Result<Event, BadEvent> {
        let PodPendingData { pod: Pod { object, requests, node_selector, tolerations }, snapshot } = self;
        if object.namespace.is_none() {
            let problem = "pod: missing field `namespace`".to_owned();
            return Err(BadEvent::Data { kind: Self::TYPE, problem });
        }
        Ok(Event::PodPending(PodPending {
            subject: head.subject()?,
            cluster: head.cluster,
            pod: PendingPod {
                object: object.into(),
                requests: resources(requests),
                node_selector,
                tolerations: all(tolerations),
            },
            snapshot: snapshot::carried(snapshot, Self::TYPE)?,
        }))
    }
}
