//! `dev.pilotlight.workspace.changed.v1`: a KAITO Workspace was made or has changed. Goes to on-workspace.

use model::{Event, EventKind, WorkspaceChanged, WorkspaceSeen};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    cloud_event::BadEvent,
    object::Object,
    registry::{EventShape, Head},
    snapshot::{self, AnySnapshot},
};

/// The data of a changed Workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceChangedData {
    pub workspace: Workspace,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<AnySnapshot>")]
    pub snapshot: Option<Value>,
}

/// What the workspace asks for; the object itself is read fresh.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Workspace {
    #[serde(flatten)]
    pub object: Object,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_type: Option<String>,
    /// Nodes wanted, at least one.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub count: u32,
    /// The name of the model preset, where one is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
}

fn one() -> u32 {
    1
}

impl EventShape for WorkspaceChangedData {
    const KIND: EventKind = EventKind::WorkspaceChanged;
    const NAME: &'static str = "dev.pilotlight.workspace.changed";
    const TYPE: &'static str = "dev.pilotlight.workspace.changed.v1";

    fn into_event(self, head: Head) -> Result<Event, BadEvent> {
        let WorkspaceChangedData { workspace, snapshot } = self;
        let Workspace { object, instance_type, count, preset } = workspace;
        let wrong = |problem: &str| BadEvent::Data { kind: Self::TYPE, problem: problem.to_owned() };
        if object.namespace.is_none() {
            return Err(wrong("workspace: missing field `namespace`"));
        }
        if count == 0 {
            return Err(wrong("workspace.count: must be at least 1"));
        }
        Ok(Event::WorkspaceChanged(WorkspaceChanged {
            subject: head.subject()?,
            cluster: head.cluster,
            workspace: WorkspaceSeen { object: object.into(), instance_type, count, preset },
            snapshot: snapshot::carried(snapshot, Self::TYPE)?,
        }))
    }
}
