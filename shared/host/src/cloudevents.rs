//! The HTTP binding of CloudEvents: which mode a request is in, and how its headers become attributes.

use http::{HeaderMap, HeaderValue, header::CONTENT_TYPE};
use percent_encoding::percent_decode_str;
use schema::{BadEvent, CloudEvent, Content, EventData, strict_json};
use serde_json::{Map, Value};

pub const STRUCTURED: &str = "application/cloudevents+json";
pub const BATCH: &str = "application/cloudevents-batch+json";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    Structured,
    Batch,
    /// Attributes in `ce-` headers, the body is the data.
    Binary,
    /// No CloudEvent in a format that we read. Names the content type.
    Unsupported(String),
}

/// Media types are compared without case and parameters.
pub fn mode(headers: &HeaderMap) -> Mode {
    let given = headers.get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let essence = given.as_deref().unwrap_or_default().split(';').next().unwrap_or_default().trim().to_lowercase();
    let is_binary = || headers.keys().any(|name| name.as_str().starts_with("ce-"));
    match essence.as_str() {
        STRUCTURED => Mode::Structured,
        BATCH => Mode::Batch,
        // XML, Avro and Protobuf exist; this is one of them.
        other if other.starts_with("application/cloudevents") => Mode::Unsupported(essence),
        _ if is_binary() => Mode::Binary,
        "" => Mode::Unsupported("no content type".to_owned()),
        _ => Mode::Unsupported(essence.chars().take(80).collect()),
    }
}

/// Reads the body of a request in one of the three modes.
pub fn content(mode: &Mode, headers: &HeaderMap, body: &[u8]) -> Result<Content, BadEvent> {
    match mode {
        Mode::Structured => {
            let event = CloudEvent::from_value(strict_json::parse(body)?);
            Ok(Content::Event(Box::new(event)))
        }
        Mode::Batch => match Content::from_text(body)? {
            batch @ Content::Batch(_) => Ok(batch),
            Content::Event(_) => Err(BadEvent::Json("not a batch: a batch is a JSON array of events".to_owned())),
        },
        Mode::Binary => Ok(Content::Event(Box::new(binary(headers, body)))),
        Mode::Unsupported(given) => Err(BadEvent::NotJsonData(given.clone())),
    }
}

fn binary(headers: &HeaderMap, body: &[u8]) -> Result<CloudEvent, BadEvent> {
    let mut attributes = Map::new();
    for (header, value) in headers {
        let Some(name) = header.as_str().strip_prefix("ce-") else { continue };
        let wrong = |problem: &str| BadEvent::Attribute { name: name.to_owned(), problem: problem.to_owned() };
        let text = decode(value).ok_or_else(|| wrong("is not percent-encoded UTF-8"))?;
        if attributes.insert(name.to_owned(), Value::String(text)).is_some() {
            return Err(wrong("is given twice"));
        }
    }
    if let Some(content_type) = headers.get(CONTENT_TYPE) {
        let text = String::from_utf8_lossy(content_type.as_bytes()).into_owned();
        attributes.insert("datacontenttype".to_owned(), Value::String(text));
    }
    let data = if body.is_empty() { EventData::Absent } else { EventData::Bytes(body.to_vec()) };
    CloudEvent::from_attributes(attributes, data)
}

/// Unquoted, then percent-decoded once. Senders that do not encode put raw bytes there: UTF-8 (Python) or Latin-1
/// (Node.js); percent-encoded bytes must be UTF-8.
fn decode(value: &HeaderValue) -> Option<String> {
    let raw = match std::str::from_utf8(value.as_bytes()) {
        Ok(text) => text.to_owned(),
        Err(_) => value.as_bytes().iter().map(|byte| char::from(*byte)).collect(),
    };
    let text = match raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => unescape(quoted),
        None => raw,
    };
    percent_decode_str(&text).decode_utf8().ok().map(|text| text.into_owned())
}

fn unescape(quoted: &str) -> String {
    let mut text = String::with_capacity(quoted.len());
    let mut escaped = false;
    for c in quoted.chars() {
        if c == '\\' && !escaped {
            escaped = true;
        } else {
            text.push(c);
            escaped = false;
        }
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn headers(list: &[(&'static str, &[u8])]) -> HeaderMap {
        let pair =
            |(name, value): &(&'static str, &[u8])| ((*name).parse().unwrap(), HeaderValue::from_bytes(value).unwrap());
        let mut map = HeaderMap::new();
        for (name, value) in list.iter().map(pair) {
            let name: http::HeaderName = name;
            map.append(name, value);
        }
        map
    }

    fn subject(value: &[u8]) -> Result<Option<String>, BadEvent> {
        let list: &[(&'static str, &[u8])] = &[
            ("ce-specversion", b"1.0"),
            ("ce-id", b"1"),
            ("ce-source", b"c"),
            ("ce-type", b"t"),
            ("ce-subject", value),
        ];
        binary(&headers(list), b"").map(|event| event.subject)
    }

    #[test]
    fn a_header_is_read_however_its_sender_wrote_it() {
        for sent in [&b"p%C3%B6d%20n"[..], "pöd n".as_bytes(), b"p\xf6d n", b"\"p\xf6d n\"", b"\"p%C3%B6d\\ n\""] {
            assert_eq!(subject(sent), Ok(Some("pöd n".to_owned())), "{sent:?}");
        }
        assert_eq!(subject(b"100%25"), Ok(Some("100%".to_owned())));
        assert_eq!(subject(b"%2525"), Ok(Some("%25".to_owned())), "decoded once only");
        assert_eq!(subject(b"100%"), Ok(Some("100%".to_owned())));
        assert_eq!(subject(br#""say \"hi\"""#), Ok(Some(r#"say "hi""#.to_owned())));
        assert!(subject(b"%FF").is_err());
    }

    #[test]
    fn an_attribute_given_twice_is_refused() {
        let twice = headers(&[("ce-id", b"1"), ("ce-id", b"2")]);
        assert!(binary(&twice, b"").unwrap_err().to_string().contains("twice"));
    }

    #[test]
    fn the_mode_is_told_by_content_type_and_headers() {
        let check = |list: &[(&'static str, &[u8])], expected: Mode| assert_eq!(mode(&headers(list)), expected);
        check(&[("content-type", b"Application/CloudEvents+JSON; charset=utf-8")], Mode::Structured);
        check(&[("content-type", b"application/cloudevents-batch+json")], Mode::Batch);
        check(&[("content-type", b"application/json"), ("ce-id", b"1")], Mode::Binary);
        check(&[("ce-id", b"1")], Mode::Binary);
        check(&[("content-type", b"application/cloudevents+json"), ("ce-id", b"1")], Mode::Structured);
        check(&[("content-type", b"application/json")], Mode::Unsupported("application/json".into()));
        check(
            &[("content-type", b"application/cloudevents+xml"), ("ce-id", b"1")],
            Mode::Unsupported("application/cloudevents+xml".into()),
        );
        check(&[], Mode::Unsupported("no content type".into()));
    }
}
