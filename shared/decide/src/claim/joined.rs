//! After the join: what only joining needed (a token in user data) is taken back.

use core::time::Duration;
use model::{Action, ActionResult, LaunchRecord, Next, Plan};

use super::{ClassSeen, Ending, Situation, later, request};

/// The class field with which a provider hears it.
const JOINED: &str = "joined";

pub fn plan(seen: &Situation) -> Vec<Action> {
    match (untold(seen), &seen.class) {
        (Some(record), ClassSeen::Known(class)) => {
            let mut request = request::request(&seen.claim, record, class);
            request.class.insert(JOINED.to_owned(), "true".to_owned());
            vec![Action::Ensure { request: Box::new(request), progress: record.progress.clone() }]
        }
        _ => Vec::new(),
    }
}

fn untold(seen: &Situation) -> Option<&LaunchRecord> {
    seen.claim.record().filter(|record| seen.tell_joined && !record.told_joined)
}

/// `Some` if it has still to be done. A node that works does not wait for it.
pub fn conclude(ending: &mut Ending, plan: &Plan, results: &[ActionResult]) -> Option<Next> {
    let record = untold(ending.seen)?;
    let mut done = plan.actions.iter().zip(results);
    if !done.any(|pair| matches!(pair, (Action::Ensure { .. }, ActionResult::Ensured(_)))) {
        return Some(later("the join secret has still to be removed", Duration::from_secs(30)));
    }
    let record = LaunchRecord { told_joined: true, ..record.clone() };
    ending.conclusion.claim.record = Some(Box::new(record));
    None
}
