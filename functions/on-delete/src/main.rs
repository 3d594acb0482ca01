//! on-delete: somebody asked for an object of ours to go. Trigger, reads, writes and rights: README.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    host::run("on-delete", on_delete::function)
}
