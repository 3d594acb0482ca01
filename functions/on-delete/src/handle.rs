//! on-delete: somebody asked for an object of ours to go. Read, decide, act, report.

mod read;

use act::Reported;
use core::time::Duration;
use decide::termination;
use host::{Function, PartsSource, parts::Parts};
use model::{Answer, DeletionRequested, Next};
use std::sync::Arc;

use read::Read;

/// Taking down waits for others nearly always; this bounds a run of steps that wait for nobody.
const MOST_STEPS: usize = 16;

const NAME: &str = "on-delete";

/// The function, as the host serves it.
pub fn function(parts: PartsSource) -> Function {
    Function::on_parts(NAME, parts, handle)
}

/// Takes it as far down as it goes without waiting.
pub async fn handle(parts: Arc<Parts>, event: DeletionRequested) -> Answer {
    for _ in 0..MOST_STEPS {
        let seen = match read::read(&parts, &event).await {
            Read::Seen(seen) => *seen,
            Read::NodeOf(pair) => {
                let (node, claim) = *pair;
                let plan = termination::plan_for_node(&node, &claim.claim);
                act::carry_out(&parts.cluster, &parts.providers, &claim.claim, &plan).await;
                continue;
            }
            Read::Answered(answer) => return answer,
        };
        let plan = termination::plan(&seen.situation);
        let carried = act::carry_out(&parts.cluster, &parts.providers, &seen.claim.claim, &plan).await;
        let conclusion = termination::conclude(&seen.situation, &plan, &carried.results);
        match act::report(&parts.cluster, NAME, &seen.claim, carried.version, &conclusion, parts.now()).await {
            Reported::Next(Next::Answer(answer)) => return answer,
            Reported::Next(Next::AtOnce) => {}
            // Its finalizer was the last thing to go.
            Reported::ClaimGone => return Answer::Done { reason: format!("{} is gone", event.subject) },
        }
    }
    Answer::Later { reason: format!("{} has more steps to take", event.subject), after: Duration::from_secs(1) }
}
