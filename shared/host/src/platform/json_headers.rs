//! HTTP headers inside JSON, as the envelopes of Lambda and Azure carry them, in both directions.

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

/// Values are a text or a list of texts. What is no header is left out, as a server would.
pub fn from_json(headers: Map<String, Value>) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let Ok(name) = name.parse::<HeaderName>() else { continue };
        let values = match value {
            Value::Array(values) => values,
            single => vec![single],
        };
        for value in values.iter().filter_map(Value::as_str) {
            if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
                map.append(name.clone(), value);
            }
        }
    }
    map
}

/// Our own responses have each header once.
pub fn to_json(headers: &HeaderMap) -> Map<String, Value> {
    let text = |value: &HeaderValue| Value::from(String::from_utf8_lossy(value.as_bytes()));
    headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect()
}
