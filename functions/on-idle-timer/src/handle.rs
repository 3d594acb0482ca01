//! on-idle-timer: the timer ticked. Read, decide, act, report.

mod read;

use model::{Answer, IdleTick};

/// The function, as the host serves it.
pub fn function() -> host::Function {
    host::Function::new("on-idle-timer", handle)
}

/// Understands the event and says what it saw. Deciding and acting come with the rules.
pub async fn handle(event: IdleTick) -> Answer {
    let seen = read::read(event);
    Answer::nothing(format!("the idle timer of cluster {} ticked; this version takes no nodes down yet", seen.cluster))
}
