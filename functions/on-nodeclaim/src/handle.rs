//! on-nodeclaim: a NodeClaim was made or has changed. Read, decide, act, report.

mod left_over;
mod read;

use act::Reported;
use core::time::Duration;
use host::{Function, PartsSource, parts::Parts};
use model::{Answer, Next, NodeClaimChanged};
use std::sync::Arc;

use read::Read;

/// A claim takes few steps at once: an offering after the other, then its phases. More than this is somebody else's turn.
const MOST_STEPS: usize = 16;

const NAME: &str = "on-nodeclaim";

/// The function, as the host serves it.
pub fn function(parts: PartsSource) -> Function {
    Function::on_parts(NAME, parts, handle)
}

/// Takes the claim as far as it goes without waiting.
pub async fn handle(parts: Arc<Parts>, event: NodeClaimChanged) -> Answer {
    for _ in 0..MOST_STEPS {
        let seen = match read::read(&parts, &event).await {
            Read::Seen(seen) => *seen,
            Read::Answered(answer) => return answer,
            Read::Gone => return left_over::remove(&parts, &event).await,
        };
        let plan = decide::claim::plan(&seen.situation);
        let carried = act::carry_out(&parts.cluster, &parts.providers, &seen.claim.claim, &plan).await;
        let conclusion = decide::claim::conclude(&seen.situation, &plan, &carried.results);
        match act::report(&parts.cluster, NAME, &seen.claim, carried.version, &conclusion, parts.now()).await {
            Reported::Next(Next::AtOnce) => {}
            Reported::Next(Next::Answer(answer)) => return answer,
            Reported::ClaimGone => return left_over::remove(&parts, &event).await,
        }
    }
    Answer::Later { reason: format!("{} has more steps to take", event.subject), after: Duration::from_secs(1) }
}
