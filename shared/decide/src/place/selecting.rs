//! Which pods a label selector selects, as a set of kins.

use model::place::{PodTerm, PodToPlace, Scene, Selector, Spread};
use model::{Labels, Operator, Requirement};

use super::mask::Mask;
use super::shapes::{Kin, Kins};

/// The kins that a term of pod affinity selects. `namespace` and `labels` are those of the pod that has the term.
pub fn of_term(term: &PodTerm, namespace: &str, labels: &Labels, kins: &Kins<'_>, scene: &Scene) -> Mask {
    let Some(selector) = &term.selector else { return Mask::none(kins.len()) };
    let own = term.namespaces.is_empty() && term.namespace_selector.is_none();
    let in_namespace = |candidate: &str| {
        (own && candidate == namespace)
            || term.namespaces.iter().any(|listed| listed.as_str() == candidate)
            || term.namespace_selector.as_ref().is_some_and(|selector| selects_namespace(selector, candidate, scene))
    };
    let shared = |kin: Kin| {
        term.match_label_keys.iter().all(|key| labels.get(key).is_none_or(|own| kins.label(kin, key) == Some(own)))
    };
    let unlike = |kin: Kin| {
        term.mismatch_label_keys.iter().all(|key| labels.get(key).is_none_or(|own| kins.label(kin, key) != Some(own)))
    };
    select(selector, kins, |kin| in_namespace(kins.namespace(kin)) && shared(kin) && unlike(kin))
}

/// The kins that a spread constraint counts: of the pod's own namespace.
pub fn of_spread(spread: &Spread, selector: Option<&Selector>, pod: &PodToPlace, kins: &Kins<'_>) -> Mask {
    let Some(selector) = selector else { return Mask::none(kins.len()) };
    let shared = |kin: Kin| {
        spread
            .match_label_keys
            .iter()
            .all(|key| pod.labels.get(key).is_none_or(|own| kins.label(kin, key) == Some(own)))
    };
    select(selector, kins, |kin| kins.namespace(kin) == pod.namespace.as_str() && shared(kin))
}

fn select(selector: &Selector, kins: &Kins<'_>, also: impl Fn(Kin) -> bool) -> Mask {
    let first = selector.labels.iter().next().map(|(key, value)| (key.as_str(), value.as_str()));
    let mut mask = Mask::none(kins.len());
    for kin in kins.with_label(first) {
        if selects(selector, |key| kins.label(kin, key)) && also(kin) {
            mask.insert(kin);
        }
    }
    mask
}

fn selects<'v>(selector: &Selector, label: impl Fn(&str) -> Option<&'v str>) -> bool {
    selector.labels.iter().all(|(key, value)| label(key) == Some(value))
        && selector.expressions.iter().all(|expression| keeps(expression, label(&expression.key)))
}

fn keeps(expression: &Requirement, value: Option<&str>) -> bool {
    let listed = value.is_some_and(|value| expression.values.iter().any(|listed| listed == value));
    match expression.operator {
        Operator::In => listed,
        Operator::NotIn => !listed,
        Operator::Exists => value.is_some(),
        Operator::DoesNotExist => value.is_none(),
        Operator::Gt | Operator::Lt | Operator::Gte | Operator::Lte => false,
    }
}

fn selects_namespace(selector: &Selector, namespace: &str, scene: &Scene) -> bool {
    const NAME: &str = "kubernetes.io/metadata.name";
    let labels = scene.namespaces.get(namespace);
    let label = |key: &str| match labels.and_then(|labels| labels.get(key)) {
        Some(value) => Some(value.as_str()),
        None => (key == NAME).then_some(namespace),
    };
    selector.labels.iter().all(|(key, value)| label(key) == Some(value))
        && selector.expressions.iter().all(|expression| keeps(expression, label(&expression.key)))
}
