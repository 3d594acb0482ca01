//! Every event we know, one line each, and the step from a CloudEvent to the model.

use model::{ClusterId, Event, EventKind};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    cloud_event::{BadEvent, CloudEvent},
    deletion_requested::DeletionRequestedData,
    json_schema,
    nodeclaim_changed::NodeClaimChangedData,
    pod_pending::PodPendingData,
    timer_idle::TimerIdleData,
    workspace_changed::WorkspaceChangedData,
};

/// The data of one kind of event.
pub trait EventShape: DeserializeOwned + Serialize + JsonSchema {
    const KIND: EventKind;
    /// The CloudEvents type without its version.
    const NAME: &'static str;
    /// With it, `.v1`. A change that old readers cannot bear is a new type.
    const TYPE: &'static str;

    /// Whether the event is about one object, which its `subject` names.
    const HAS_OBJECT: bool = true;

    fn into_event(self, head: Head) -> Result<Event, BadEvent>;
}

/// What the envelope says about any event.
pub struct Head {
    pub cluster: ClusterId,
    subject: Option<String>,
}

impl Head {
    pub fn subject(&self) -> Result<String, BadEvent> {
        self.subject.clone().ok_or(BadEvent::Missing("subject"))
    }
}

/// One line of the registry.
pub struct Entry {
    pub kind: EventKind,
    pub name: &'static str,
    pub type_: &'static str,
    read: fn(&CloudEvent) -> Result<Event, BadEvent>,
    pub schema: fn() -> Value,
}

/// A new event is a new line here.
pub static EVENTS: [Entry; 5] = [
    entry::<PodPendingData>(),
    entry::<NodeClaimChangedData>(),
    entry::<WorkspaceChangedData>(),
    entry::<TimerIdleData>(),
    entry::<DeletionRequestedData>(),
];

const fn entry<Shape: EventShape>() -> Entry {
    Entry {
        kind: Shape::KIND,
        name: Shape::NAME,
        type_: Shape::TYPE,
        read: read_as::<Shape>,
        schema: || {
            let more: &[&str] = if Shape::HAS_OBJECT { &["subject"] } else { &[] };
            json_schema::of_event::<Shape>(Shape::TYPE, more)
        },
    }
}

/// What we make of an event's type, before anybody looks at its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    Event(EventKind),
    /// A newer (or older) version of an event that we know.
    OtherVersion(EventKind),
    No,
}

pub fn known(type_: &str) -> Known {
    if let Some(entry) = EVENTS.iter().find(|entry| entry.type_ == type_) {
        return Known::Event(entry.kind);
    }
    let base = type_.rsplit_once(".v").filter(|(_, version)| version.parse::<u32>().is_ok()).map(|(base, _)| base);
    match EVENTS.iter().find(|entry| Some(entry.name) == base) {
        Some(entry) => Known::OtherVersion(entry.kind),
        None => Known::No,
    }
}

/// The registry's line for a kind.
pub fn entry_of(kind: EventKind) -> Option<&'static Entry> {
    EVENTS.iter().find(|entry| entry.kind == kind)
}

/// Reads the data of an event of a known type.
pub fn read(event: &CloudEvent, kind: EventKind) -> Result<Event, BadEvent> {
    let entry = entry_of(kind).filter(|entry| entry.type_ == event.kind);
    let entry = entry.ok_or_else(|| BadEvent::Attribute { name: "type".into(), problem: "is not known".into() })?;
    (entry.read)(event)
}

fn read_as<Shape: EventShape>(event: &CloudEvent) -> Result<Event, BadEvent> {
    let cluster = ClusterId::new(&event.source)
        .map_err(|error| BadEvent::Attribute { name: "source".into(), problem: format!("is wrong: {error}") })?;
    let shape: Shape = from_json(event.json_data()?, Shape::TYPE, "")?;
    shape.into_event(Head { cluster, subject: event.subject.clone() })
}

/// Turns JSON into a shape; an error names the field, never a position, so that it is the same in every envelope.
pub(crate) fn from_json<T: DeserializeOwned>(value: Value, kind: &'static str, at: &str) -> Result<T, BadEvent> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = match error.path().to_string() {
            root if root == "." => at.trim_end_matches('.').to_owned(),
            path => format!("{at}{path}"),
        };
        let problem = match path.as_str() {
            "" => error.inner().to_string(),
            path => format!("{path}: {}", error.inner()),
        };
        BadEvent::Data { kind, problem: problem.chars().take(500).collect() }
    })
}
