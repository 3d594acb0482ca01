//! CloudEvents 1.0: the attributes, and the JSON event format. The HTTP binding is in `host`.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

use crate::strict_json::{self, BadJson};

/// An event whose attributes have been checked. Its data has not been looked at yet.
#[derive(Debug, Clone, PartialEq)]
pub struct CloudEvent {
    pub id: String,
    pub source: String,
    /// The attribute `type`.
    pub kind: String,
    pub subject: Option<String>,
    pub time: Option<Timestamp>,
    pub data_content_type: Option<String>,
    pub data_schema: Option<String>,
    pub extensions: BTreeMap<String, Value>,
    pub data: EventData,
}

#[derive(Debug, Clone, PartialEq)]
pub enum EventData {
    Absent,
    Json(Value),
    /// As it came: from a binary-mode body, or from `data_base64`.
    Bytes(Vec<u8>),
}

/// One event, or several in one delivery.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Event(Box<Result<CloudEvent, BadEvent>>),
    Batch(Vec<Result<CloudEvent, BadEvent>>),
}

/// Why an event can never be handled. The texts are equal on every platform.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BadEvent {
    #[error("the event is {0}")]
    Json(String),
    #[error("a CloudEvent is a JSON object, this is {0}")]
    NotAnObject(&'static str),
    #[error("the CloudEvents attribute {0:?} is missing")]
    Missing(&'static str),
    #[error("the CloudEvents attribute {name:?} {problem}")]
    Attribute { name: String, problem: String },
    #[error("the event has both data and data_base64: send one of them")]
    TwiceData,
    #[error("the event's data_base64 is not base64")]
    NotBase64,
    #[error("the event's data is {0}, expected application/json")]
    NotJsonData(String),
    #[error("the event's data is {0}")]
    DataJson(String),
    #[error("the event's data is missing")]
    NoData,
    #[error("the event's data is not what {kind} carries: {problem}")]
    Data { kind: &'static str, problem: String },
}

impl From<BadJson> for BadEvent {
    fn from(error: BadJson) -> Self {
        BadEvent::Json(error.to_string())
    }
}

impl Content {
    /// Reads the JSON format: an object is an event, an array a batch.
    pub fn from_text(text: &[u8]) -> Result<Self, BadEvent> {
        Ok(Content::from_value(strict_json::parse(text)?))
    }

    pub fn from_value(value: Value) -> Self {
        match value {
            Value::Array(items) => Content::Batch(items.into_iter().map(CloudEvent::from_value).collect()),
            single => Content::Event(Box::new(CloudEvent::from_value(single))),
        }
    }
}

impl CloudEvent {
    /// Reads one event in the JSON format.
    pub fn from_value(value: Value) -> Result<Self, BadEvent> {
        let Value::Object(mut attributes) = value else {
            return Err(BadEvent::NotAnObject(kind_of_json(&value)));
        };
        let data = match (attributes.remove("data"), attributes.remove("data_base64")) {
            (Some(_), Some(_)) => return Err(BadEvent::TwiceData),
            (Some(json), None) => EventData::Json(json),
            (None, Some(Value::String(text))) => {
                EventData::Bytes(BASE64_STANDARD.decode(text).map_err(|_| BadEvent::NotBase64)?)
            }
            (None, Some(_)) => return Err(BadEvent::NotBase64),
            (None, None) => EventData::Absent,
        };
        CloudEvent::from_attributes(attributes, data)
    }

    /// Checks the attributes, wherever they came from: a JSON object or HTTP headers.
    pub fn from_attributes(mut attributes: Map<String, Value>, data: EventData) -> Result<Self, BadEvent> {
        // JSON null means "not set".
        attributes.retain(|_, value| !value.is_null());
        if required(&mut attributes, "specversion")? != "1.0" {
            return Err(wrong("specversion", "must be \"1.0\""));
        }
        let id = required(&mut attributes, "id")?;
        let source = required(&mut attributes, "source")?;
        let kind = required(&mut attributes, "type")?;
        let subject = optional(&mut attributes, "subject")?;
        let time = optional(&mut attributes, "time")?
            .map(|text| text.parse().map_err(|_| wrong("time", "must be a time as in \"2026-11-16T09:00:00Z\"")))
            .transpose()?;
        let data_content_type = optional(&mut attributes, "datacontenttype")?;
        let data_schema = optional(&mut attributes, "dataschema")?;
        let extensions = extensions(attributes)?;
        Ok(CloudEvent { id, source, kind, subject, time, data_content_type, data_schema, extensions, data })
    }

    /// The data as JSON, if that is what it is.
    pub fn json_data(&self) -> Result<Value, BadEvent> {
        if let Some(content_type) = self.data_content_type.as_deref().filter(|given| !is_json(given)) {
            return Err(BadEvent::NotJsonData(format!("{:?}", content_type.chars().take(80).collect::<String>())));
        }
        match &self.data {
            EventData::Absent => Err(BadEvent::NoData),
            EventData::Json(value) => Ok(value.clone()),
            EventData::Bytes(bytes) => strict_json::parse(bytes).map_err(|error| BadEvent::DataJson(error.to_string())),
        }
    }

    /// Writes the JSON format.
    pub fn to_value(&self) -> Value {
        let mut object = Map::new();
        let mut set = |name: &str, text: &str| object.insert(name.to_owned(), Value::from(text));
        set("specversion", "1.0");
        set("id", &self.id);
        set("source", &self.source);
        set("type", &self.kind);
        if let Some(subject) = &self.subject {
            set("subject", subject);
        }
        if let Some(time) = &self.time {
            set("time", &time.to_string());
        }
        if let Some(content_type) = &self.data_content_type {
            set("datacontenttype", content_type);
        }
        if let Some(schema) = &self.data_schema {
            set("dataschema", schema);
        }
        object.extend(self.extensions.iter().map(|(name, value)| (name.clone(), value.clone())));
        match &self.data {
            EventData::Absent => {}
            EventData::Json(value) => _ = object.insert("data".to_owned(), value.clone()),
            EventData::Bytes(bytes) => {
                _ = object.insert("data_base64".to_owned(), BASE64_STANDARD.encode(bytes).into());
            }
        }
        Value::Object(object)
    }
}

fn required(attributes: &mut Map<String, Value>, name: &'static str) -> Result<String, BadEvent> {
    optional(attributes, name)?.ok_or(BadEvent::Missing(name))
}

fn optional(attributes: &mut Map<String, Value>, name: &'static str) -> Result<Option<String>, BadEvent> {
    match attributes.remove(name) {
        None => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Err(wrong(name, "is empty")),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(wrong(name, "must be a string")),
    }
}

fn extensions(attributes: Map<String, Value>) -> Result<BTreeMap<String, Value>, BadEvent> {
    for (name, value) in &attributes {
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        if !plain {
            return Err(wrong(name, "has a name that is not lower-case letters and digits"));
        }
        if !(value.is_string() || value.is_boolean() || value.is_i64() || value.is_u64()) {
            return Err(wrong(name, "must be a string, a whole number or a boolean"));
        }
    }
    Ok(attributes.into_iter().collect())
}

fn wrong(name: &str, problem: &str) -> BadEvent {
    BadEvent::Attribute { name: name.chars().take(80).collect(), problem: problem.to_owned() }
}

fn kind_of_json(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Compares a media type without its case and parameters.
fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || essence == "text/json" || essence.ends_with("+json")
}
