//! on-workspace: a KAITO Workspace was made or has changed. Read, decide, act, report.

mod read;

use model::{Answer, WorkspaceChanged};

/// The function, as the host serves it.
pub fn function() -> host::Function {
    host::Function::new("on-workspace", handle)
}

/// Understands the event and says what it saw. Deciding and acting come with the rules.
pub async fn handle(event: WorkspaceChanged) -> Answer {
    let seen = read::read(event);
    Answer::nothing(format!(
        "workspace {} asks for {}; this version makes no NodeClaims yet",
        seen.workspace, seen.asks_for
    ))
}
