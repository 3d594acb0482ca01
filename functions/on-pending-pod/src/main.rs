//! on-pending-pod: a pod wants GPUs and no node can take it. Trigger, reads, writes and rights: README.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    host::run("on-pending-pod", |_| on_pending_pod::function())
}
