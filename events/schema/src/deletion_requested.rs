//! `dev.pilotlight.deletion.requested.v1`: somebody asked for an object of ours to go. Goes to on-delete.

use model::{DeletableKind, DeletionRequested, Event, EventKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    cloud_event::BadEvent,
    object::Object,
    registry::{EventShape, Head},
    snapshot::{self, AnySnapshot},
};

/// The data of a deletion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeletionRequestedData {
    pub object: DeletedObject,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<AnySnapshot>")]
    pub snapshot: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeletedObject {
    pub kind: Kind,
    #[serde(flatten)]
    pub object: Object,
}

/// What on-delete can take down.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum Kind {
    NodeClaim,
    Node,
    Workspace,
}

impl EventShape for DeletionRequestedData {
    const KIND: EventKind = EventKind::DeletionRequested;
    const NAME: &'static str = "dev.pilotlight.deletion.requested";
    const TYPE: &'static str = "dev.pilotlight.deletion.requested.v1";

    fn into_event(self, head: Head) -> Result<Event, BadEvent> {
        let DeletionRequestedData { object: DeletedObject { kind, object }, snapshot } = self;
        let kind = match kind {
            Kind::NodeClaim => DeletableKind::NodeClaim,
            Kind::Node => DeletableKind::Node,
            Kind::Workspace => DeletableKind::Workspace,
        };
        Ok(Event::DeletionRequested(DeletionRequested {
            subject: head.subject()?,
            cluster: head.cluster,
            kind,
            object: object.into(),
            snapshot: snapshot::carried(snapshot, Self::TYPE)?,
        }))
    }
}
