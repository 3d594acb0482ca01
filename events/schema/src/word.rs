//! A checked word: text on the wire that the model accepts, kept as it was written.

use core::{borrow::Borrow, fmt::Display, str::FromStr};
use jiff::Timestamp;
use model::{Effect, InvalidId, Namespace, ObjectName, Operator, Quantity, ResourceVersion, Uid};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::borrow::Cow;

/// A text and what it means. Reading fails where the model refuses it, so serde names the field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word<T> {
    text: String,
    pub value: T,
}

/// What can stand in a text field of an event.
pub trait FromText: Sized {
    /// The name in the JSON Schema, and the pattern that schema tools can check.
    const NAME: &'static str;
    const PATTERN: &'static str;

    fn from_text(text: &str) -> Result<Self, impl Display>;
}

/// For those who write events.
impl<T: Display> From<T> for Word<T> {
    fn from(value: T) -> Self {
        Word { text: value.to_string(), value }
    }
}

impl<'de, T: FromText> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let value = T::from_text(&text).map_err(D::Error::custom)?;
        Ok(Word { text, value })
    }
}

impl<T> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<T> Borrow<str> for Word<T> {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl<T: FromText> JsonSchema for Word<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": T::PATTERN })
    }
}

macro_rules! identity {
    ($($kind:ident, $pattern:literal;)+) => {$(
        impl FromText for $kind {
            const NAME: &'static str = stringify!($kind);
            const PATTERN: &'static str = $pattern;
            fn from_text(text: &str) -> Result<Self, impl Display> {
                let checked: Result<Self, InvalidId> = $kind::new(text);
                checked
            }
        }
    )+};
}
identity! {
    Namespace, "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$";
    ObjectName, "^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$";
    Uid, "^[!-.0-~]{1,128}$";
    ResourceVersion, "^[!-.0-~]{1,128}$";
}

macro_rules! parsed {
    ($($kind:ident, $pattern:literal;)+) => {$(
        impl FromText for $kind {
            const NAME: &'static str = stringify!($kind);
            const PATTERN: &'static str = $pattern;
            fn from_text(text: &str) -> Result<Self, impl Display> {
                <$kind as FromStr>::from_str(text)
            }
        }
    )+};
}
parsed! {
    Quantity, "^[+]?[0-9.]+([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+)?$";
    Operator, "^(In|NotIn|Exists|DoesNotExist|Gt|Lt|Gte|Lte)$";
    Effect, "^(NoSchedule|PreferNoSchedule|NoExecute)$";
}

impl FromText for Timestamp {
    const NAME: &'static str = "Time";
    const PATTERN: &'static str = "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9:.]+([Zz]|[-+][0-9:]+)$";

    fn from_text(text: &str) -> Result<Self, impl Display> {
        let problem =
            || format!("{:?} is not a time as in \"2026-11-16T09:00:00Z\"", text.chars().take(40).collect::<String>());
        text.parse::<Timestamp>().map_err(|_| problem())
    }
}
