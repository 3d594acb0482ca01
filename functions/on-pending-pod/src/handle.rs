//! on-pending-pod: a pod wants GPUs and no node can take it. Read, decide, act, report.

mod read;

use model::{Answer, PodPending};

/// The function, as the host serves it.
pub fn function() -> host::Function {
    host::Function::new("on-pending-pod", handle)
}

/// Understands the event and says what it saw. Deciding and acting come with the rules.
pub async fn handle(event: PodPending) -> Answer {
    let seen = read::read(event);
    Answer::nothing(format!("pod {} waits for {}; this version starts no nodes yet", seen.pod, seen.asks_for))
}
