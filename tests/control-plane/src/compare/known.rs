//! Differences that are known, each with its reason. What is not in the list fails; what no longer happens does too.

use serde::Deserialize;
use std::path::Path;

use super::{play::Found, scenario::ScenarioError};

pub const FILE: &str = "known.yaml";

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The scenario's name; `*` stands for any text, here and in `path`.
    pub scenario: String,
    pub path: String,
    pub reason: String,
}

impl Known {
    pub fn covers(&self, found: &Found) -> bool {
        matches(&self.scenario, &found.scenario) && matches(&self.path, &found.difference.path)
    }
}

pub fn read(folder: &Path) -> Result<Vec<Known>, ScenarioError> {
    let path = folder.join(FILE);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| ScenarioError::Unreadable { path: path.clone(), why: error.to_string() })?;
    serde_saphyr::from_str(&text).map_err(|error| ScenarioError::NoScenarios { path, why: error.to_string() })
}

fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(head) else { return false };
    loop {
        if matches(rest, left) {
            return true;
        }
        let mut characters = left.chars();
        if characters.next().is_none() {
            return false;
        }
        left = characters.as_str();
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, text, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*.b", "a.c.b", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abcdf", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
