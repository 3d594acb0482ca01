//! The rules of a pod in our words: selectors, node affinity, affinity between pods, spread. An error names the field.

use k8s_openapi::{
    api::core::v1::{
        NodeSelectorRequirement, NodeSelectorTerm, PodAffinityTerm, PodSpec, PreferredSchedulingTerm,
        TopologySpreadConstraint, WeightedPodAffinityTerm,
    },
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};
use model::{
    Namespace, Operator, Requirement,
    place::{NodePolicy, NodeTerm, PodTerm, Selector, Spread, Weighted, WhenUnsatisfiable},
};

/// Everything of `spec.affinity`.
#[derive(Debug, Default)]
pub(super) struct Affinities {
    pub node: Vec<NodeTerm>,
    pub preferred_node: Vec<Weighted<NodeTerm>>,
    pub near: Vec<PodTerm>,
    pub preferred_near: Vec<Weighted<PodTerm>>,
    pub apart: Vec<PodTerm>,
    pub preferred_apart: Vec<Weighted<PodTerm>>,
}

pub(super) fn affinities(spec: &PodSpec) -> Result<Affinities, String> {
    let mut all = Affinities::default();
    let Some(affinity) = &spec.affinity else { return Ok(all) };
    let path = |part: &str, when: &str| format!("spec.affinity.{part}.{when}DuringSchedulingIgnoredDuringExecution");
    if let Some(of_nodes) = &affinity.node_affinity {
        if let Some(required) = &of_nodes.required_during_scheduling_ignored_during_execution {
            let path = format!("{}.nodeSelectorTerms", path("nodeAffinity", "required"));
            all.node = node_terms(&path, &required.node_selector_terms)?;
        }
        let preferred = of_nodes.preferred_during_scheduling_ignored_during_execution.as_deref().unwrap_or_default();
        all.preferred_node = each(&path("nodeAffinity", "preferred"), preferred, preferred_node_term)?;
    }
    if let Some(near) = &affinity.pod_affinity {
        let required = near.required_during_scheduling_ignored_during_execution.as_deref().unwrap_or_default();
        let preferred = near.preferred_during_scheduling_ignored_during_execution.as_deref().unwrap_or_default();
        all.near = each(&path("podAffinity", "required"), required, pod_term)?;
        all.preferred_near = each(&path("podAffinity", "preferred"), preferred, preferred_pod_term)?;
    }
    if let Some(apart) = &affinity.pod_anti_affinity {
        let preferred = apart.preferred_during_scheduling_ignored_during_execution.as_deref().unwrap_or_default();
        all.apart = self::apart(spec).into_iter().collect::<Result<_, String>>()?;
        all.preferred_apart = each(&path("podAntiAffinity", "preferred"), preferred, preferred_pod_term)?;
    }
    Ok(all)
}

/// The pods that it keeps away, wherever it is. The errors name the field.
pub(super) fn apart(spec: &PodSpec) -> Vec<Result<PodTerm, String>> {
    let path = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution";
    let given = spec.affinity.as_ref().and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    let terms = given.and_then(|given| given.required_during_scheduling_ignored_during_execution.as_deref());
    let terms = terms.unwrap_or_default().iter().enumerate();
    terms.map(|(index, term)| pod_term(&format!("{path}[{index}]"), term)).collect()
}

pub(super) fn spreads(spec: &PodSpec) -> Result<Vec<Spread>, String> {
    let given = spec.topology_spread_constraints.as_deref().unwrap_or_default();
    each("spec.topologySpreadConstraints", given, spread)
}

pub(super) fn spread(path: &str, given: &TopologySpreadConstraint) -> Result<Spread, String> {
    let policy = |field: &str, text: Option<&str>, usual: NodePolicy| match text {
        None | Some("") => Ok(usual),
        Some("Honor") => Ok(NodePolicy::Honor),
        Some("Ignore") => Ok(NodePolicy::Ignore),
        Some(other) => Err(format!("{path}.{field}: {other:?} is not a policy: Honor or Ignore")),
    };
    if given.topology_key.is_empty() {
        return Err(format!("{path}.topologyKey is empty: name the label that tells places apart"));
    }
    let max_skew = u32::try_from(given.max_skew).ok().filter(|skew| *skew > 0);
    let min_domains = given.min_domains.map(|domains| u32::try_from(domains).ok().filter(|domains| *domains > 0));
    Ok(Spread {
        max_skew: max_skew.ok_or_else(|| format!("{path}.maxSkew is {}: it has to be at least 1", given.max_skew))?,
        topology_key: given.topology_key.clone(),
        when_unsatisfiable: match given.when_unsatisfiable.as_str() {
            "DoNotSchedule" => WhenUnsatisfiable::DoNotSchedule,
            "ScheduleAnyway" => WhenUnsatisfiable::ScheduleAnyway,
            other => {
                return Err(format!("{path}.whenUnsatisfiable is {other:?}: write DoNotSchedule or ScheduleAnyway"));
            }
        },
        selector: selector(&format!("{path}.labelSelector"), given.label_selector.as_ref())?,
        min_domains: min_domains
            .map(|domains| domains.ok_or_else(|| format!("{path}.minDomains has to be at least 1")))
            .transpose()?,
        node_affinity_policy: policy("nodeAffinityPolicy", given.node_affinity_policy.as_deref(), NodePolicy::Honor)?,
        node_taints_policy: policy("nodeTaintsPolicy", given.node_taints_policy.as_deref(), NodePolicy::Ignore)?,
        match_label_keys: given.match_label_keys.clone().unwrap_or_default(),
    })
}

/// An absent selector stays absent: it selects nothing, where an empty one selects everything.
pub(super) fn selector(path: &str, given: Option<&LabelSelector>) -> Result<Option<Selector>, String> {
    let Some(given) = given else { return Ok(None) };
    let expressions = given.match_expressions.as_deref().unwrap_or_default();
    let expressions = each(&format!("{path}.matchExpressions"), expressions, |path, one| {
        let operator: Operator = one.operator.parse().map_err(|error| format!("{path}.operator: {error}"))?;
        if is_bound(operator) {
            return Err(format!("{path}.operator: {operator} compares numbers, which selectors of pods do not"));
        }
        sensible(path, Requirement { key: one.key.clone(), operator, values: one.values.clone().unwrap_or_default() })
    })?;
    Ok(Some(Selector { labels: given.match_labels.clone().unwrap_or_default().into(), expressions }))
}

/// Terms of which one has to hold, so there has to be one.
pub(super) fn node_terms(path: &str, given: &[NodeSelectorTerm]) -> Result<Vec<NodeTerm>, String> {
    if given.is_empty() {
        return Err(format!("{path} is empty: name a term, or leave the rule out"));
    }
    each(path, given, node_term)
}

pub(super) fn node_term(path: &str, given: &NodeSelectorTerm) -> Result<NodeTerm, String> {
    let expressions = given.match_expressions.as_deref().unwrap_or_default();
    let fields = given.match_fields.as_deref().unwrap_or_default();
    Ok(NodeTerm {
        expressions: each(&format!("{path}.matchExpressions"), expressions, requirement)?,
        fields: each(&format!("{path}.matchFields"), fields, requirement)?,
    })
}

pub(super) fn requirement(path: &str, given: &NodeSelectorRequirement) -> Result<Requirement, String> {
    let operator: Operator = given.operator.parse().map_err(|error| format!("{path}.operator: {error}"))?;
    sensible(path, Requirement { key: given.key.clone(), operator, values: given.values.clone().unwrap_or_default() })
}

/// As many values as the operator takes, as the API server has it.
fn sensible(path: &str, given: Requirement) -> Result<Requirement, String> {
    let (operator, values) = (given.operator, &given.values);
    match operator {
        Operator::In | Operator::NotIn if values.is_empty() => {
            Err(format!("{path}.values is empty: {operator} needs a value"))
        }
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
            Err(format!("{path}.values: {operator} takes no values"))
        }
        _ if is_bound(operator) && (values.len() != 1 || !values.iter().all(|value| is_number(value))) => {
            Err(format!("{path}.values: {operator} needs one whole number that is not negative"))
        }
        _ => Ok(given),
    }
}

fn is_number(text: &str) -> bool {
    text.parse::<i64>().is_ok_and(|number| number >= 0)
}

fn is_bound(operator: Operator) -> bool {
    matches!(operator, Operator::Gt | Operator::Lt | Operator::Gte | Operator::Lte)
}

/// Converts a list; the path of an element carries its index.
pub(super) fn each<G, T>(
    path: &str,
    given: &[G],
    convert: impl Fn(&str, &G) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    given.iter().enumerate().map(|(index, one)| convert(&format!("{path}[{index}]"), one)).collect()
}

fn preferred_node_term(path: &str, given: &PreferredSchedulingTerm) -> Result<Weighted<NodeTerm>, String> {
    Ok(Weighted { weight: given.weight, term: node_term(&format!("{path}.preference"), &given.preference)? })
}

fn preferred_pod_term(path: &str, given: &WeightedPodAffinityTerm) -> Result<Weighted<PodTerm>, String> {
    let term = pod_term(&format!("{path}.podAffinityTerm"), &given.pod_affinity_term)?;
    Ok(Weighted { weight: given.weight, term })
}

fn pod_term(path: &str, given: &PodAffinityTerm) -> Result<PodTerm, String> {
    if given.topology_key.is_empty() {
        return Err(format!("{path}.topologyKey is empty: name the label that tells places apart"));
    }
    let namespaces = given.namespaces.as_deref().unwrap_or_default();
    Ok(PodTerm {
        topology_key: given.topology_key.clone(),
        selector: selector(&format!("{path}.labelSelector"), given.label_selector.as_ref())?,
        namespaces: each(&format!("{path}.namespaces"), namespaces, |path, name| {
            Namespace::new(name).map_err(|error| format!("{path}: {error}"))
        })?,
        namespace_selector: selector(&format!("{path}.namespaceSelector"), given.namespace_selector.as_ref())?,
        match_label_keys: given.match_label_keys.clone().unwrap_or_default(),
        mismatch_label_keys: given.mismatch_label_keys.clone().unwrap_or_default(),
    })
}
