//! Labels: what an expression says about a value, what a selector selects, and which names mean the same label.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{NodeSelectorTerm, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::objects::Requirement;

pub type Labels = BTreeMap<String, String>;

pub const HOSTNAME: &str = "kubernetes.io/hostname";
pub const ZONE: &str = "topology.kubernetes.io/zone";
pub const REGION: &str = "topology.kubernetes.io/region";
pub const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
pub const ARCH: &str = "kubernetes.io/arch";
pub const OS: &str = "kubernetes.io/os";
pub const WINDOWS_BUILD: &str = "node.kubernetes.io/windows-build";
pub const CAPACITY_TYPE: &str = "karpenter.sh/capacity-type";
pub const NODE_POOL: &str = "karpenter.sh/nodepool";
pub const REGISTERED: &str = "karpenter.sh/registered";
pub const INITIALIZED: &str = "karpenter.sh/initialized";

/// Keys that a cloud knows even where no pool and no catalogue names them.
pub const WELL_KNOWN: &[&str] = &[NODE_POOL, ZONE, REGION, INSTANCE_TYPE, ARCH, OS, CAPACITY_TYPE, WINDOWS_BUILD];

/// The present name of a label that used to be called otherwise.
pub fn normal(key: &str) -> &str {
    match key {
        "failure-domain.beta.kubernetes.io/zone" => ZONE,
        "failure-domain.beta.kubernetes.io/region" => REGION,
        "beta.kubernetes.io/arch" => ARCH,
        "beta.kubernetes.io/os" => OS,
        "beta.kubernetes.io/instance-type" => INSTANCE_TYPE,
        // Storage drivers have their own words for it.
        "topology.disk.csi.azure.com/zone"
        | "topology.ebs.csi.aws.com/zone"
        | "topology.gke.io/zone"
        | "topology.csi.scaleway.com/zone" => ZONE,
        other => other,
    }
}

/// Whether a value, or its absence, satisfies an expression.
pub fn holds(operator: &str, values: &[String], value: Option<&str>) -> bool {
    let listed = |value: &str| values.iter().any(|one| one == value);
    let compared = |test: fn(i64, i64) -> bool| {
        let bound = values.first().and_then(|bound| bound.parse().ok());
        let number = value.and_then(|value| value.parse().ok());
        matches!((number, bound), (Some(number), Some(bound)) if test(number, bound))
    };
    match operator {
        "In" => value.is_some_and(listed),
        "NotIn" => !value.is_some_and(listed),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compared(|number, bound| number > bound),
        "Lt" => compared(|number, bound| number < bound),
        "Gte" => compared(|number, bound| number >= bound),
        "Lte" => compared(|number, bound| number <= bound),
        _ => false,
    }
}

/// Whether all requirements on a key let a value pass.
pub fn allows(requirements: &[Requirement], key: &str, value: Option<&str>) -> bool {
    requirements.iter().filter(|one| normal(&one.key) == key).all(|one| holds(&one.operator, &one.values, value))
}

/// A finite stand-in for all values a label may have: everything the expressions mention, the numbers next to it, a value
/// that nobody mentions, and none at all. Whatever is true of all of these is true of every value.
pub fn representatives<'a>(mentioned: impl IntoIterator<Item = &'a String>) -> BTreeSet<Option<String>> {
    let mut all = BTreeSet::from([None, Some("some-other-value".to_owned()), Some("0".to_owned())]);
    for value in mentioned {
        all.insert(Some(value.clone()));
        if let Ok(number) = value.parse::<i64>() {
            for near in [number.saturating_sub(1), number.saturating_add(1)] {
                all.insert(Some(near.to_string()));
            }
        }
    }
    all
}

/// What a label selector selects. No selector selects nothing, an empty one everything.
pub fn selects(selector: Option<&LabelSelector>, labels: &Labels) -> bool {
    let Some(selector) = selector else { return false };
    let named = selector.match_labels.iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    let expressed = selector.match_expressions.iter().flatten().all(|one| {
        let values = one.values.as_deref().unwrap_or_default();
        holds(&one.operator, values, labels.get(&one.key).map(String::as_str))
    });
    named && expressed
}

/// What a pod demands of its node by labels: all of `selector`, and one of `terms` if there are any.
#[derive(Debug, Clone, Default)]
pub struct NodeDemand {
    pub selector: Vec<Requirement>,
    pub terms: Vec<NodeTerm>,
}

#[derive(Debug, Clone, Default)]
pub struct NodeTerm {
    pub labels: Vec<Requirement>,
    /// Demands on the name of the node.
    pub names: Vec<Requirement>,
}

impl NodeDemand {
    pub fn of(pod: &Pod) -> Self {
        let Some(spec) = &pod.spec else { return Self::default() };
        let selector = spec.node_selector.iter().flatten().map(|(key, value)| Requirement {
            key: normal(key).to_owned(),
            operator: "In".to_owned(),
            values: vec![value.clone()],
            min_values: None,
        });
        let required = spec
            .affinity
            .as_ref()
            .and_then(|affinity| affinity.node_affinity.as_ref())
            .and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
        let terms = required.iter().flat_map(|required| &required.node_selector_terms).map(NodeTerm::of).collect();
        Self { selector: selector.collect(), terms }
    }

    /// From terms that are alternatives, as volumes have them.
    pub fn any_of(terms: Vec<NodeTerm>) -> Self {
        Self { selector: Vec::new(), terms }
    }

    /// The same with one of its alternatives only.
    pub fn with_term(&self, term: &NodeTerm) -> Self {
        Self { selector: self.selector.clone(), terms: vec![term.clone()] }
    }

    pub fn is_empty(&self) -> bool {
        self.selector.is_empty() && self.terms.is_empty()
    }

    fn requirements(&self) -> impl Iterator<Item = &Requirement> {
        self.selector.iter().chain(self.terms.iter().flat_map(|term| &term.labels))
    }

    /// The keys it looks at.
    pub fn keys(&self) -> BTreeSet<&str> {
        self.requirements().map(|one| one.key.as_str()).collect()
    }

    /// The values it mentions for a key.
    pub fn mentioned(&self, key: &str) -> impl Iterator<Item = &String> {
        self.requirements().filter(move |one| one.key == key).flat_map(|one| &one.values)
    }

    /// Whether a node with this name and these labels will do.
    pub fn accepts<'a>(&self, name: Option<&str>, value: impl Fn(&str) -> Option<&'a str>) -> bool {
        let all = |some: &[Requirement]| some.iter().all(|one| holds(&one.operator, &one.values, value(&one.key)));
        let named = |some: &[Requirement]| some.iter().all(|one| holds(&one.operator, &one.values, name));
        let term = |term: &NodeTerm| {
            // A term without expressions matches no node.
            !(term.labels.is_empty() && term.names.is_empty()) && all(&term.labels) && named(&term.names)
        };
        all(&self.selector) && (self.terms.is_empty() || self.terms.iter().any(term))
    }
}

impl NodeTerm {
    pub fn of(term: &NodeSelectorTerm) -> Self {
        let convert = |one: &k8s_openapi::api::core::v1::NodeSelectorRequirement| Requirement {
            key: normal(&one.key).to_owned(),
            operator: one.operator.clone(),
            values: one.values.clone().unwrap_or_default(),
            min_values: None,
        };
        Self {
            labels: term.match_expressions.iter().flatten().map(convert).collect(),
            names: term.match_fields.iter().flatten().map(convert).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_holds_for_values_and_for_none() {
        let values = |text: &str| text.split(' ').filter(|one| !one.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        for (operator, list, value, expected) in [
            ("In", "a b", Some("a"), true),
            ("In", "a b", Some("c"), false),
            ("In", "a b", None, false),
            ("NotIn", "a b", Some("a"), false),
            ("NotIn", "a b", None, true),
            ("Exists", "", Some(""), true),
            ("Exists", "", None, false),
            ("DoesNotExist", "", None, true),
            ("Gt", "4", Some("5"), true),
            ("Gt", "4", Some("4"), false),
            ("Gte", "4", Some("4"), true),
            ("Lt", "4", Some("3"), true),
            ("Lte", "4", Some("5"), false),
            ("Gt", "4", Some("many"), false),
            ("Gt", "4", None, false),
            ("Maybe", "4", Some("4"), false),
        ] {
            assert_eq!(holds(operator, &values(list), value), expected, "{operator} {list} {value:?}");
        }
    }

    #[test]
    fn representatives_tell_exists_from_a_bound() {
        let all = representatives(&["4".to_owned()]);
        for value in [None, Some("3"), Some("4"), Some("5"), Some("some-other-value")] {
            assert!(all.contains(&value.map(str::to_owned)), "{value:?}");
        }
    }
}
