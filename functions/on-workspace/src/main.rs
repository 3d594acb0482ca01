//! on-workspace: a KAITO Workspace was made or has changed. Trigger, reads, writes and rights: README.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    host::run("on-workspace", |_| on_workspace::function())
}
