//! `dev.pilotlight.timer.idle.v1`: the timer ticked. Goes to on-idle-timer.
//!
//! Its `id` is `<source>/<tick>`, so two senders of the same tick send the same event. Platforms with a timer of
//! their own (EventBridge, Azure, Knative PingSource) make it through [`tick`].

use jiff::Timestamp;
use model::{ClusterId, Event, EventKind, IdleTick};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

use crate::{
    cloud_event::{BadEvent, CloudEvent, EventData},
    registry::{EventShape, Head},
    snapshot::{self, AnySnapshot},
    word::Word,
};

/// The data of a tick.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimerIdleData {
    /// The time the tick was due, not the time it was sent.
    pub tick: Word<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<AnySnapshot>")]
    pub snapshot: Option<Value>,
}

impl EventShape for TimerIdleData {
    const KIND: EventKind = EventKind::IdleTick;
    const NAME: &'static str = "dev.pilotlight.timer.idle";
    const TYPE: &'static str = "dev.pilotlight.timer.idle.v1";
    const HAS_OBJECT: bool = false;

    fn into_event(self, head: Head) -> Result<Event, BadEvent> {
        let TimerIdleData { tick, snapshot } = self;
        Ok(Event::IdleTick(IdleTick {
            cluster: head.cluster,
            tick: tick.value,
            snapshot: snapshot::carried(snapshot, Self::TYPE)?,
        }))
    }
}

/// The event for a tick that a platform's own timer made.
pub fn tick(cluster: &ClusterId, due: Timestamp) -> CloudEvent {
    CloudEvent {
        id: format!("{cluster}/{due}"),
        source: cluster.to_string(),
        kind: TimerIdleData::TYPE.to_owned(),
        subject: Some("idle".to_owned()),
        time: Some(due),
        data_content_type: Some("application/json".to_owned()),
        data_schema: None,
        extensions: BTreeMap::new(),
        data: EventData::Json(json!({ "tick": due.to_string() })),
    }
}
