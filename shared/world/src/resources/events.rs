//! The two shapes of an Event: core `v1`, as it is stored, and `events.k8s.io/v1`, which renamed half of the fields.

use serde_json::Value;

/// Core's name of a field, and the newer group's.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// A stored event as `events.k8s.io/v1` shows it.
pub fn to_events_group(event: &Value) -> Value {
    let mut event = renamed(event, "events.k8s.io/v1", |core, newer| (core, newer));
    if let Some(map) = event.as_object_mut() {
        map.retain(|field, value| !(field.starts_with("reporting") && value.as_str() == Some("")));
    }
    event
}

/// An event of `events.k8s.io/v1` as it is stored.
pub fn to_core(event: &Value) -> Value {
    renamed(event, "v1", |core, newer| (newer, core))
}

fn renamed(
    event: &Value,
    api_version: &str,
    direction: fn(&'static str, &'static str) -> (&'static str, &'static str),
) -> Value {
    let mut event = event.clone();
    if let Some(map) = event.as_object_mut() {
        for (core, newer) in NAMES {
            let (from, to) = direction(core, newer);
            if let Some(value) = map.remove(from) {
                map.insert(to.to_owned(), value);
            }
        }
        map.insert("apiVersion".to_owned(), Value::String(api_version.to_owned()));
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn there_and_back_is_the_same_event() {
        let core = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "reason": "Started",
            "involvedObject": {"kind": "Pod"}, "message": "m", "source": {}, "count": 2, "reportingComponent": "c",
            "firstTimestamp": null, "lastTimestamp": null, "eventTime": null});
        let newer = to_events_group(&core);
        assert_eq!(newer["regarding"], json!({"kind": "Pod"}));
        assert_eq!((&newer["note"], &newer["apiVersion"]), (&json!("m"), &json!("events.k8s.io/v1")));
        assert_eq!(newer.get("message"), None);
        assert_eq!(to_core(&newer), core);
    }
}
