//! JSON as we accept it: one value, and no key twice.
//!
//! Most parsers keep the last of two equal keys, some the first; a signature check and a handler that disagree
//! about which `id` counts are a hole, so the text is refused instead.

use core::{cell::RefCell, fmt};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Why a text is not JSON as we accept it. Only a syntax error has a position.
#[derive(Debug, thiserror::Error)]
pub enum BadJson {
    #[error("not valid JSON: {0}")]
    Syntax(#[source] serde_json::Error),
    #[error("not acceptable JSON: the key {0:?} appears twice in one object")]
    DuplicateKey(String),
}

/// Reads one JSON value, keeping nothing of a text that is wrong anywhere.
pub fn parse(text: &[u8]) -> Result<Value, BadJson> {
    let duplicate = RefCell::new(None);
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = Strict { duplicate: &duplicate }.deserialize(&mut deserializer).map_err(BadJson::Syntax)?;
    deserializer.end().map_err(BadJson::Syntax)?;
    match duplicate.into_inner() {
        Some(key) => Err(BadJson::DuplicateKey(key)),
        None => Ok(value),
    }
}

/// Builds a `Value` and remembers the first key that came twice.
#[derive(Clone, Copy)]
struct Strict<'a> {
    duplicate: &'a RefCell<Option<String>>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(self)?;
            if map.contains_key(&key) {
                let shown = key.chars().take(80).collect();
                self.duplicate.borrow_mut().get_or_insert(shown);
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_json_reads_as_serde_json_reads_it() {
        let text = br#"{"a":[1,-2,3.5,"x\u00e9",true,false,null],"b":{"a":18446744073709551615}}"#;
        assert_eq!(parse(text).unwrap(), serde_json::from_slice::<Value>(text).unwrap());
    }

    #[test]
    fn a_key_twice_is_refused_at_any_depth_and_named() {
        for text in [r#"{"id":1,"id":1}"#, r#"{"data":[{"id":1,"x":2,"id":3}]}"#, r#"{"id":1,"\u0069d":2}"#] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.to_string(), r#"not acceptable JSON: the key "id" appears twice in one object"#);
        }
        assert!(parse(br#"{"a":{"id":1},"b":{"id":1}}"#).is_ok());
    }

    #[test]
    fn a_syntax_error_says_where() {
        let error = parse(b"{\"a\":\n 1,}").unwrap_err();
        assert!(error.to_string().contains("line 2 column 4"), "{error}");
        for text in [&b""[..], b"{} {}", b"\xff\xfe", b"{\"a\":\"\xff\"}", &b"[".repeat(100_000)] {
            assert!(matches!(parse(text), Err(BadJson::Syntax(_))));
        }
    }
}
