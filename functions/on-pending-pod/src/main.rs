//! on-pending-pod: a pod finds no node. Trigger, reads, writes and rights: README.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    host::run("on-pending-pod", on_pending_pod::function)
}
