//! Names and identities. A value of these types has been checked; nobody checks again.

use core::fmt;

/// Why a text is not the identity it was meant to be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {what}: {rule}")]
pub struct InvalidId {
    pub what: &'static str,
    pub text: String,
    pub rule: &'static str,
}

/// The cluster an event comes from: the `source` of every CloudEvent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClusterId(String);

impl ClusterId {
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidId> {
        let text = text.into();
        let plain = text.chars().all(|c| !c.is_whitespace() && !c.is_control());
        check(text, plain, 1024, "a cluster id", "1 to 1024 characters, no white space").map(ClusterId)
    }
}

/// For a cluster that nobody gave a name.
impl Default for ClusterId {
    fn default() -> Self {
        ClusterId("default".into())
    }
}

/// The identity Kubernetes gave an object. Names come back; a UID never does, so effects are keyed by it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uid(String);

impl Uid {
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidId> {
        let text = text.into();
        let plain = text.chars().all(|c| c.is_ascii_graphic() && c != '/');
        check(text, plain, 128, "a UID", "1 to 128 printable ASCII characters, no slash").map(Uid)
    }
}

/// An opaque version: equal or not equal, never compared by size.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceVersion(String);

impl ResourceVersion {
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidId> {
        let text = text.into();
        let plain = text.chars().all(|c| c.is_ascii_graphic() && c != '/');
        check(text, plain, 128, "a resourceVersion", "1 to 128 printable ASCII characters, no slash")
            .map(ResourceVersion)
    }
}

/// A namespace: a DNS label.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Namespace(String);

impl Namespace {
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidId> {
        let text = text.into();
        let plain = is_dns_label(&text);
        check(text, plain, 63, "a namespace", "lower-case letters, digits and '-', at most 63, as in 'team-a'")
            .map(Namespace)
    }
}

/// The name of an object: a DNS subdomain.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectName(String);

impl ObjectName {
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidId> {
        let text = text.into();
        let plain = text.split('.').all(is_dns_label);
        let rule = "lower-case letters, digits, '-' and '.', at most 253, as in 'train-0'";
        check(text, plain, 253, "an object name", rule).map(ObjectName)
    }
}

fn check(text: String, plain: bool, most: usize, what: &'static str, rule: &'static str) -> Result<String, InvalidId> {
    if plain && !text.is_empty() && text.len() <= most {
        return Ok(text);
    }
    // What is echoed is bounded: the text came from outside and ends in an answer and a log line.
    let text = text.chars().take(80).collect();
    Err(InvalidId { what, text, rule })
}

fn is_dns_label(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(alphanumeric) && text.ends_with(alphanumeric) && text.chars().all(|c| alphanumeric(c) || c == '-')
}

macro_rules! reads_as_text {
    ($($name:ident),+) => {$(
        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )+};
}
reads_as_text!(ClusterId, Uid, ResourceVersion, Namespace, ObjectName);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rules_of_kubernetes() {
        for good in ["a", "train-0", "aks-gpu12.internal", "0"] {
            assert!(ObjectName::new(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a_b", "a..b", "pöd", "a b", &"x".repeat(254)] {
            assert!(ObjectName::new(bad).is_err(), "{bad}");
        }
        assert!(Namespace::new("a.b").is_err());
        assert!(Namespace::new("x".repeat(64)).is_err());
    }

    #[test]
    fn a_uid_has_no_slash_because_ids_join_it_with_one() {
        assert!(Uid::new("6f1c0d3e-1111-4222-8333-944444444444").is_ok());
        assert!(Uid::new("a/b").is_err());
        assert!(ResourceVersion::new("").is_err());
        assert!(ClusterId::new("two words").is_err());
    }

    #[test]
    fn an_error_echoes_only_the_beginning_of_what_it_was_given() {
        let error = ObjectName::new("X".repeat(10_000)).unwrap_err();
        assert!(error.to_string().len() < 250);
    }
}
