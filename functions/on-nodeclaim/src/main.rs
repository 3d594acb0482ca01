//! on-nodeclaim: a NodeClaim was made or has changed. Trigger, reads, writes and rights: README.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    host::run("on-nodeclaim", on_nodeclaim::function)
}
