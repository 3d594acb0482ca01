//! The event that is sent: one whose answer is in it, as it is, and wrapped as each platform delivers it.

use serde_json::{Value, json};

/// With this a function answers a rehearsal; without it, it would not know the event.
pub const ALLOWED: (&str, &str) = ("PILOTLIGHT_ALLOW_REHEARSAL", "true");

/// One structured CloudEvent as text.
#[derive(Debug, Clone)]
pub struct Event(pub String);

impl Event {
    /// A rehearsal: the host does all of its work, and the function asks no cluster and no cloud. What those take to
    /// answer is theirs, and not measured here.
    pub fn rehearsal() -> Event {
        let event = json!({
            "specversion": "1.0",
            "type": "dev.pilotlight.rehearsal.v1",
            "source": "bench",
            "id": "bench/1",
            "subject": "rehearsal",
            "time": "2026-11-16T09:00:00Z",
            "datacontenttype": "application/json",
            "data": { "outcome": "nothing", "reason": "a rehearsal of the benchmark" },
        });
        Event(event.to_string())
    }

    /// As the Azure Functions host passes a queue message on: a string-typed trigger is JSON-encoded twice.
    pub fn for_azure(&self) -> String {
        let encoded_once = Value::from(self.0.as_str()).to_string();
        json!({"Data": {"msg": encoded_once}, "Metadata": {}}).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::Event;

    #[test]
    fn azure_gets_the_event_encoded_twice() {
        let envelope: serde_json::Value = serde_json::from_str(&Event(r#"{"id":"1"}"#.into()).for_azure()).unwrap();
        assert_eq!(envelope["Data"]["msg"], r#""{\"id\":\"1\"}""#);
    }
}
