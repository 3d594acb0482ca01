//! The settings file: `KEY=VALUE` lines, or a flat YAML or JSON mapping. The names are those of the environment.

use serde_json::Value;
use std::{collections::BTreeMap, fs};

/// A settings file is small; a path to something else is a mistake.
const MOST_BYTES: u64 = 1024 * 1024;

pub fn read(path: &str) -> Result<BTreeMap<String, String>, String> {
    let size = fs::metadata(path).map_err(|error| format!("cannot read {path:?}: {error}"))?.len();
    if size > MOST_BYTES {
        return Err(format!("{path:?} has {size} bytes, a settings file has at most {MOST_BYTES}"));
    }
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {path:?}: {error}"))?;
    parse(&text).map_err(|problem| format!("in {path:?}, {problem}"))
}

fn parse(text: &str) -> Result<BTreeMap<String, String>, String> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#') && *line != "---");
    match first {
        None => Ok(BTreeMap::new()),
        Some(line) if is_mapping(line) => parse_mapping(text),
        Some(_) => parse_lines(text),
    }
}

/// `{` opens JSON; a colon before any `=` is YAML.
fn is_mapping(line: &str) -> bool {
    let name_end = line.find([':', '=']);
    line.starts_with('{') || name_end.is_some_and(|end| line[end..].starts_with(':'))
}

fn parse_mapping(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mapping: BTreeMap<String, Value> = serde_saphyr::from_str(text)
        .map_err(|_| "the text is neither KEY=VALUE lines nor a YAML mapping of names to values".to_owned())?;
    mapping.into_iter().map(|(name, value)| scalar(&name, value).map(|text| (name, text))).collect()
}

fn scalar(name: &str, value: Value) -> Result<String, String> {
    match value {
        Value::Null => Ok(String::new()),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Number(value) => Ok(value.to_string()),
        Value::String(text) => Ok(text),
        Value::Array(items) => {
            let words: Result<Vec<String>, String> = items.into_iter().map(|item| scalar(name, item)).collect();
            words.map(|words| words.join(" "))
        }
        Value::Object(_) => Err(format!("{name:?} is a mapping, expected a text, number or list")),
    }
}

fn parse_lines(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut settings = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or_else(|| format!("line {} is not KEY=VALUE", index + 1))?;
        settings.insert(name.trim().to_owned(), unquoted(value.trim()).to_owned());
    }
    Ok(settings)
}

fn unquoted(value: &str) -> &str {
    let between = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    between('"').or_else(|| between('\'')).unwrap_or(value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn three_ways_of_writing_say_the_same() {
        let lines = "# ours\nexport PORT=9090\nPILOTLIGHT_LOG = \"info\"\n\nPILOTLIGHT_ALLOW_UNSIGNED=true\n";
        let yaml = "# ours\n---\nPORT: 9090\nPILOTLIGHT_LOG: info\nPILOTLIGHT_ALLOW_UNSIGNED: true\n";
        let json = r#"{"PORT": 9090, "PILOTLIGHT_LOG": "info", "PILOTLIGHT_ALLOW_UNSIGNED": true}"#;
        let expected = parse(lines).unwrap();
        assert_eq!(expected.get("PORT").unwrap(), "9090");
        assert_eq!(parse(yaml).unwrap(), expected);
        assert_eq!(parse(json).unwrap(), expected);
    }

    #[test]
    fn a_list_of_secrets_is_joined_and_a_value_may_hold_an_equals_sign() {
        let yaml = "PILOTLIGHT_SIGNING_SECRETS:\n  - whsec_a\n  - whsec_b=\n";
        assert_eq!(parse(yaml).unwrap()["PILOTLIGHT_SIGNING_SECRETS"], "whsec_a whsec_b=");
        assert_eq!(parse("A=b=c").unwrap()["A"], "b=c");
        assert!(parse("").unwrap().is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_an_error_that_shows_no_value() {
        assert_eq!(parse("A=1\nwhsec_hidden").unwrap_err(), "line 2 is not KEY=VALUE");
        assert!(!parse("A: [whsec_hidden").unwrap_err().contains("hidden"));
        assert!(parse("A:\n  B: 1").unwrap_err().contains("\"A\" is a mapping"));
    }
}
