//! forwarder: the small flame that burns in the cluster. What it watches, sends and needs: README.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    forwarder::run_from_env()
}
