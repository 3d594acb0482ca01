//! Every sample is parsed and written again; what comes out is what went in.

#![allow(clippy::unwrap_used, clippy::panic)]

use schema::{
    CloudEvent, Content, EventData, Known,
    deletion_requested::DeletionRequestedData,
    known,
    nodeclaim_changed::NodeClaimChangedData,
    pod_pending::PodPendingData,
    read,
    registry::{EVENTS, EventShape},
    strict_json,
    timer_idle::TimerIdleData,
    workspace_changed::WorkspaceChangedData,
};
use serde_json::Value;
use spec::{Sample, samples};

fn parsed(sample: &Sample) -> CloudEvent {
    match Content::from_text(&sample.text) {
        Ok(Content::Event(event)) => event.unwrap(),
        other => panic!("{}.{}: {other:?}", sample.function, sample.case),
    }
}

fn good() -> impl Iterator<Item = Sample> {
    samples().into_iter().filter(|sample| !sample.is_bad())
}

#[test]
fn every_envelope_survives_a_round_trip() {
    for sample in good() {
        let value = strict_json::parse(&sample.text).unwrap();
        assert_eq!(parsed(&sample).to_value(), value, "{}.{}", sample.function, sample.case);
    }
}

#[test]
fn the_data_of_every_known_event_survives_a_round_trip() {
    let mut seen = Vec::new();
    for sample in good() {
        let event = parsed(&sample);
        let Known::Event(_) = known(&event.kind) else { continue };
        let data = event.json_data().unwrap();
        let written = match event.kind.as_str() {
            PodPendingData::TYPE => written::<PodPendingData>(&data),
            NodeClaimChangedData::TYPE => written::<NodeClaimChangedData>(&data),
            WorkspaceChangedData::TYPE => written::<WorkspaceChangedData>(&data),
            TimerIdleData::TYPE => written::<TimerIdleData>(&data),
            DeletionRequestedData::TYPE => written::<DeletionRequestedData>(&data),
            other => panic!("{other} is in the registry but not in this test"),
        };
        // A workspace that names no count asks for one node, and says so when it is written again.
        let mut expected = data;
        if let Some(Value::Object(workspace)) = expected.get_mut("workspace") {
            workspace.entry("count").or_insert(1.into());
        }
        assert_eq!(written, expected, "{}.{}", sample.function, sample.case);
        seen.push(event.kind);
    }
    for entry in &EVENTS {
        assert!(seen.iter().any(|kind| kind == entry.type_), "no sample of {}", entry.type_);
    }
}

fn written<Shape: EventShape>(data: &Value) -> Value {
    let shape: Shape = serde_json::from_value(data.clone()).unwrap();
    serde_json::to_value(shape).unwrap()
}

#[test]
fn every_known_event_reaches_the_model_and_no_bad_one_does() {
    for sample in samples() {
        let event = match Content::from_text(&sample.text) {
            Ok(Content::Event(event)) => *event,
            Err(bad) => Err(bad),
            Ok(Content::Batch(_)) => panic!("a sample is one event"),
        };
        let outcome = event.and_then(|event| match known(&event.kind) {
            Known::Event(kind) => read(&event, kind).map(Some),
            Known::OtherVersion(_) | Known::No => Ok(None),
        });
        assert_eq!(outcome.is_err(), sample.is_bad(), "{}.{}: {outcome:?}", sample.function, sample.case);
    }
}

#[test]
fn data_that_came_as_bytes_means_the_same_as_data_that_came_as_json() {
    for sample in good() {
        let event = parsed(&sample);
        let Known::Event(kind) = known(&event.kind) else { continue };
        let bytes = EventData::Bytes(event.json_data().unwrap().to_string().into_bytes());
        let as_bytes = CloudEvent { data: bytes, ..event.clone() };
        assert_eq!(read(&as_bytes, kind), read(&event, kind));
    }
}
