//! random-world: writes a random cluster and its catalogue into a directory.

use std::path::PathBuf;
use std::process::ExitCode;

use checker::random::World;
use clap::Parser;

#[derive(Parser)]
struct Arguments {
    /// The same seed makes the same world
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only resources, taints and selectors, few pods
    #[arg(long)]
    plain: bool,
    /// A cluster with nodes and pods on them
    #[arg(long, conflicts_with = "plain")]
    running: bool,
    /// Where cluster.yaml and catalog.json go
    directory: PathBuf,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let world = match (arguments.plain, arguments.running) {
        (true, _) => World::plain(arguments.seed),
        (_, true) => World::running(arguments.seed),
        _ => World::random(arguments.seed),
    };
    match world.write(&arguments.directory) {
        Ok((cluster, catalog)) => {
            println!("{} {} {:?}", cluster.display(), catalog.display(), world.themes);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("random-world: cannot write into {}: {error}", arguments.directory.display());
            ExitCode::FAILURE
        }
    }
}
