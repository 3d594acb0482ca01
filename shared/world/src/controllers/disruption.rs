//! Disruption budgets: how many pods may go, as their status says it.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

use super::{
    Controller,
    context::Context,
    fields::{self, Condition},
    kinds::Kind,
    timers::Alarm,
    view::Noticed,
};
use crate::api::{
    objects::key,
    selector::LabelSelector,
    store::{ObjectKey, Stored},
};
use std::sync::Arc;

/// A pod whose eviction was allowed counts as gone for this long, though it is still there.
const EVICTION_EXPECTED: SignedDuration = SignedDuration::from_secs(120);

#[derive(Debug, Default)]
pub(super) struct Disruption {
    budgets: BTreeSet<ObjectKey>,
}

impl Controller for Disruption {
    fn notice(&mut self, context: &Context, noticed: &Noticed) {
        let change = &noticed.change;
        match noticed.kind {
            Some(Kind::PodDisruptionBudget) if !change.deleted => _ = self.budgets.insert(change.key.clone()),
            Some(Kind::Pod) => {
                let versions = [Some(&change.after), change.before.as_ref()];
                for (key, budget) in context.view.in_namespace(Kind::PodDisruptionBudget, &change.key.0) {
                    if versions.iter().flatten().any(|pod| guards(&budget.value, &pod.value)) {
                        self.budgets.insert(key.clone());
                    }
                }
            }
            Some(Kind::ReplicaSet | Kind::StatefulSet | Kind::Deployment | Kind::Job) => {
                let spec = |stored: &Arc<Stored>| stored.value["spec"]["replicas"].clone();
                if change.before.as_ref().map(spec) != Some(spec(&change.after)) {
                    let budgets = context.view.in_namespace(Kind::PodDisruptionBudget, &change.key.0);
                    self.budgets.extend(budgets.map(|(key, _)| key.clone()));
                }
            }
            _ => {}
        }
    }

    fn ring(&mut self, _context: &mut Context, alarm: &Alarm) {
        if let Alarm::Again { kind: Kind::PodDisruptionBudget, key } = alarm {
            self.budgets.insert(key.clone());
        }
    }

    fn work(&mut self, context: &mut Context) {
        for budget in std::mem::take(&mut self.budgets) {
            set_status(context, &budget);
        }
    }
}

/// Whether a budget is about a pod. An empty selector is about every pod of the namespace.
pub(super) fn guards(budget: &Value, pod: &Value) -> bool {
    LabelSelector::from_object(&budget["spec"]["selector"]).is_some_and(|selector| selector.matches(pod))
}

fn set_status(context: &mut Context, at: &ObjectKey) {
    let Some(budget) = context.view.get(Kind::PodDisruptionBudget, at).cloned() else { return };
    let pods = context.view.in_namespace(Kind::Pod, &at.0).filter(|(_, pod)| guards(&budget.value, &pod.value));
    let pods: Vec<Arc<Stored>> = pods.map(|(_, pod)| pod.clone()).filter(|pod| !fields::is_over(&pod.value)).collect();
    let now = context.now();
    let (expected, desired) = match expectation(context, &budget.value, &pods) {
        Ok(both) => both,
        Err(message) => return fail(context, at, &message),
    };
    let evicted = still_expected(&budget.value, &pods, now);
    let healthy = pods.iter().filter(|pod| {
        let leaving = fields::is_going(&pod.value) || evicted.contains_key(fields::name(&pod.value));
        fields::is_ready(&pod.value) && !leaving
    });
    let current = i64::try_from(healthy.count()).unwrap_or(i64::MAX);
    let allowed = if expected <= 0 { 0 } else { (current - desired).max(0) };
    let next = evicted.values().filter_map(fields::time).min();
    let stamp = context.stamp();
    context.update(Kind::PodDisruptionBudget, at, |budget| {
        let status = &mut budget["status"];
        status["expectedPods"] = expected.into();
        status["desiredHealthy"] = desired.into();
        status["currentHealthy"] = current.into();
        status["disruptionsAllowed"] = allowed.into();
        match (status.as_object_mut(), evicted.is_empty()) {
            (Some(status), true) => _ = status.remove("disruptedPods"),
            _ => status["disruptedPods"] = Value::Object(evicted),
        }
        budget["status"]["observedGeneration"] = fields::generation(budget).into();
        set_allowed_condition(budget, &stamp);
    });
    if let Some(next) = next {
        let at_time = next.checked_add(EVICTION_EXPECTED).unwrap_or(now);
        context.timers.set(at_time, Alarm::Again { kind: Kind::PodDisruptionBudget, key: at.clone() });
    }
}

pub(super) fn set_allowed_condition(budget: &mut Value, now: &str) {
    let enough = budget["status"]["disruptionsAllowed"].as_i64().unwrap_or(0) > 0;
    let (status, reason) = if enough { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
    let condition = Condition { kind: "DisruptionAllowed", status, reason, message: "" };
    fields::set_condition(budget, &condition, now, &[]);
    let generation = fields::generation(budget);
    if let Some(conditions) = budget["status"]["conditions"].as_array_mut() {
        for condition in conditions.iter_mut() {
            condition["observedGeneration"] = generation.into();
            if condition["message"].is_null() {
                condition["message"] = "".into();
            }
        }
    }
}

fn fail(context: &Context, at: &ObjectKey, message: &str) {
    let now = context.stamp();
    context.update(Kind::PodDisruptionBudget, at, |budget| {
        budget["status"]["disruptionsAllowed"] = 0.into();
        budget["status"]["observedGeneration"] = fields::generation(budget).into();
        let condition = Condition { kind: "DisruptionAllowed", status: "False", reason: "SyncFailed", message };
        fields::set_condition(budget, &condition, &now, &[]);
    });
}

/// How many pods there should be, and how many of them must stay healthy.
fn expectation(context: &Context, budget: &Value, pods: &[Arc<Stored>]) -> Result<(i64, i64), String> {
    let count = i64::try_from(pods.len()).unwrap_or(i64::MAX);
    let (least, most) = (&budget["spec"]["minAvailable"], &budget["spec"]["maxUnavailable"]);
    if !most.is_null() {
        let expected = scale(context, pods)?;
        let most = fields::number_or_share(most, expected, true).unwrap_or(0);
        return Ok((expected, (expected - most).max(0)));
    }
    match least {
        Value::String(_) => {
            let expected = scale(context, pods)?;
            Ok((expected, fields::number_or_share(least, expected, true).unwrap_or(0)))
        }
        other => Ok((count, other.as_i64().unwrap_or(1))),
    }
}

/// What the controllers of the pods were asked for, each counted once.
fn scale(context: &Context, pods: &[Arc<Stored>]) -> Result<i64, String> {
    let mut controllers: BTreeSet<String> = BTreeSet::new();
    let mut sum = 0;
    for pod in pods {
        let Some(owner) = fields::controller(&pod.value) else {
            let name = fields::name(&pod.value);
            return Err(format!("found no controllers for pod {name:?}"));
        };
        let uid = owner["uid"].as_str().unwrap_or_default();
        let place = context.view.by_uid(uid);
        let Some(found) = place.and_then(|place| context.view.at(place)) else { continue };
        let above = fields::controller(&found.value).filter(|above| above["kind"] == "Deployment");
        let above = above.and_then(|above| {
            let name = above["name"].as_str()?;
            context.view.get(Kind::Deployment, &key(fields::namespace(&pod.value), name))
        });
        let top = above.unwrap_or(found);
        if controllers.insert(fields::uid(&top.value).to_owned()) {
            let replicas = &top.value["spec"]["replicas"];
            let Some(replicas) = replicas.as_i64().or_else(|| top.value["spec"]["parallelism"].as_i64()) else {
                let kind = owner["kind"].as_str().unwrap_or_default();
                return Err(format!("{kind} {:?} does not implement the scale subresource", fields::name(&top.value)));
            };
            sum += replicas;
        }
    }
    Ok(sum)
}

/// Evictions that were allowed and have not shown yet.
fn still_expected(budget: &Value, pods: &[Arc<Stored>], now: Timestamp) -> Map<String, Value> {
    let entries = budget["status"]["disruptedPods"].as_object().into_iter().flatten();
    let waits = |name: &str, since: &Value| {
        let there = pods.iter().any(|pod| fields::name(&pod.value) == name && !fields::is_going(&pod.value));
        let until = fields::time(since).and_then(|since| since.checked_add(EVICTION_EXPECTED).ok());
        there && until.is_some_and(|until| until > now)
    };
    entries.filter(|(name, since)| waits(name, since)).map(|(name, since)| (name.clone(), since.clone())).collect()
}
