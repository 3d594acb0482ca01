//! The answer about the pod of the event; the others have their Events.

use core::time::Duration;
use decide::provision::{Provisioning, Told};
use model::{Answer, place::Code};

use crate::read::Seen;

/// Stock comes back, limits are raised, nodes get empty: a pod without a node is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// Time ran out over it.
const GO_ON: Duration = Duration::from_secs(1);

pub fn answer(seen: &Seen, plan: &Provisioning, subject: &str) -> Answer {
    let Some(told) = plan.told(&seen.pod) else {
        let why = seen.left_out().unwrap_or("it does not wait for a node");
        return Answer::nothing(format!("pod {subject}: {why}"));
    };
    match told {
        Told::Coming { claim } => {
            let expected = plan.claims.get(*claim).map(|claim| {
                let words = claim.annotations.get(model::names::EXPECTED).map(String::as_str).unwrap_or_default();
                format!("NodeClaim {} is made for it, {words}", claim.name)
            });
            Answer::Done { reason: format!("pod {subject}: {}", expected.unwrap_or_default()) }
        }
        Told::OnItsWay { claim, expected } => {
            Answer::nothing(format!("pod {subject}: NodeClaim {claim} is on its way for it, {expected}"))
        }
        Told::HasRoom { on } => Answer::nothing(format!("pod {subject}: there is room for it on {on}")),
        Told::NotOurs { why } => Answer::nothing(format!("pod {subject}: {why}")),
        Told::NoNode(why) => {
            let reason = format!("pod {subject}: {}", why.reason);
            match why.code {
                // Nothing but another pod would change this.
                Code::Invalid(_) | Code::NotServed => Answer::nothing(reason),
                Code::OutOfTime => Answer::Later { reason, after: GO_ON },
                _ => Answer::Later { reason, after: LOOK_AGAIN },
            }
        }
    }
}
