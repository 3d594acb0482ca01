//! A request taken apart: path segments, query and form decoded once, in one place.

use bytes::Bytes;
use http::{HeaderMap, Method, Request};

pub(super) struct Call {
    pub method: Method,
    /// Decoded segments. Azure compares their fixed words without case.
    pub segments: Vec<String>,
    pub query: Pairs,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// What absolute links start with, no slash at the end.
    pub base: String,
    /// Path and query as they came, for next-page links.
    pub path: String,
}

impl Call {
    pub fn read(request: Request<Bytes>, base_url: Option<&str>) -> Call {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path().to_owned();
        let host = parts.headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
        let base = match (base_url, parts.uri.scheme_str(), parts.uri.authority(), host) {
            (Some(base), ..) => base.trim_end_matches('/').to_owned(),
            (None, Some(scheme), Some(authority), _) => format!("{scheme}://{authority}"),
            (None, _, _, Some(host)) => format!("http://{host}"),
            (None, _, Some(authority), None) => format!("http://{authority}"),
            (None, _, None, None) => "https://management.azure.com".to_owned(),
        };
        Call {
            method: parts.method,
            segments: path
                .split('/')
                .filter(|segment| !segment.is_empty())
                .map(|segment| decode(segment, false))
                .collect(),
            query: Pairs::read(parts.uri.query().unwrap_or_default()),
            headers: parts.headers,
            body,
            base,
            path,
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub fn form(&self) -> Pairs {
        Pairs::read(&String::from_utf8_lossy(&self.body))
    }

    /// The path, with its fixed words in lower case, for matching.
    pub fn lowered(&self) -> Vec<String> {
        self.segments.iter().map(|segment| segment.to_ascii_lowercase()).collect()
    }

    /// This address with `$skiptoken` set.
    pub fn next_page(&self, token: usize) -> String {
        let kept = self.query.0.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("$skiptoken"));
        let mut query: Vec<String> = kept.map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
        query.push(format!("%24skiptoken={token}"));
        format!("{}{}?{}", self.base, self.path, query.join("&"))
    }

    pub fn skip(&self) -> usize {
        self.query.get("$skiptoken").and_then(|token| token.parse().ok()).unwrap_or(0)
    }
}

/// Names and values of a query or a form.
pub(super) struct Pairs(Vec<(String, String)>);

impl Pairs {
    fn read(text: &str) -> Pairs {
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (decode(name, true), decode(value, true))
        };
        Pairs(text.split('&').filter(|part| !part.is_empty()).map(pair).collect())
    }

    /// ARM does not care about the case of parameter names.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

fn decode(text: &str, plus_is_space: bool) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = text.get(at + 1..at + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (byte, hex) {
            (b'%', Some(value)) => {
                decoded.push(value);
                at += 2;
            }
            (b'+', _) if plus_is_space => decoded.push(b' '),
            (other, _) => decoded.push(other),
        }
        at += 1;
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
