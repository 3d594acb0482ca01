//! world: a Kubernetes cluster and three clouds on loopback, for any client in any language.

use std::process::ExitCode;

fn main() -> ExitCode {
    world::process::run()
}
