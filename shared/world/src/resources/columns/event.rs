//! An event's row, from either of its two shapes: core `v1` or `events.k8s.io/v1`.

use crate::resources::age::age_of;
use crate::resources::look::{at, has, number, text};
use jiff::Timestamp;
use serde_json::{Value, json};

pub fn cells(event: &Value, now: Timestamp) -> Vec<Value> {
    // The newer group renamed the fields and kept the old ones as deprecated.
    let either = |core: &[&'static str], newer: &[&'static str]| -> String {
        let value = text(event, core);
        if value.is_empty() { text(event, newer).to_owned() } else { value.to_owned() }
    };
    let mut first = either(&["firstTimestamp"], &["deprecatedFirstTimestamp"]);
    if first.is_empty() {
        first = text(event, &["eventTime"]).to_owned();
    }
    let mut last = either(&["lastTimestamp"], &["deprecatedLastTimestamp"]);
    if last.is_empty() {
        last = first.clone();
    }
    let counted = number(event, &["count"]).or_else(|| number(event, &["deprecatedCount"]));
    let mut count = counted.unwrap_or_default();
    if has(event, &["series"]) {
        last = text(event, &["series", "lastObservedTime"]).to_owned();
        count = number(event, &["series", "count"]).unwrap_or_default();
    } else if count == 0 {
        // An event of the newer API that happened once has no count.
        count = 1;
    }
    let about =
        if has(event, &["involvedObject"]) { at(event, &["involvedObject"]) } else { at(event, &["regarding"]) };
    let kind = text(about, &["kind"]).to_lowercase();
    let target = match text(about, &["name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    vec![
        json!(age_of(&last, now)),
        json!(text(event, &["type"])),
        json!(text(event, &["reason"])),
        json!(target),
        json!(text(about, &["fieldPath"])),
        json!(source(event)),
        json!(either(&["message"], &["note"]).trim()),
        json!(age_of(&first, now)),
        json!(count),
        json!(text(event, &["metadata", "name"])),
    ]
}

fn source(event: &Value) -> String {
    let first_of = |paths: [&[&str]; 3]| {
        paths.into_iter().map(|path| text(event, path)).find(|value| !value.is_empty()).unwrap_or_default().to_owned()
    };
    let component = first_of([&["source", "component"], &["deprecatedSource", "component"], &["reportingComponent"]]);
    let component = if component.is_empty() { text(event, &["reportingController"]).to_owned() } else { component };
    let host = first_of([&["source", "host"], &["deprecatedSource", "host"], &["reportingInstance"]]);
    if host.is_empty() { component } else { format!("{component}, {host}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_shapes_of_an_event_print_alike() {
        let now = Timestamp::from_second(60).unwrap_or_default();
        let core = json!({"metadata": {"name": "e"}, "type": "Normal", "reason": "Started", "message": "ok\n",
            "involvedObject": {"kind": "Pod", "name": "x", "fieldPath": "spec"}, "source": {"component": "kubelet",
            "host": "n"}, "firstTimestamp": "1970-01-01T00:00:00Z", "count": 2,
            "lastTimestamp": "1970-01-01T00:00:30Z"});
        let newer = json!({"metadata": {"name": "e"}, "type": "Normal", "reason": "Started", "note": "ok",
            "regarding": {"kind": "Pod", "name": "x", "fieldPath": "spec"}, "deprecatedSource": {"component": "kubelet",
            "host": "n"}, "deprecatedFirstTimestamp": "1970-01-01T00:00:00Z",
            "deprecatedLastTimestamp": "1970-01-01T00:00:30Z", "deprecatedCount": 2});
        let expected = json!(["30s", "Normal", "Started", "pod/x", "spec", "kubelet, n", "ok", "60s", 2, "e"]);
        assert_eq!(json!(cells(&core, now)), expected);
        assert_eq!(json!(cells(&newer, now)), expected);
    }
}
