//! The event that is sent: a good sample of the measured function, as it is, and wrapped as each platform delivers it.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::Result;
use crate::size::MEASURED_FUNCTION;

/// One structured CloudEvent as text.
#[derive(Debug, Clone)]
pub struct Event(pub String);

/// The first good sample by name, so that every run sends the same one.
pub fn choose(folder: &Path) -> Result<Event> {
    let listing = fs::read_dir(folder).map_err(|cause| format!("{}: {cause}", folder.display()))?;
    let mut names: Vec<String> = listing.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    let name = names.iter().find(|name| is_good(name));
    let name = name.ok_or_else(|| format!("{} has no good {MEASURED_FUNCTION}.<case>.json", folder.display()))?;
    let text = fs::read_to_string(folder.join(name)).map_err(|cause| format!("{name}: {cause}"))?;
    let event: Value = serde_json::from_str(&text).map_err(|cause| format!("{name}: {cause}"))?;
    Ok(Event(event.to_string()))
}

fn is_good(name: &str) -> bool {
    let case = name.strip_suffix(".json").and_then(|stem| stem.strip_prefix(MEASURED_FUNCTION)?.strip_prefix('.'));
    case.is_some_and(|case| !["bad-", "unknown-", "other-"].iter().any(|prefix| case.starts_with(prefix)))
}

impl Event {
    /// As the Azure Functions host passes a queue message on: a string-typed trigger is JSON-encoded twice.
    pub fn for_azure(&self) -> String {
        let encoded_once = Value::from(self.0.as_str()).to_string();
        json!({"Data": {"msg": encoded_once}, "Metadata": {}}).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, is_good};

    #[test]
    fn only_good_samples_of_the_measured_function_are_sent() {
        assert!(is_good("on-nodeclaim.created.json"));
        for name in [
            "on-nodeclaim.bad-json.json",
            "on-nodeclaim.unknown-type.json",
            "on-delete.created.json",
            "on-nodeclaim.json",
        ] {
            assert!(!is_good(name), "{name}");
        }
    }

    #[test]
    fn azure_gets_the_event_encoded_twice() {
        let envelope: serde_json::Value = serde_json::from_str(&Event(r#"{"id":"1"}"#.into()).for_azure()).unwrap();
        assert_eq!(envelope["Data"]["msg"], r#""{\"id\":\"1\"}""#);
    }
}
