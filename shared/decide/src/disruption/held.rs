//! What holds a pod where it is: its own annotation, or budgets for its kind.

use jiff::Timestamp;
use model::{
    PodKind,
    disruption::{Inventory, KeptCode, PodHere},
    place::PodThere,
};

use super::Stay;

/// A pod that is on its way out holds nothing.
pub fn held(inventory: &Inventory, there: &PodThere, pod: &PodHere, now: Timestamp) -> Option<Stay> {
    if there.terminating {
        return None;
    }
    protected(there, pod, now).or_else(|| budgeted(inventory, there, pod))
}

fn protected(there: &PodThere, pod: &PodHere, now: Timestamp) -> Option<Stay> {
    let value = pod.do_not_disrupt.as_deref()?;
    let name = name(there);
    let annotation = model::names::DO_NOT_DISRUPT;
    if value == "true" {
        let words = format!("pod {name} must not be disturbed ({annotation})");
        return Some(Stay { code: KeptCode::PodDoNotDisrupt, words, until: None });
    }
    // Anything else that is no time protects nothing.
    let lasts = model::duration::parse(value).filter(|lasts| lasts.is_positive())?;
    let until = pod.started_at.and_then(|started| started.checked_add(lasts).ok());
    if until.is_some_and(|until| now >= until) {
        return None;
    }
    let when = until.map_or_else(|| format!("for {value} from its start"), |until| format!("until {until}"));
    let words = format!("pod {name} must not be disturbed {when} ({annotation})");
    Some(Stay { code: KeptCode::PodDoNotDisrupt, words, until })
}

/// Nobody evicts a mirror pod, nor a daemon that tolerates the taint, so no budget is asked about those.
fn budgeted(inventory: &Inventory, there: &PodThere, pod: &PodHere) -> Option<Stay> {
    if pod.kind == PodKind::Mirror || pod.stays {
        return None;
    }
    let name = name(there);
    match pod.budgets.as_slice() {
        [] => None,
        [one] => {
            let budget = inventory.pod_budgets.get(*one)?;
            if budget.allowed > 0 || (budget.lets_unready_go && pod.unready) {
                return None;
            }
            let words = format!("PodDisruptionBudget {}/{} lets pod {name} not go now", budget.namespace, budget.name);
            Some(Stay { code: KeptCode::PodDisruptionBudget, words, until: None })
        }
        several => {
            let names: Vec<&str> =
                several.iter().filter_map(|at| inventory.pod_budgets.get(*at)).map(|one| one.name.as_str()).collect();
            let words = format!(
                "pod {name} is under several PodDisruptionBudgets ({}), and Kubernetes evicts no such pod",
                names.join(", ")
            );
            Some(Stay { code: KeptCode::SeveralPodDisruptionBudgets, words, until: None })
        }
    }
}

/// `namespace/name`.
pub fn name(there: &PodThere) -> String {
    format!("{}/{}", there.namespace, there.name)
}
