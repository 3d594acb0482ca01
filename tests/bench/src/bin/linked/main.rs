//! The function on-nodeclaim with every client of the finished product linked into it: its size and its start are the product's.

mod clients;

use std::error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    // The linker cannot know that this is never set, so it has to keep what hangs on it.
    if std::env::var_os("BENCH_BUILD_CLIENTS").is_some()
        && let Err(failure) = build_clients()
    {
        eprintln!("linked: the clients cannot be built: {failure}");
        return ExitCode::FAILURE;
    }
    host::run("linked", on_nodeclaim::function)
}

fn build_clients() -> Result<(), Box<dyn Error>> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(clients::build_all())
}
