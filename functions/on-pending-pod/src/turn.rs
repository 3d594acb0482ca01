//! Making claims, when it is our turn: with the NodeClaims that there are now, not those that were there a moment ago.

use cluster::{OurTurn, PROVISIONING, Turn};
use core::time::Duration;
use decide::provision::{Provisioning, Told};
use host::parts::Parts;
use jiff::SignedDuration;
use model::Answer;
use provider::{Chance as _, SystemChance};
use tokio::time::timeout;

use crate::{NAME, read::Seen, still_time};

/// When somebody else decides: by then it is done.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// After something did not work.
const AFTER_FAILURE: Duration = Duration::from_secs(5);
/// What making claims may take. A turn lasts longer than this, so that nobody else begins before it is over.
const LONGEST_MAKING: Duration = Duration::from_secs(8);
/// With less of a turn left than this, a new one is taken before anything is made.
const LEAST_LEFT: SignedDuration = SignedDuration::from_secs(10);

/// Carries out a plan that makes claims; one that makes none passes. What comes back is what was really done.
pub async fn make(parts: &Parts, seen: Seen, plan: Provisioning) -> Result<(Seen, Provisioning), Answer> {
    if plan.claims.is_empty() {
        return Ok((seen, plan));
    }
    let holder = format!("{NAME}-{:016x}", SystemChance.number());
    let mut turn = match parts.cluster.take_turn(PROVISIONING, &holder, parts.now()).await {
        Ok(Turn::Ours(turn)) => Some(turn),
        Ok(Turn::Others { .. }) => return Err(others()),
        Err(error) => return Err(failed(error.to_string())),
    };
    let made = make_in_turn(parts, &mut turn, seen, plan).await;
    if let Some(turn) = turn
        && let Err(error) = parts.cluster.end_turn(turn).await
    {
        // It ends by itself.
        tracing::warn!(%error, "the turn to provision was not given back");
    }
    made
}

async fn make_in_turn(
    parts: &Parts,
    turn: &mut Option<OurTurn>,
    mut seen: Seen,
    mut plan: Provisioning,
) -> Result<(Seen, Provisioning), Answer> {
    let claims = parts.cluster.claims().await.map_err(|error| failed(error.to_string()))?;
    if seen.use_claims(claims, parts.now()) {
        plan = decide::provision::plan(&seen.situation, &mut still_time());
    }
    if plan.claims.is_empty() {
        return Ok((seen, plan));
    }
    keep(parts, turn).await?;
    let results = timeout(LONGEST_MAKING, act::make_claims(&parts.cluster, &plan.claims)).await;
    let results = results.map_err(|_| failed(format!("not all NodeClaims were made within {LONGEST_MAKING:?}")))?;
    let first_error = results.iter().find_map(|result| result.as_ref().err());
    match first_error {
        None => Ok((seen, plan)),
        Some(error) => {
            let is_made = |told: &Told| match told {
                Told::Coming { claim } => results.get(*claim).is_some_and(Result::is_ok),
                _ => false,
            };
            plan.pods.retain(|(_, told)| is_made(told));
            act::tell_pods(&parts.cluster, NAME, &plan.notes(), parts.now()).await;
            Err(failed(error.to_string()))
        }
    }
}

/// Reading and deciding took their time: what is left of the turn has to be enough for making.
async fn keep(parts: &Parts, turn: &mut Option<OurTurn>) -> Result<(), Answer> {
    let Some(held) = turn.take() else { return Err(others()) };
    if held.until.duration_since(parts.now()) >= LEAST_LEFT {
        *turn = Some(held);
        return Ok(());
    }
    *turn = parts.cluster.keep_turn(held, parts.now()).await.map_err(|error| failed(error.to_string()))?;
    if turn.is_some() { Ok(()) } else { Err(others()) }
}

fn others() -> Answer {
    Answer::Later { reason: "somebody else is making nodes for pods that wait".to_owned(), after: TRY_AGAIN }
}

fn failed(reason: String) -> Answer {
    Answer::Failed { reason, after: AFTER_FAILURE }
}
