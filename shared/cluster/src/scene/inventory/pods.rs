//! Pods on nodes that may go: how they would look for another place, and which budgets select them.

use jiff::Timestamp;
use k8s_openapi::{
    api::{
        core::v1::{Pod as KubePod, PodSpec},
        policy::v1::PodDisruptionBudget,
    },
    apimachinery::pkg::apis::meta::v1::Time,
};
use model::{
    Namespace, ObjectName, PodKind,
    disruption::{PodBudget, PodHere},
    names,
    place::Selector,
};
use std::collections::BTreeMap;

use super::super::{
    SceneRead, SceneSource, budgets as rules, pods as sorting, rules::selector, volumes::Lookup, waiting,
};
use crate::read_pod::read_pod;

/// A budget's namespace, what it selects there, and its position.
pub(super) struct Selecting {
    namespace: String,
    selector: Selector,
    at: usize,
}

pub(super) fn budgets(source: &SceneSource) -> (Vec<Selecting>, Vec<PodBudget>) {
    let (mut selecting, mut all) = (vec![], vec![]);
    for budget in &source.budgets {
        let Some((namespace, selector, read)) = budget_here(budget) else { continue };
        selecting.push(Selecting { namespace, selector, at: all.len() });
        all.push(read);
    }
    (selecting, all)
}

/// One without a selector selects nothing.
fn budget_here(budget: &PodDisruptionBudget) -> Option<(String, Selector, PodBudget)> {
    let given = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    let selector = selector("spec.selector", given).ok().flatten()?;
    let namespace = budget.metadata.namespace.clone().unwrap_or_default();
    let read = PodBudget {
        namespace: Namespace::new(&namespace).ok()?,
        name: ObjectName::new(budget.metadata.name.clone()?).ok()?,
        // Where its controller has said nothing yet, nothing is allowed yet.
        allowed: budget.status.as_ref().and_then(|status| status.disruptions_allowed).unwrap_or(0),
        lets_unready_go: rules::lets_unready_go(budget),
    };
    Some((namespace, selector, read))
}

/// One for each bound pod of the scene, in its order.
pub(super) fn pods(
    source: &SceneSource,
    read: &SceneRead,
    volumes: &Lookup<'_>,
    budgets: &[Selecting],
) -> Vec<PodHere> {
    let raw: BTreeMap<(&str, &str), &KubePod> = source
        .pods
        .iter()
        .filter_map(|pod| Some(((pod.metadata.namespace.as_deref()?, pod.metadata.name.as_deref()?), pod)))
        .collect();
    let mut by_namespace: BTreeMap<&str, Vec<&Selecting>> = BTreeMap::new();
    for budget in budgets {
        by_namespace.entry(&budget.namespace).or_default().push(budget);
    }
    let here = |there: &model::place::PodThere| {
        let raw = raw.get(&(there.namespace.as_str(), there.name.as_str()))?;
        let budgets = by_namespace.get(there.namespace.as_str()).map(Vec::as_slice).unwrap_or_default();
        pod(source, volumes, raw, budgets)
    };
    read.scene.bound.iter().map(|there| here(there).unwrap_or_else(unknown)).collect()
}

fn pod(source: &SceneSource, volumes: &Lookup<'_>, raw: &KubePod, budgets: &[&Selecting]) -> Option<PodHere> {
    let pod = read_pod(raw).ok()?;
    let empty = PodSpec::default();
    let spec = raw.spec.as_ref().unwrap_or(&empty);
    let none = BTreeMap::new();
    let labels = raw.metadata.labels.as_ref().unwrap_or(&none);
    let note = |key: &str| raw.metadata.annotations.as_ref().and_then(|all| all.get(key)).map(String::as_str);
    let cost = note(names::DISRUPTION_COST).or_else(|| note(names::POD_DELETION_COST));
    Some(PodHere {
        uid: Some(pod.uid.clone()),
        kind: pod.kind,
        moves: sorting::moves(raw, &pod).then(|| waiting::pod(source, volumes, None, raw, spec, &pod)),
        ignored: note(names::IGNORED_WHEN_IDLE) == Some("true"),
        do_not_disrupt: pod.do_not_disrupt.clone(),
        started_at: pod.started_at,
        budgets: budgets.iter().filter(|one| rules::selects(&one.selector, labels)).map(|one| one.at).collect(),
        unready: rules::is_unready(raw),
        stays: pod.is_left_by_drains(),
        cost: cost.and_then(|text| text.parse().ok()).unwrap_or(0),
        priority: waiting::priority(source, spec),
    })
}

/// A bound pod comes from the source, so there is none of which nothing is known.
fn unknown() -> PodHere {
    PodHere {
        uid: None,
        kind: PodKind::Ordinary,
        moves: None,
        ignored: false,
        do_not_disrupt: Some("true".to_owned()),
        started_at: None,
        budgets: vec![],
        unready: false,
        stays: false,
        cost: 0,
        priority: 0,
    }
}

/// By node: a pod for which the scheduler is making room there.
pub(super) fn nominated(source: &SceneSource) -> BTreeMap<&str, String> {
    let waits = |raw: &&KubePod| {
        let status = raw.status.as_ref();
        let over = matches!(status.and_then(|status| status.phase.as_deref()), Some("Succeeded" | "Failed"));
        let bound = raw.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).is_some_and(|node| !node.is_empty());
        !over && !bound && raw.metadata.deletion_timestamp.is_none()
    };
    let of = |raw: &'_ KubePod| {
        let metadata = &raw.metadata;
        format!(
            "pod {}/{}",
            metadata.namespace.as_deref().unwrap_or_default(),
            metadata.name.as_deref().unwrap_or_default()
        )
    };
    let waiting = source.pods.iter().filter(waits);
    waiting.filter_map(|raw| Some((raw.status.as_ref()?.nominated_node_name.as_deref()?, of(raw)))).collect()
}

/// By node: when the scheduler bound the last pod that is still there; where nobody says so, when that pod began or was made.
pub(super) fn last_came(source: &SceneSource) -> BTreeMap<&str, Timestamp> {
    let mut last: BTreeMap<&str, Timestamp> = BTreeMap::new();
    for raw in &source.pods {
        let node = raw.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).filter(|node| !node.is_empty());
        let conditions = raw.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
        let bound = conditions.iter().find(|one| one.type_ == "PodScheduled" && one.status == "True");
        let bound = bound.and_then(|one| one.last_transition_time.as_ref());
        let begun = raw.status.as_ref().and_then(|status| status.start_time.as_ref());
        let at = bound.or(begun).or(raw.metadata.creation_timestamp.as_ref()).map(|Time(at)| *at);
        if let (Some(node), Some(at)) = (node, at)
            && crate::read_pod::kind(&raw.metadata) == PodKind::Ordinary
        {
            let known = last.entry(node).or_insert(at);
            *known = (*known).max(at);
        }
    }
    last
}
