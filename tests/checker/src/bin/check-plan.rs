//! check-plan: judges the answer of a planner. Prints what is wrong with it and exits with 1; says nothing and exits with 0 if it is fine.

use std::path::PathBuf;
use std::process::ExitCode;
use std::{fs, io};

use checker::disruption::{self, Ways};
use checker::{Answer, Catalog, Cluster, LoadError, Objects, check};
use clap::Parser;
use jiff::Timestamp;

#[derive(Parser)]
struct Arguments {
    /// Kubernetes YAML: files, or directories of them
    #[arg(short = 'f', long = "file", required = true, num_args = 1..)]
    files: Vec<PathBuf>,
    /// Instance types, in the JSON of Karpenter's KWOK provider
    #[arg(long)]
    catalog: PathBuf,
    /// The answer: what `pilotlight plan -o json` printed
    #[arg(long)]
    answer: PathBuf,
    /// Judge the nodes that go too, at this time: the answer is one of `plan --consolidate`
    #[arg(long)]
    now: Option<Timestamp>,
}

fn main() -> ExitCode {
    match judge(&Arguments::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("check-plan: {error}");
            ExitCode::from(2)
        }
    }
}

fn judge(arguments: &Arguments) -> Result<usize, LoadError> {
    let read =
        |path: &PathBuf| fs::read_to_string(path).map_err(|error: io::Error| LoadError::File(path.clone(), error));
    let catalog = Catalog::parse(&read(&arguments.catalog)?)?;
    let objects = Objects::read(&arguments.files)?;
    let cluster = Cluster::new(objects.clone(), &catalog);
    let answer: Answer =
        serde_json::from_str(&read(&arguments.answer)?).map_err(|error| LoadError::Answer(error.to_string()))?;
    let mut violations = check(&cluster, &catalog, &answer);
    if let Some(now) = arguments.now {
        violations.extend(disruption::check(&objects, &catalog, &answer, now, Ways::Ours));
    }
    for violation in &violations {
        println!("{violation}");
    }
    Ok(violations.len())
}
