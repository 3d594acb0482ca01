//! settle-worlds: random clusters that run, by the thousand. Asks `pilotlight plan --consolidate`, carries the answer out, asks again,
//! until nothing is done any more; judges every answer. Prints what is wrong and exits with 1 if anything is.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use checker::Answer;
use checker::disruption::Ways;
use checker::random::World;
use checker::settle::{SettleError, Settled, begin, settle};
use clap::Parser;
use jiff::Timestamp;

#[derive(Parser)]
struct Arguments {
    /// The planner
    #[arg(long)]
    pilotlight: PathBuf,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many worlds
    #[arg(long, default_value_t = 1000)]
    worlds: u64,
    /// Keep the files of each world here
    #[arg(long)]
    keep: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match play(&arguments) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("settle-worlds: {error}");
            ExitCode::from(2)
        }
    }
}

fn play(arguments: &Arguments) -> Result<usize, SettleError> {
    let temporary = tempfile::tempdir().map_err(|error| SettleError::Write("a directory".into(), error))?;
    let keep = arguments.keep.clone().unwrap_or_else(|| temporary.path().to_owned());
    let mut wrong = 0;
    let mut rounds = [0; 20];
    let (mut before, mut after) = (0.0, 0.0);
    for seed in arguments.seed..arguments.seed + arguments.worlds {
        let world = World::running(seed);
        let mut state = begin(&world)?;
        let directory = keep.join(format!("running-{seed}"));
        let ask = |cluster: &Path, catalog: &Path, now: Timestamp| ask(&arguments.pilotlight, cluster, catalog, now);
        let settled = settle(&mut state, &world.catalog, &directory, Ways::Ours, 16, &ask)?;
        rounds[settled.rounds.min(19)] += 1;
        before += settled.before.price;
        after += settled.after.price;
        for line in lines(&settled) {
            println!("seed {seed} {:?}: {line}", world.themes);
            wrong += 1;
        }
    }
    let counts: Vec<String> = rounds
        .iter()
        .enumerate()
        .filter(|(_, worlds)| **worlds > 0)
        .map(|(rounds, worlds)| format!("{worlds} in {rounds}"))
        .collect();
    println!("{} worlds came to rest, by rounds: {}", arguments.worlds, counts.join(", "));
    println!("{before:.2} an hour became {after:.2}; {wrong} things are wrong");
    Ok(wrong)
}

fn lines(settled: &Settled) -> Vec<String> {
    let mut lines: Vec<String> =
        settled.violations.iter().map(|(round, one)| format!("round {round}: {one}")).collect();
    lines.extend(settled.in_vain.iter().map(|words| format!("came in vain: {words}")));
    if !settled.rests {
        lines.push("it does not come to rest".to_owned());
    }
    lines
}

fn ask(program: &Path, cluster: &Path, catalog: &Path, now: Timestamp) -> Result<Answer, String> {
    let mut command = Command::new(program);
    command.args(["plan", "--consolidate", "-o", "json", "--now", &now.to_string(), "-f"]).arg(cluster);
    let output = command.arg("--catalog").arg(catalog).output().map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout).map_err(|error| {
        format!("{} on {}: {error}: {}", program.display(), cluster.display(), String::from_utf8_lossy(&output.stderr))
    })
}
