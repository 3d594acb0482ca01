//! What Lambda is invoked with: the shapes of AWS, taken apart as far as we need them.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{HeaderMap, Method};
use jiff::Timestamp;
use model::ClusterId;
use schema::{CloudEvent, Content, EventData, strict_json, timer_idle};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

use super::json_headers;

/// An invocation, by the shape of its payload.
pub enum Invocation {
    /// A function URL or API Gateway.
    Http(HttpRequest),
    Sqs(Vec<SqsRecord>),
    /// A CloudEvent, or what is not even JSON.
    Direct,
    /// A rule or schedule of EventBridge.
    EventBridge(Value),
}

pub struct HttpRequest {
    pub method: Method,
    pub path: String,
    pub headers: HeaderMap,
    /// `None` if the body is not the base64 that the envelope says it is.
    pub body: Option<Bytes>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SqsRecord {
    pub message_id: Option<String>,
    #[serde(default)]
    pub body: Option<String>,
    #[serde(default)]
    attributes: BTreeMap<String, Value>,
    #[serde(rename = "eventSourceARN", default)]
    source: Option<String>,
}

impl SqsRecord {
    /// The group whose order matters. Standard queues may have groups too, but promise no order.
    pub fn ordered_group(&self) -> Option<String> {
        let group = self.attributes.get("MessageGroupId").and_then(Value::as_str);
        let fifo = match &self.source {
            Some(arn) => arn.ends_with(".fifo"),
            None => group.is_some(),
        };
        fifo.then(|| group.unwrap_or_default().to_owned())
    }
}

pub fn invocation(payload: &[u8]) -> Invocation {
    let Ok(Value::Object(object)) = strict_json::parse(payload) else { return Invocation::Direct };
    let first_record = object.get("Records").and_then(|records| records.get(0));
    if first_record.and_then(|record| record.get("eventSource")).is_some_and(|source| source == "aws:sqs") {
        let records = object.get("Records").cloned().unwrap_or_default();
        return serde_json::from_value(records).map_or(Invocation::Direct, Invocation::Sqs);
    }
    if object.contains_key("specversion") {
        return Invocation::Direct;
    }
    if object.contains_key("detail-type") && object.contains_key("source") {
        return Invocation::EventBridge(Value::Object(object));
    }
    if object.contains_key("requestContext") {
        let request = serde_json::from_value::<Gateway>(Value::Object(object)).ok();
        return request.and_then(Gateway::into_request).map_or(Invocation::Direct, Invocation::Http);
    }
    Invocation::Direct
}

/// What EventBridge sends, as CloudEvents: a schedule is a tick, a CloudEvent in `detail` is that event, and
/// anything else is an event of the type that `detail-type` says.
pub fn from_event_bridge(mut envelope: Value, cluster: &ClusterId) -> Content {
    let text = |name: &str| envelope.get(name).and_then(Value::as_str).map(str::to_owned);
    let (source, detail_type) = (text("source").unwrap_or_default(), text("detail-type").unwrap_or_default());
    let time = text("time").and_then(|time| time.parse::<Timestamp>().ok());
    let (id, subject) = (text("id").unwrap_or_default(), envelope["resources"][0].as_str().map(str::to_owned));
    let mut detail = envelope["detail"].take();
    // The Scheduler sends `detail` as a text.
    if let Some(inner) = detail.as_str().and_then(|text| strict_json::parse(text.as_bytes()).ok()) {
        detail = inner;
    }
    if detail.get("specversion").is_some() || detail.is_array() {
        return Content::from_value(detail);
    }
    let scheduled = ["aws.events", "aws.scheduler"].contains(&source.as_str()) && detail_type == "Scheduled Event";
    if scheduled && let Some(due) = time {
        return Content::Event(Box::new(Ok(timer_idle::tick(cluster, due))));
    }
    Content::Event(Box::new(Ok(CloudEvent {
        id,
        source,
        kind: detail_type,
        subject,
        time,
        data_content_type: None,
        data_schema: None,
        extensions: BTreeMap::new(),
        data: EventData::Json(detail),
    })))
}

/// The body of an SQS message: an event, or EventBridge's envelope around one.
pub fn from_sqs_body(value: Value, cluster: &ClusterId) -> Content {
    let wrapped = value.get("detail-type").is_some() && value.get("specversion").is_none();
    if wrapped { from_event_bridge(value, cluster) } else { Content::from_value(value) }
}

/// Payload formats 2.0 (function URL, HTTP API) and 1.0 (REST API), as far as we read them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Gateway {
    raw_path: Option<String>,
    path: Option<String>,
    http_method: Option<String>,
    #[serde(default)]
    headers: Option<Map<String, Value>>,
    body: Option<String>,
    #[serde(default)]
    is_base64_encoded: bool,
    request_context: GatewayContext,
}

#[derive(Deserialize)]
struct GatewayContext {
    http: Option<GatewayHttp>,
    stage: Option<String>,
}

#[derive(Deserialize)]
struct GatewayHttp {
    method: Option<String>,
    path: Option<String>,
}

impl Gateway {
    fn into_request(self) -> Option<HttpRequest> {
        let http = self.request_context.http;
        let (http_method, http_path) = http.map(|http| (http.method, http.path)).unwrap_or_default();
        let method = http_method.or(self.http_method)?.parse().ok()?;
        let path = self.raw_path.or(http_path).or(self.path).unwrap_or_else(|| "/".to_owned());
        // Outside the default stage, the path that arrives begins with the stage's name.
        let stage = self.request_context.stage.map(|stage| format!("/{stage}"));
        let path = match stage.as_deref().and_then(|stage| path.strip_prefix(stage)) {
            Some("") => "/".to_owned(),
            Some(rest) if rest.starts_with('/') => rest.to_owned(),
            _ => path,
        };
        let body = self.body.unwrap_or_default();
        let body = if self.is_base64_encoded { BASE64_STANDARD.decode(body).ok() } else { Some(body.into_bytes()) };
        let headers = self.headers.unwrap_or_default();
        Some(HttpRequest { method, path, headers: json_headers::from_json(headers), body: body.map(Bytes::from) })
    }
}
