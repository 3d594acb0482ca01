//! Reading requests: path segments, query parameters, JSON bodies, and the pages of a list.

use super::answer::{Answer, Outcome, Refusal, invalid_argument, json_answer};
use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode};
use serde_json::{Map, Value, json};

/// A request after its token was accepted.
pub(super) struct Call<'a> {
    pub method: &'a Method,
    pub zone: &'a str,
    pub query: Query,
    pub body: &'a Bytes,
}

impl Call<'_> {
    /// The body as a JSON object; an empty body counts as an empty object.
    pub fn json(&self) -> Result<Map<String, Value>, Refusal> {
        if self.body.is_empty() {
            return Ok(Map::new());
        }
        match serde_json::from_slice(self.body) {
            Ok(Value::Object(object)) => Ok(object),
            _ => Err(invalid_argument("body", "format", "the body must be a JSON object")),
        }
    }
}

/// Query parameters in their order; a name may occur more than once.
#[derive(Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub fn parse(raw: Option<&str>) -> Query {
        let pairs = raw.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        });
        Query(pairs.collect())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// All values of a list parameter, written with commas, repeated, or both.
    pub fn list(&self, name: &str) -> Vec<&str> {
        let values = self.0.iter().filter(|(key, _)| key == name);
        values.flat_map(|(_, value)| value.split(',')).filter(|value| !value.is_empty()).collect()
    }

    fn number(&self, name: &str, otherwise: usize) -> Result<usize, Refusal> {
        match self.get(name) {
            None => Ok(otherwise),
            Some(text) => match text.parse() {
                Ok(number) if number > 0 => Ok(number),
                _ => Err(invalid_argument(name, "format", "must be a positive number")),
            },
        }
    }

    /// The page asked for, and its size (the API takes no more than 100).
    pub fn page(&self, size_name: &str) -> Result<(usize, usize), Refusal> {
        Ok((self.number("page", 1)?, self.number(size_name, 50)?.min(100)))
    }

    fn without_paging(&self) -> String {
        let rest = self.0.iter().filter(|(name, _)| name != "page" && name != "per_page");
        rest.map(|(name, value)| format!("{name}={value}&")).collect()
    }
}

/// Percent-decoding with `+` as a space.
pub(super) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits = [rest.next().unwrap_or(b'0'), rest.next().unwrap_or(b'0')];
                let number = std::str::from_utf8(&digits).ok().and_then(|hex| u8::from_str_radix(hex, 16).ok());
                bytes.push(number.unwrap_or(b'?'));
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// One page of a list of the Instance API: the total in `X-Total-Count`, neighbours in `Link`.
pub(super) fn paged(query: &Query, path: &str, total: usize, page_of: impl FnOnce(usize, usize) -> Value) -> Outcome {
    let (page, size) = query.page("per_page")?;
    let body = page_of((page - 1).saturating_mul(size), size);
    let mut answer = json_answer(StatusCode::OK, &body);
    let last = total.div_ceil(size);
    let address = |number: usize, relation: &str| {
        format!("<{path}?page={number}&per_page={size}&{}>; rel=\"{relation}\"", query.without_paging())
    };
    let mut links = Vec::new();
    if page < last {
        links.push(address(page + 1, "next"));
    }
    links.push(address(last, "last"));
    if page > 1 {
        links.push(address(1, "first"));
        links.push(address(page - 1, "previous"));
    }
    set_header(&mut answer, "link", &links.join(","));
    set_header(&mut answer, "x-total-count", &total.to_string());
    Ok(answer)
}

/// One page of a list of the newer APIs: `page_size`, and the total in the body.
pub(super) fn paged_in_body(query: &Query, name: &str, items: &[Value]) -> Outcome {
    let (page, size) = query.page("page_size")?;
    let shown: Vec<&Value> = items.iter().skip((page - 1).saturating_mul(size)).take(size).collect();
    super::answer::found(&json!({name: shown, "total_count": items.len()}))
}

pub(super) fn set_header(answer: &mut Answer, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(name, value);
    }
}

pub(super) fn text<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    object.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// A list of strings, or an error that names the argument.
pub(super) fn strings(object: &Map<String, Value>, name: &str) -> Result<Option<Vec<String>>, Refusal> {
    let wrong = || invalid_argument(name, "format", "must be a list of strings");
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(items)) => {
            let list: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
            list.map(Some).ok_or_else(wrong)
        }
        Some(_) => Err(wrong()),
    }
}

pub(super) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
