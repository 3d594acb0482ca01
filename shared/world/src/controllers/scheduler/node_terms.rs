//! Node selectors, node affinity and tolerations: what a pod says about the nodes it wants.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

use crate::controllers::fields;

/// One term of a node selector: all of its requirements must hold.
#[derive(Debug, Clone)]
pub(in crate::controllers) struct NodeTerm {
    labels: Vec<Requirement>,
    names: Vec<Requirement>,
}

#[derive(Debug, Clone)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Gt,
    Lt,
}

impl NodeTerm {
    /// `None` for a term with an operator that does not exist, which matches nothing.
    pub(in crate::controllers) fn parse(term: &Value) -> Option<Self> {
        let all = |field: &str| fields::list(&term[field]).iter().map(Requirement::parse).collect::<Option<Vec<_>>>();
        Some(NodeTerm { labels: all("matchExpressions")?, names: all("matchFields")? })
    }

    pub(in crate::controllers) fn matches(&self, name: &str, labels: &BTreeMap<String, String>) -> bool {
        let by_label = |one: &Requirement| one.holds(labels.get(&one.key).map(String::as_str));
        let by_name = |one: &Requirement| one.key == "metadata.name" && one.holds(Some(name));
        // A term without requirements matches no node.
        let says_something = !self.labels.is_empty() || !self.names.is_empty();
        says_something && self.labels.iter().all(by_label) && self.names.iter().all(by_name)
    }

    /// The only nodes this term can mean, where it names them.
    pub(super) fn only(&self) -> Option<BTreeSet<String>> {
        let named = self.names.iter().find(|one| one.operator == Operator::In && one.key == "metadata.name")?;
        Some(named.values.iter().cloned().collect())
    }
}

impl Requirement {
    fn parse(value: &Value) -> Option<Self> {
        let operator = match value["operator"].as_str()? {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            "Gt" => Operator::Gt,
            "Lt" => Operator::Lt,
            _ => return None,
        };
        let values = fields::list(&value["values"]).iter().filter_map(Value::as_str).map(str::to_owned).collect();
        Some(Requirement { key: value["key"].as_str()?.to_owned(), operator, values })
    }

    fn holds(&self, found: Option<&str>) -> bool {
        let numbers = || Some((found?.parse::<i64>().ok()?, self.values.first()?.parse::<i64>().ok()?));
        match self.operator {
            Operator::In => found.is_some_and(|found| self.values.iter().any(|value| value == found)),
            Operator::NotIn => !found.is_some_and(|found| self.values.iter().any(|value| value == found)),
            Operator::Exists => found.is_some(),
            Operator::DoesNotExist => found.is_none(),
            Operator::Gt => numbers().is_some_and(|(found, bound)| found > bound),
            Operator::Lt => numbers().is_some_and(|(found, bound)| found < bound),
        }
    }
}

/// The terms of a node selector; any of them suffices. `None` where there is no selector.
pub(in crate::controllers) fn node_selector(selector: &Value) -> Option<Vec<NodeTerm>> {
    selector.as_object()?;
    Some(fields::list(&selector["nodeSelectorTerms"]).iter().filter_map(NodeTerm::parse).collect())
}

/// Whether a toleration is for a taint.
pub(in crate::controllers) fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let effect = text(toleration, "effect");
    if !effect.is_empty() && effect != text(taint, "effect") {
        return false;
    }
    let key = text(toleration, "key");
    if !key.is_empty() && key != text(taint, "key") {
        return false;
    }
    match toleration["operator"].as_str().unwrap_or("Equal") {
        "Exists" => true,
        "Equal" | "" => !key.is_empty() && text(toleration, "value") == text(taint, "value"),
        _ => false,
    }
}

/// The first taint that keeps a pod with these tolerations off a node.
pub(in crate::controllers) fn untolerated<'a>(tolerations: &[Value], taints: &'a [Value]) -> Option<&'a Value> {
    let keeps_off = |taint: &&Value| taint["effect"] == "NoSchedule" || taint["effect"] == "NoExecute";
    taints.iter().filter(keeps_off).find(|taint| !tolerations.iter().any(|one| tolerates(one, taint)))
}

pub(in crate::controllers) fn label_map(labels: &Value) -> BTreeMap<String, String> {
    let pairs = labels.as_object().into_iter().flatten();
    pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tolerations_cover_what_they_say_and_no_more() {
        let taint = json!({ "key": "gpu", "value": "yes", "effect": "NoSchedule" });
        for yes in [
            json!({ "operator": "Exists" }),
            json!({ "key": "gpu", "value": "yes" }),
            json!({ "key": "gpu", "operator": "Exists", "effect": "NoSchedule" }),
        ] {
            assert!(tolerates(&yes, &taint), "{yes}");
        }
        for no in [
            json!({ "key": "gpu" }),
            json!({ "key": "gpu", "value": "yes", "effect": "NoExecute" }),
            json!({ "key": "x", "operator": "Exists" }),
        ] {
            assert!(!tolerates(&no, &taint), "{no}");
        }
    }

    #[test]
    fn terms_hold_all_their_requirements_and_empty_ones_hold_nothing() {
        let labels = label_map(&json!({ "zone": "a", "size": "8" }));
        let matches = |term: Value| NodeTerm::parse(&term).is_some_and(|term| term.matches("n1", &labels));
        let one =
            |key: &str, operator: &str, values: Value| json!({ "key": key, "operator": operator, "values": values });
        assert!(matches(
            json!({ "matchExpressions": [one("zone", "In", json!(["a"])), one("size", "Gt", json!(["7"]))] })
        ));
        assert!(matches(json!({ "matchFields": [one("metadata.name", "In", json!(["n1"]))] })));
        assert!(!matches(json!({ "matchExpressions": [one("size", "Lt", json!(["8"]))] })));
        assert!(!matches(json!({})));
    }
}
