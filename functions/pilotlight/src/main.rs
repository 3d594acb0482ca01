//! pilotlight: all five functions in one binary, and the tools around them.

use std::process::ExitCode;

fn main() -> ExitCode {
    pilotlight::run()
}
