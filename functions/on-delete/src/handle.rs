//! on-delete: somebody asked for an object of ours to go. Read, decide, act, report.

mod read;

use model::{Answer, DeletionRequested};

/// The function, as the host serves it.
pub fn function() -> host::Function {
    host::Function::new("on-delete", handle)
}

/// Understands the event and says what it saw. Deciding and acting come with the rules.
pub async fn handle(event: DeletionRequested) -> Answer {
    let seen = read::read(event);
    Answer::nothing(format!("{} is to go; this version drains and deletes nothing yet", seen.object))
}
