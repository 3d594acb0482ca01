//! What the disruption controller would have written into PodDisruptionBudgets that say nothing about themselves.

use k8s_openapi::{
    api::{
        core::v1::Pod,
        policy::v1::{PodDisruptionBudget, PodDisruptionBudgetStatus},
    },
    apimachinery::pkg::{apis::meta::v1::LabelSelector, util::intstr::IntOrString},
};
use std::collections::BTreeMap;

use super::manifest::Manifest;

pub fn judge(manifest: &mut Manifest) {
    let Manifest { budgets, pods, .. } = manifest;
    for budget in budgets.iter_mut().filter(|budget| budget.status.is_none()) {
        budget.status = Some(status(budget, pods));
    }
}

fn status(budget: &PodDisruptionBudget, pods: &[Pod]) -> PodDisruptionBudgetStatus {
    let spec = budget.spec.clone().unwrap_or_default();
    let selected: Vec<&Pod> = pods
        .iter()
        .filter(|pod| pod.metadata.namespace == budget.metadata.namespace && !is_over(pod))
        .filter(|pod| spec.selector.as_ref().is_some_and(|selector| selects(selector, pod)))
        .collect();
    let expected = count(selected.len());
    let healthy = count(selected.iter().filter(|pod| is_healthy(pod)).count());
    let desired = match (&spec.max_unavailable, &spec.min_available) {
        (Some(most), _) => (expected - share(most, expected)).max(0),
        (None, Some(least)) => share(least, expected),
        (None, None) => 0,
    };
    PodDisruptionBudgetStatus {
        current_healthy: Some(healthy),
        desired_healthy: Some(desired),
        expected_pods: Some(expected),
        disruptions_allowed: Some((healthy - desired).max(0)),
        ..PodDisruptionBudgetStatus::default()
    }
}

fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// A share is rounded up, as Kubernetes does for both kinds. What cannot be read is everything.
fn share(given: &IntOrString, of: i32) -> i32 {
    match given {
        IntOrString::Int(number) => *number,
        IntOrString::String(text) => {
            let percent = text.strip_suffix('%').and_then(|number| number.parse::<i64>().ok());
            let part = percent.map(|percent| (i64::from(of) * percent + 99) / 100);
            part.and_then(|part| i32::try_from(part).ok()).unwrap_or(of)
        }
    }
}

fn is_over(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

fn is_healthy(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    pod.metadata.deletion_timestamp.is_none()
        && conditions.iter().any(|one| one.type_ == "Ready" && one.status == "True")
}

fn selects(selector: &LabelSelector, pod: &Pod) -> bool {
    let none = BTreeMap::new();
    let labels = pod.metadata.labels.as_ref().unwrap_or(&none);
    let named = selector.match_labels.iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    let expressions = selector.match_expressions.as_deref().unwrap_or_default();
    named
        && expressions.iter().all(|one| {
            let values = one.values.as_deref().unwrap_or_default();
            match (one.operator.as_str(), labels.get(&one.key)) {
                ("In", Some(value)) => values.contains(value),
                ("NotIn", Some(value)) => !values.contains(value),
                ("Exists", value) => value.is_some(),
                ("DoesNotExist", value) => value.is_none(),
                ("NotIn", None) => true,
                _ => false,
            }
        })
}
