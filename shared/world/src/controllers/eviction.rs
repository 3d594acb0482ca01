//! The eviction subresource's question: may this pod go now, as far as disruption budgets say?

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::{disruption, fields, kinds::Kind};
use crate::api::{
    objects::{Objects, text},
    status::{About, Failure},
    store::Stored,
};
use std::sync::Arc;

const REFUSED: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
/// So many unconfirmed evictions mean that nobody counts them any more.
const MOST_UNCONFIRMED: usize = 2000;

/// What the answer is: the caller then deletes the pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eviction {
    /// No budget is concerned: delete it.
    Free,
    /// A budget was charged: delete it, with the DisruptionTarget condition set.
    Charged,
}

/// Asks for a pod's eviction and charges the budget that guards it, unless this is a dry run.
/// `track` notes who manages what in the budget that is charged.
pub fn ask(
    objects: &Objects,
    pod: &Value,
    dry_run: bool,
    track: impl Fn(&Value, Value) -> Value,
) -> Result<Eviction, Failure> {
    // A pod that does not run, or is going anyway, takes nothing from anybody.
    if fields::is_over(pod) || fields::phase(pod) == "Pending" || fields::is_going(pod) {
        return Ok(Eviction::Free);
    }
    let resource = Kind::PodDisruptionBudget.resource();
    let all = objects.store.list(&resource, Some(fields::namespace(pod))).0;
    let budgets: Vec<Arc<Stored>> =
        all.into_iter().map(|(_, budget)| budget).filter(|budget| disruption::guards(&budget.value, pod)).collect();
    let budget = match budgets.as_slice() {
        [] => return Ok(Eviction::Free),
        [budget] => budget,
        _ => {
            let message =
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
            return Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "", message));
        }
    };
    if !fields::is_ready(pod) && unhealthy_may_go(&budget.value) {
        return Ok(Eviction::Free);
    }
    let (name, now) = (fields::name(pod).to_owned(), objects.now());
    let written = objects.update(&resource, fields::namespace(pod), &text(&budget.value, "name"), dry_run, |budget| {
        let old = budget.clone();
        charge(budget, &name, &now)?;
        *budget = track(&old, std::mem::take(budget));
        Ok(())
    });
    written.map(|_| Eviction::Charged)
}

/// A pod that is not ready is no loss where the owner said so, or where the others suffice.
fn unhealthy_may_go(budget: &Value) -> bool {
    let status = &budget["status"];
    let (current, desired) = (number(status, "currentHealthy"), number(status, "desiredHealthy"));
    budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow" || (current >= desired && desired > 0)
}

fn number(status: &Value, field: &str) -> i64 {
    status[field].as_i64().unwrap_or(0)
}

fn charge(budget: &mut Value, pod: &str, now: &str) -> Result<(), Failure> {
    let name = fields::name(budget).to_owned();
    let status = &budget["status"];
    let forbidden = |why: &str| {
        let about = About { group: "policy", resource: "poddisruptionbudget", name: &name };
        Err(Failure::forbidden(about, why))
    };
    if number(status, "observedGeneration") < fields::generation(budget) {
        let cause = format!("The disruption budget {name} is still being processed by the server.");
        return Err(refused(&cause, Some(10)));
    }
    let allowed = number(status, "disruptionsAllowed");
    if allowed < 0 {
        return forbidden("pdb disruptions allowed is negative");
    }
    if status["disruptedPods"].as_object().map_or(0, Map::len) > MOST_UNCONFIRMED {
        return forbidden("DisruptedPods map too big - too many evictions not confirmed by PDB controller");
    }
    if allowed == 0 {
        return Err(refused(&why_none(budget, &name), None));
    }
    budget["status"]["disruptionsAllowed"] = (allowed - 1).into();
    if allowed == 1 {
        disruption::set_allowed_condition(budget, now);
    }
    budget["status"]["disruptedPods"][pod] = now.into();
    Ok(())
}

fn why_none(budget: &Value, name: &str) -> String {
    let status = &budget["status"];
    let (desired, current) = (number(status, "desiredHealthy"), number(status, "currentHealthy"));
    let condition = fields::condition(budget, "DisruptionAllowed").filter(|condition| condition["status"] == "False");
    let said = condition.and_then(|condition| condition["message"].as_str()).filter(|said| !said.is_empty());
    let reason = condition.and_then(|condition| condition["reason"].as_str()).unwrap_or_default();
    match said {
        Some(said) if reason == "SyncFailed" => {
            format!(
                "The disruption budget {name} does not allow evicting pods currently because it failed sync: {said}"
            )
        }
        _ if current <= desired => {
            format!("The disruption budget {name} needs {desired} healthy pods and has {current} currently")
        }
        Some(said) => format!("The disruption budget {name} does not allow evicting pods currently ({reason}): {said}"),
        None => format!("The disruption budget {name} does not allow evicting pods currently"),
    }
}

fn refused(cause: &str, retry_after: Option<i64>) -> Failure {
    let mut details = json!({ "causes": [{ "reason": "DisruptionBudget", "message": cause }] });
    if let Some(seconds) = retry_after {
        details["retryAfterSeconds"] = seconds.into();
    }
    Failure { details, ..Failure::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", REFUSED) }
}
