//! on-nodeclaim: a NodeClaim was made or has changed. Read, decide, act, report.

mod read;

use model::{Answer, NodeClaimChanged};

/// The function, as the host serves it.
pub fn function() -> host::Function {
    host::Function::new("on-nodeclaim", handle)
}

/// Understands the event and says what it saw. Deciding and acting come with the rules.
pub async fn handle(event: NodeClaimChanged) -> Answer {
    let seen = read::read(event);
    Answer::nothing(format!(
        "NodeClaim {} of class {} was seen; this version launches no instances yet",
        seen.claim, seen.class
    ))
}
