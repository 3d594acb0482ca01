//! What the event of each pod is answered.

use core::time::Duration;
use decide::provision::{Provisioning, Told, nominations, on_its_way};
use jiff::Timestamp;
use model::{Answer, Claim, ConditionKind, PodNote, PodRef, Uid, names, place::Code};
use std::collections::BTreeMap;

use crate::read::Seen;

/// Stock comes back, limits are raised, nodes get empty: a pod without a node is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// As long as others wait for what is coming: whom the scheduler puts there is its own choice, and one may be left over.
const LOOK_AGAIN_SOON: Duration = Duration::from_secs(10);
/// A cloud has not said yet what it sells. What it says late is remembered for five seconds: before those are over.
const UNTIL_ANSWERED: Duration = Duration::from_secs(3);
/// Time ran out over it.
const GO_ON: Duration = Duration::from_secs(1);

/// What one pod's event is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub answer: Answer,
    /// An Event that was written before, if whoever decided lived long enough.
    pub note: Option<PodNote>,
}

/// A claim that is on its way for a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coming {
    pub claim: String,
    pub expected: String,
}

/// For every pod that a claim is on its way for, whether or not it still waits. A node that has come may be full of others
/// already: that takes a look.
pub fn coming(claims: &[Claim], now: Timestamp) -> BTreeMap<Uid, Coming> {
    let of_pod = |(uid, claim): (&str, &Claim)| {
        let expected = claim.annotations.get(names::EXPECTED).cloned().unwrap_or_default();
        Some((Uid::new(uid).ok()?, Coming { claim: claim.key.name.to_string(), expected }))
    };
    let on_their_way = |(_, claim): &(&str, &Claim)| !claim.is(ConditionKind::Initialized);
    nominations(claims, now).into_iter().filter(on_their_way).filter_map(of_pod).collect()
}

/// For every pod that waits, and those that are left to somebody else.
pub fn each(seen: &Seen, plan: &Provisioning) -> BTreeMap<Uid, Reply> {
    let left_out = seen.left_out().map(|(pod, why)| {
        (pod.uid.clone(), Reply { answer: Answer::nothing(format!("{}: {why}", words_for(pod))), note: None })
    });
    let comes = |told: &Told| matches!(told, Told::Coming { .. } | Told::OnItsWay { .. } | Told::HasRoom { .. });
    let again = match plan.pods.iter().any(|(_, told)| comes(told)) {
        _ if seen.is_waited_for() => UNTIL_ANSWERED,
        true => LOOK_AGAIN_SOON,
        false => LOOK_AGAIN,
    };
    let told = plan.pods.iter().map(|(pod, told)| (pod.uid.clone(), reply(plan, pod, told, again)));
    left_out.chain(told).collect()
}

impl Coming {
    pub fn reply(&self, pod: &PodRef) -> Reply {
        let Coming { claim, expected } = self;
        let answer = Answer::nothing(format!("{}: NodeClaim {claim} is on its way for it, {expected}", words_for(pod)));
        Reply { answer, note: Some(on_its_way(pod, claim, expected)) }
    }
}

fn reply(plan: &Provisioning, pod: &PodRef, told: &Told, again: Duration) -> Reply {
    let subject = words_for(pod);
    let answer = match told {
        Told::Coming { claim } => {
            let expected = plan.claims.get(*claim).map(|claim| {
                let words = claim.annotations.get(names::EXPECTED).map(String::as_str).unwrap_or_default();
                format!("NodeClaim {} is made for it, {words}", claim.name)
            });
            Answer::Done { reason: format!("{subject}: {}", expected.unwrap_or_default()) }
        }
        Told::OnItsWay { claim, expected } => {
            return Coming { claim: claim.to_string(), expected: expected.clone() }.reply(pod);
        }
        Told::HasRoom { on } => Answer::nothing(format!("{subject}: there is room for it on {on}")),
        Told::NotOurs { why } => Answer::nothing(format!("{subject}: {why}")),
        Told::NoNode(why) => {
            let reason = format!("{subject}: {}", why.reason);
            match why.code {
                // Nothing but another pod would change this.
                Code::Invalid(_) | Code::NotServed => Answer::nothing(reason),
                Code::OutOfTime => Answer::Later { reason, after: GO_ON },
                _ => Answer::Later { reason, after: again },
            }
        }
    };
    Reply { answer, note: None }
}

/// `pod team-a/train-0`.
pub fn words_for(pod: &PodRef) -> String {
    format!("pod {}/{}", pod.namespace, pod.name)
}
