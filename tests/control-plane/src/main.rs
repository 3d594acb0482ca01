//! control-plane: a real Kubernetes control plane on loopback, for a person or for tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    control_plane::command::run()
}
