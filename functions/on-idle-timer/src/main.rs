//! on-idle-timer: the timer ticked. Trigger, reads, writes and rights: README.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    host::run("on-idle-timer", on_idle_timer::function)
}
