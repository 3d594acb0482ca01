//! on-pending-pod: a pod finds no node. Read, decide, act, report: for all pods that wait, together.

mod answers;
pub mod pools;
mod read;
mod turn;

use host::{Function, PartsSource, parts::Parts};
use model::{Answer, PodPending};
use std::{sync::Arc, time::Instant};
use tokio::sync::Mutex;

pub use read::known_by_its_node;
use read::{Read, Waits};

const NAME: &str = "on-pending-pod";

/// How long placing may take. What it has not come to by then waits for the next time.
const LONGEST_SOLVE: std::time::Duration = std::time::Duration::from_secs(5);

/// The function, as the host serves it.
pub fn function(parts: PartsSource) -> Function {
    // One decision is about all pods that wait: whoever comes meanwhile finds it made.
    let gate = Arc::new(Mutex::new(()));
    Function::new(NAME, move |event| {
        let (parts, gate) = (parts.clone(), gate.clone());
        async move {
            match parts.get().await {
                Ok(parts) => handle(&parts, &gate, event).await,
                Err(answer) => answer,
            }
        }
    })
}

/// The same, for whoever goes on in the place of a lost event.
pub async fn carry_on(parts: &Parts, event: PodPending) -> Answer {
    handle(parts, &Mutex::new(()), event).await
}

/// Decides for every pod that waits, and answers for the one of the event.
async fn handle(parts: &Parts, gate: &Mutex<()>, event: PodPending) -> Answer {
    if let Waits::Answered(answer) = read::waits(parts, &event).await {
        return answer;
    }
    let _alone = gate.lock().await;
    let seen = match read::read(parts, &event).await {
        Read::Seen(seen) => *seen,
        Read::Answered(answer) => return answer,
    };
    let plan = decide::provision::plan(&seen.situation, &mut still_time());
    let (seen, plan) = match turn::make(parts, seen, plan).await {
        Ok(made) => made,
        Err(answer) => return answer,
    };
    act::tell_pods(&parts.cluster, NAME, &plan.notes(), parts.now()).await;
    answers::answer(&seen, &plan, &event.subject)
}

/// The clock of this machine: it is about how long we compute, not about what time it is.
fn still_time() -> impl FnMut() -> bool {
    let begun = Instant::now();
    move || begun.elapsed() < LONGEST_SOLVE
}
