//! Which pods of a node that goes away will not leave it yet: nobody looks for a place for them until they may.

use decide::requirement::Requirements;
use jiff::Timestamp;
use k8s_openapi::{
    api::{core::v1::Pod as KubePod, policy::v1::PodDisruptionBudget},
    apimachinery::pkg::util::intstr::IntOrString,
};
use model::{Pod, place::Selector};
use std::collections::BTreeMap;

use super::rules::selector;

/// Protected by an annotation that still holds, or by budgets that let none go.
pub(super) fn stays(raw: &KubePod, pod: &Pod, budgets: &[PodDisruptionBudget], now: Timestamp) -> bool {
    let active = !pod.terminal && pod.deleted_at.is_none();
    active && (is_protected(pod, now) || (!pod.is_left_by_drains() && is_blocked(raw, budgets)))
}

/// `true`, or a time from the pod's start that has not passed. Anything else protects nothing.
fn is_protected(pod: &Pod, now: Timestamp) -> bool {
    let Some(value) = pod.do_not_disrupt.as_deref() else { return false };
    if value == "true" {
        return true;
    }
    let lasts = model::duration::parse(value).filter(|lasts| lasts.is_positive());
    lasts.is_some_and(|lasts| pod.started_at.is_none_or(|started| now.duration_since(started) < lasts))
}

/// By one budget that never lets anything go, or by several: Kubernetes evicts no pod that has two.
fn is_blocked(pod: &KubePod, budgets: &[PodDisruptionBudget]) -> bool {
    let none = BTreeMap::new();
    let labels = pod.metadata.labels.as_ref().unwrap_or(&none);
    let of_pod = |budget: &&PodDisruptionBudget| {
        let given = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
        let selector = selector("spec.selector", given).ok().flatten();
        budget.metadata.namespace == pod.metadata.namespace && selector.is_some_and(|one| selects(&one, labels))
    };
    let found: Vec<&PodDisruptionBudget> = budgets.iter().filter(of_pod).collect();
    match found.as_slice() {
        [] => false,
        [budget] => is_fully_blocking(budget) && !(lets_unready_go(budget) && is_unready(pod)),
        _ => true,
    }
}

fn is_fully_blocking(budget: &PodDisruptionBudget) -> bool {
    let Some(spec) = &budget.spec else { return false };
    let is_text =
        |value: &Option<IntOrString>, text: &str| matches!(value, Some(IntOrString::String(own)) if own == text);
    matches!(spec.max_unavailable, Some(IntOrString::Int(0)))
        || is_text(&spec.max_unavailable, "0%")
        || is_text(&spec.min_available, "100%")
}

pub(super) fn lets_unready_go(budget: &PodDisruptionBudget) -> bool {
    let policy = budget.spec.as_ref().and_then(|spec| spec.unhealthy_pod_eviction_policy.as_deref());
    policy == Some("AlwaysAllow")
}

pub(super) fn is_unready(pod: &KubePod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref()).into_iter().flatten();
    conditions.into_iter().any(|one| one.type_ == "Ready" && one.status == "False")
}

pub(super) fn selects(selector: &Selector, labels: &BTreeMap<String, String>) -> bool {
    selector.labels.iter().all(|(key, value)| labels.get(key) == Some(value))
        && Requirements::new(&selector.expressions).kept_by(labels)
}
