//! What the Azure Functions host posts to a custom handler: `{"Data": …, "Metadata": …}`, taken apart.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{HeaderMap, Method};
use jiff::Timestamp;
use schema::strict_json::{self, BadJson};
use serde_json::{Map, Value};

use super::json_headers;

/// What woke the function up.
pub enum Trigger {
    Http(HttpRequest),
    /// The timer, and the host's time of day where it says one.
    Timer(Option<Timestamp>),
    /// Queue, Service Bus, Event Hubs or Event Grid: one, or several at once (`cardinality: many`).
    Messages(Vec<Message>),
}

pub enum Message {
    /// Bound as text: the event's own text, however wrong.
    Text(String),
    /// Bound as an object.
    Json(Value),
}

pub struct HttpRequest {
    pub method: Method,
    pub headers: HeaderMap,
    pub body: Bytes,
}

#[derive(Debug, thiserror::Error)]
pub enum BadEnvelope {
    #[error("the invocation is {0}")]
    Json(#[from] BadJson),
    #[error("the invocation has no Data: this path is for the Azure Functions host, events go to /api/<function>")]
    NoData,
}

pub fn trigger(envelope: &[u8]) -> Result<Trigger, BadEnvelope> {
    let mut envelope = strict_json::parse(envelope)?;
    let Some(Value::Object(data)) = envelope.get_mut("Data").map(Value::take) else { return Err(BadEnvelope::NoData) };
    let now = envelope["Metadata"]["sys"]["UtcNow"].as_str().and_then(|text| text.parse().ok());
    let mut bindings: Vec<Value> = data.into_iter().map(|(_, value)| decoded(value)).collect();
    // The trigger's name is the user's; inputs may stand beside it. Its shape tells.
    let position = [is_http, is_timer, is_event].iter().find_map(|is| bindings.iter().position(is)).unwrap_or(0);
    if bindings.is_empty() {
        return Err(BadEnvelope::NoData);
    }
    Ok(match bindings.swap_remove(position) {
        http if is_http(&http) => Trigger::Http(http_request(http)),
        timer if is_timer(&timer) => Trigger::Timer(now),
        Value::Array(several) => Trigger::Messages(several.into_iter().map(decoded).map(message).collect()),
        one => Trigger::Messages(vec![message(one)]),
    })
}

fn message(value: Value) -> Message {
    match value {
        Value::String(text) => Message::Text(text),
        value => Message::Json(value),
    }
}

fn is_http(value: &Value) -> bool {
    value.get("Method").is_some_and(Value::is_string) && value.get("Headers").is_some()
}

fn is_timer(value: &Value) -> bool {
    value.get("IsPastDue").is_some() || value.get("ScheduleStatus").is_some()
}

fn is_event(value: &Value) -> bool {
    value.is_string() || value.is_array() || value.get("specversion").is_some() || value.get("eventType").is_some()
}

/// The host encodes text as JSON once more than its documentation shows, sometimes twice, and bytes as base64.
/// What remains a text is the event's own text, however wrong; its parse error is then the same as elsewhere.
fn decoded(value: Value) -> Value {
    let Value::String(mut text) = value else { return value };
    for _ in 0..2 {
        match serde_json::from_str::<Value>(&text) {
            Ok(Value::String(inner)) => text = inner,
            Ok(object @ Value::Object(_)) if is_http(&object) || is_timer(&object) => return object,
            Ok(several @ Value::Array(_)) => return several,
            _ => break,
        }
    }
    let opens = |text: &str| text.trim_start().starts_with(['{', '[']);
    if !opens(&text) {
        let bytes = BASE64_STANDARD.decode(text.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        text = bytes.filter(|inner| opens(inner)).unwrap_or(text);
    }
    Value::String(text)
}

fn http_request(mut value: Value) -> HttpRequest {
    let method = value["Method"].as_str().and_then(|text| text.parse().ok()).unwrap_or(Method::GET);
    let headers = match value["Headers"].take() {
        Value::Object(headers) => headers,
        _ => Map::new(),
    };
    // Without a `Body` the caller sent none, or sent it chunked, which the host drops.
    let body = match value.get_mut("Body").map(Value::take) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
    };
    HttpRequest { method, headers: json_headers::from_json(headers), body: Bytes::from(body) }
}

/// Event Grid's own schema as a CloudEvent; what is one already stays as it is.
pub fn from_event_grid(value: Value) -> Value {
    match value {
        Value::Array(events) => events.into_iter().map(from_event_grid).collect(),
        Value::Object(mut event) if event.contains_key("eventType") && !event.contains_key("specversion") => {
            let mut object = Map::new();
            object.insert("specversion".to_owned(), "1.0".into());
            let names = [("id", "id"), ("topic", "source"), ("eventType", "type"), ("subject", "subject")];
            let more = [("eventTime", "time"), ("data", "data")];
            for (theirs, ours) in names.into_iter().chain(more) {
                if let Some(value) = event.remove(theirs) {
                    object.insert(ours.to_owned(), value);
                }
            }
            Value::Object(object)
        }
        other => other,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text_of(data: Value) -> Option<String> {
        match trigger(json!({ "Data": { "msg": data } }).to_string().as_bytes()).unwrap() {
            Trigger::Messages(mut messages) => match (messages.pop()?, messages.is_empty()) {
                (Message::Text(text), true) => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    #[test]
    fn several_messages_at_once_are_told_apart() {
        let event = r#"{"specversion":"1.0"}"#;
        let texts = json!([event, event]);
        let objects = json!([serde_json::from_str::<Value>(event).unwrap()]);
        for (sent, count) in [(json!(texts.to_string()), 2), (texts, 2), (objects, 1), (json!([]), 0)] {
            let envelope = json!({ "Data": { "msgs": sent } }).to_string();
            let Trigger::Messages(messages) = trigger(envelope.as_bytes()).unwrap() else { panic!("no messages") };
            assert_eq!(messages.len(), count, "{sent}");
        }
    }

    #[test]
    fn a_message_is_found_however_often_the_host_encoded_it() {
        let event = r#"{"specversion":"1.0"}"#;
        let once = serde_json::to_string(event).unwrap();
        let twice = serde_json::to_string(&once).unwrap();
        let base64 = BASE64_STANDARD.encode(event);
        for sent in [event, &once, &twice, &base64, &serde_json::to_string(&base64).unwrap()] {
            assert_eq!(text_of(json!(sent)).as_deref(), Some(event), "{sent}");
        }
        assert_eq!(text_of(json!("{\"spec")).as_deref(), Some("{\"spec"), "a broken event keeps its text");
    }

    #[test]
    fn the_trigger_is_told_by_its_shape_among_other_bindings() {
        let http = json!({ "Method": "POST", "Url": "x", "Headers": { "Content-Type": ["a/b"] }, "Body": "hi" });
        let data = json!({ "Data": { "blob": "aGk=", "req": http }, "Metadata": {} });
        let Trigger::Http(request) = trigger(data.to_string().as_bytes()).unwrap() else { panic!("no HTTP trigger") };
        assert_eq!((request.headers["content-type"].as_bytes(), &request.body[..]), (&b"a/b"[..], &b"hi"[..]));
        let timer = json!({ "Data": { "t": { "Schedule": {}, "ScheduleStatus": null, "IsPastDue": false } },
            "Metadata": { "sys": { "UtcNow": "2026-11-16T09:00:00.1234567Z" } } });
        assert!(matches!(trigger(timer.to_string().as_bytes()).unwrap(), Trigger::Timer(Some(_))));
    }
}
