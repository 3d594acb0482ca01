//! Label and field selectors, as query parameters write them.

use serde_json::Value;

use super::label_parser::{self, Operator};

/// A label selector: every requirement must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<LabelRequirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum LabelRequirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    DoesNotExist(String),
    Greater(String, i64),
    Less(String, i64),
}

/// A field selector: every term must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSelector(Vec<(String, String, bool)>);

impl LabelSelector {
    pub fn parse(text: &str) -> Result<Self, String> {
        let requirements = label_parser::parse(text)?.into_iter().map(|written| {
            let (key, values) = (written.key, written.values);
            let number = |values: &[String]| values.first().and_then(|value| value.parse().ok()).unwrap_or_default();
            match written.operator {
                Operator::In => LabelRequirement::In(key, values),
                Operator::NotIn => LabelRequirement::NotIn(key, values),
                Operator::Exists => LabelRequirement::Exists(key),
                Operator::DoesNotExist => LabelRequirement::DoesNotExist(key),
                Operator::Greater => LabelRequirement::Greater(key, number(&values)),
                Operator::Less => LabelRequirement::Less(key, number(&values)),
            }
        });
        Ok(LabelSelector(requirements.collect()))
    }

    /// From `matchLabels` and `matchExpressions`; an absent selector matches nothing, an empty one everything.
    pub fn from_object(selector: &Value) -> Option<Self> {
        let selector = selector.as_object()?;
        let mut requirements = Vec::new();
        for (key, value) in selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
            requirements.push(LabelRequirement::In(key.clone(), vec![value.as_str()?.to_owned()]));
        }
        for expression in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
            let key = expression["key"].as_str()?.to_owned();
            let values: Vec<String> = expression["values"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
            requirements.push(match expression["operator"].as_str()? {
                "In" => LabelRequirement::In(key, values),
                "NotIn" => LabelRequirement::NotIn(key, values),
                "Exists" => LabelRequirement::Exists(key),
                "DoesNotExist" => LabelRequirement::DoesNotExist(key),
                _ => return None,
            });
        }
        Some(LabelSelector(requirements))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn matches(&self, object: &Value) -> bool {
        self.matches_labels(&object["metadata"]["labels"])
    }

    pub fn matches_labels(&self, labels: &Value) -> bool {
        let label = |key: &str| labels.get(key).and_then(Value::as_str);
        let number = |key: &str| label(key).and_then(|value| value.parse::<i64>().ok());
        self.0.iter().all(|requirement| match requirement {
            LabelRequirement::In(key, values) => label(key).is_some_and(|value| values.iter().any(|one| one == value)),
            LabelRequirement::NotIn(key, values) => {
                !label(key).is_some_and(|value| values.iter().any(|one| one == value))
            }
            LabelRequirement::Exists(key) => label(key).is_some(),
            LabelRequirement::DoesNotExist(key) => label(key).is_none(),
            LabelRequirement::Greater(key, bound) => number(key).is_some_and(|value| value > *bound),
            LabelRequirement::Less(key, bound) => number(key).is_some_and(|value| value < *bound),
        })
    }
}

impl FieldSelector {
    pub fn parse(text: &str) -> Result<Self, String> {
        let terms = text.split(',').map(str::trim).filter(|term| !term.is_empty());
        let terms: Result<Vec<_>, String> = terms
            .map(|term| {
                let (key, value, equal) = if let Some((key, value)) = term.split_once("!=") {
                    (key, value, false)
                } else if let Some((key, value)) = term.split_once("==") {
                    (key, value, true)
                } else if let Some((key, value)) = term.split_once('=') {
                    (key, value, true)
                } else {
                    return Err(format!("invalid selector: '{text}'; can't understand '{term}'"));
                };
                Ok((key.trim().to_owned(), value.trim().to_owned(), equal))
            })
            .collect();
        terms.map(FieldSelector)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields it asks about, for checking them against what a resource supports.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(field, _, _)| field.as_str())
    }

    pub fn name(name: &str) -> Self {
        FieldSelector(vec![("metadata.name".to_owned(), name.to_owned(), true)])
    }

    /// A field that is absent is the empty text.
    pub fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|(field, wanted, equal)| {
            let value = field.split('.').fold(object, |value, part| &value[part]);
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                other => other.to_string(),
            };
            (text == *wanted) == *equal
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn label_selectors_mean_what_kubectl_means() {
        let object = json!({ "metadata": { "labels": { "app": "web", "tier": "1" } } });
        for yes in [
            "app=web",
            "app==web,tier!=2",
            "app in (web, api)",
            "app notin (x),tier",
            "!gone",
            "tier>0",
            "tier<2",
            "gone!=x",
            "",
            "app in(web)",
        ] {
            assert!(LabelSelector::parse(yes).unwrap().matches(&object), "{yes}");
        }
        for no in ["app=api", "!app", "app notin (web)", "gone", "tier>1", "app in ()"] {
            assert!(!LabelSelector::parse(no).unwrap().matches(&object), "{no}");
        }
        for bad in ["app web", "app in web", "tier>x"] {
            assert!(LabelSelector::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn field_selectors_read_a_missing_field_as_empty() {
        let object = json!({ "metadata": { "name": "x" }, "spec": { "nodeName": "n", "unschedulable": true } });
        for yes in ["metadata.name=x", "spec.nodeName!=", "status.phase=", "spec.unschedulable=true"] {
            assert!(FieldSelector::parse(yes).unwrap().matches(&object), "{yes}");
        }
        assert!(!FieldSelector::parse("spec.nodeName=").unwrap().matches(&object));
        assert!(FieldSelector::parse("nonsense").is_err());
    }
}
