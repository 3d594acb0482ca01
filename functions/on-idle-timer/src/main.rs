//! on-idle-timer: the timer ticked. Trigger, reads, writes and rights: README.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    host::run("on-idle-timer", |_| on_idle_timer::function())
}
