//! What came of a step: conditions, notes for people, the record, and when to look again.

mod emptying;
mod removing;

use core::time::Duration;
use model::{Action, ActionResult, Answer, ClaimChange, ClaimStatus, Conclusion, Failure, Next, Note, Plan, Retry};

use super::{Situation, stage::Stage};

/// Where only a person can help. They may, at any time, so it is tried again.
const UNTIL_A_PERSON_HELPED: Duration = Duration::from_secs(60);
/// It may have been done: soon enough to go on, late enough for the cloud to know.
const UNTIL_IT_IS_KNOWN: Duration = Duration::from_secs(2);
/// Where something came back that nobody expected.
const A_MOMENT: Duration = Duration::from_secs(1);

pub(super) fn conclude(situation: &Situation, plan: &Plan, results: &[ActionResult]) -> Conclusion {
    let told: Told<'_> =
        Told { steps: plan.actions.iter().zip(results.iter().chain(core::iter::repeat(&NOT_TRIED))).collect() };
    let name = &situation.claim.key.name;
    let nothing = |reason: String| unchanged(situation, Next::Answer(Answer::nothing(reason)));
    match Stage::of(situation) {
        Stage::NotToGo => nothing(format!("claim {name} is not being deleted")),
        Stage::Released => nothing(format!("claim {name} is released; others hold it by their finalizers")),
        Stage::NeverLaunched => {
            let done = Next::Answer(Answer::Done { reason: format!("claim {name} released: it was never launched") });
            let next = told.stop(situation).unwrap_or(done);
            unchanged(situation, next)
        }
        Stage::Emptying(emptying) => emptying::conclude(situation, &emptying, &told),
        Stage::Removing(removing) => removing::conclude(situation, &removing, &told),
    }
}

const NOT_TRIED: ActionResult = ActionResult::NotTried;

/// Each action with what came of it.
struct Told<'a> {
    steps: Vec<(&'a Action, &'a ActionResult)>,
}

impl Told<'_> {
    /// What ended the plan early, as what to do next. Pods are apart: all of them are tried, and some may refuse.
    fn stop(&self, situation: &Situation) -> Option<Next> {
        let name = &situation.claim.key.name;
        self.steps.iter().find_map(|(action, result)| {
            let what = match action {
                Action::Evict(_) | Action::DeletePod { .. } | Action::EnsureGone { .. } => return None,
                Action::ChangeClaim(_) | Action::DeleteClaim => format!("changing claim {name}"),
                Action::ChangeNode(change) => format!("changing node {} of claim {name}", change.name),
                Action::DeleteNode { name: node, .. } => format!("deleting node {node} of claim {name}"),
                Action::Reserve(_) => format!("counting what {name} costs"),
                Action::Ensure { .. } => format!("making the instance of {name}"),
            };
            match result {
                ActionResult::Done => None,
                // The claim is gone: whoever took its finalizer away, it holds nothing any more.
                ActionResult::WasGone if is_claim(action) => None,
                ActionResult::WasGone | ActionResult::Lost => Some(Next::AtOnce),
                ActionResult::NotNow { why } => {
                    Some(later(format!("{what} is not allowed now: {why}"), UNTIL_A_PERSON_HELPED))
                }
                ActionResult::Failed(failure) => Some(later(format!("{what}: {}", failure.message), after(failure))),
                ActionResult::Ensured(_) | ActionResult::Gone(_) | ActionResult::NotTried => {
                    Some(later(format!("{what} was not tried"), A_MOMENT))
                }
            }
        })
    }
}

fn is_claim(action: &Action) -> bool {
    matches!(action, Action::ChangeClaim(_) | Action::DeleteClaim)
}

/// Nothing is written: nothing has changed, or there is no object any more to write to.
fn unchanged(situation: &Situation, next: Next) -> Conclusion {
    concluded(situation.claim.status.clone(), vec![], next)
}

fn concluded(status: ClaimStatus, notes: Vec<Note>, next: Next) -> Conclusion {
    Conclusion { claim: ClaimChange::default(), status, notes, unavailable: vec![], next }
}

fn later(reason: String, after: Duration) -> Next {
    Next::Answer(Answer::Later { reason, after })
}

fn after(failure: &Failure) -> Duration {
    match failure.retry {
        Retry::SameAfter(after) => after,
        Retry::ReadBack => UNTIL_IT_IS_KNOWN,
        Retry::Never | Retry::NextOffering => UNTIL_A_PERSON_HELPED,
    }
}
