//! on-pending-pod: a pod finds no node. Read, decide, act, report: for all pods that wait, together.

mod answers;
mod decisions;
pub mod pools;
mod read;
mod turn;

use host::{Function, PartsSource, parts::Parts};
use model::{Answer, PodPending, PodRef, SnapshotCarried};
use std::{sync::Arc, time::Instant};

use decisions::{Decided, Decisions};
pub use read::known_by_its_node;
use read::{Claims, Waits};

const NAME: &str = "on-pending-pod";

/// How long placing may take. What it has not come to by then waits for the next time.
const LONGEST_SOLVE: std::time::Duration = std::time::Duration::from_secs(5);

/// The function, as the host serves it.
pub fn function(parts: PartsSource) -> Function {
    let decisions = Arc::new(Decisions::default());
    Function::new(NAME, move |event| {
        let (parts, decisions) = (parts.clone(), decisions.clone());
        async move {
            match parts.get().await {
                Ok(parts) => handle(&parts, &decisions, event).await,
                Err(answer) => answer,
            }
        }
    })
}

/// The same, for whoever goes on in the place of a lost event.
pub async fn carry_on(parts: &Parts, event: PodPending) -> Answer {
    handle(parts, &Decisions::default(), event).await
}

/// Answers for the pod of the event, from a decision about every pod that waits.
async fn handle(parts: &Parts, decisions: &Decisions, event: PodPending) -> Answer {
    let arrival = decisions.arrival();
    let pod = match read::waits(parts, &event).await {
        Waits::Yes(pod) => pod,
        Waits::Answered(answer) => match read::another_waits(parts, &event) {
            Some(another) => another,
            None => return answer,
        },
    };
    let reply = decisions.reply(arrival, &pod, async || decide(parts, &pod, event.snapshot).await).await;
    act::tell_pods(&parts.cluster, NAME, reply.note.as_slice(), parts.now()).await;
    reply.answer
}

/// Where a claim is on its way for every pod that waits, that is all there is to say; else everything is looked at, and decided.
async fn decide(parts: &Parts, pod: &PodRef, snapshot: SnapshotCarried) -> Decided {
    let claims = match read::claims(parts).await {
        Claims::Seen(claims) => claims,
        Claims::Answered(answer) => return Decided::All(answer),
    };
    let coming = answers::coming(&read::known(&claims), parts.now());
    match read::all_come(parts, pod, &coming, &snapshot).await {
        Ok(true) => return Decided::Coming(coming),
        Ok(false) => {}
        Err(error) => return Decided::All(Answer::failed(error.to_string())),
    }
    let seen = match read::read(parts, claims, snapshot).await {
        Ok(seen) => seen,
        Err(error) => return Decided::All(Answer::failed(error.to_string())),
    };
    let plan = decide::provision::plan(&seen.situation, &mut still_time());
    match turn::make(parts, seen, plan).await {
        Ok((seen, plan)) => {
            act::tell_pods(&parts.cluster, NAME, &plan.notes(), parts.now()).await;
            Decided::Each(answers::each(&seen, &plan))
        }
        Err(answer) => Decided::All(answer),
    }
}

/// The clock of this machine: it is about how long we compute, not about what time it is.
fn still_time() -> impl FnMut() -> bool {
    let begun = Instant::now();
    move || begun.elapsed() < LONGEST_SOLVE
}
