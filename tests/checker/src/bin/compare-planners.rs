//! compare-planners: asks Karpenter's scheduler and another planner about the same worlds, judges both answers, and prints them side
//! by side. Exits with 1 if the other planner breaks a rule or leaves out a pod that Karpenter places by the rules.

use std::path::PathBuf;
use std::process::ExitCode;

use checker::compare::{CompareError, Comparison, Karpenter, NodesReport, Other, Report};
use checker::random::World;
use clap::Parser;

#[derive(Parser)]
struct Arguments {
    /// How many random worlds
    #[arg(long, default_value_t = 200)]
    worlds: u64,
    /// How many clusters that run, for nodes that go
    #[arg(long, default_value_t = 100)]
    running: u64,
    /// How many small worlds whose best plan can be computed
    #[arg(long, default_value_t = 50)]
    plain: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Sizes of the mix of Karpenter's own benchmark, in pods
    #[arg(long, value_delimiter = ',', default_value = "500")]
    bench: Vec<usize>,
    /// The other planner; without it only Karpenter is asked and judged
    #[arg(long)]
    pilotlight: Option<PathBuf>,
    /// karpenter-oracle, as built in tests/peers/karpenter
    #[arg(long)]
    oracle: PathBuf,
    /// Numbers of workers to give Karpenter; the fastest counts
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    workers: Vec<usize>,
    /// Keep the worlds here
    #[arg(long)]
    keep: Option<PathBuf>,
    /// How many lines of each list to print
    #[arg(long, default_value_t = 20)]
    lines: usize,
}

fn main() -> ExitCode {
    match compare(Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("compare-planners: {error}");
            ExitCode::from(2)
        }
    }
}

fn compare(arguments: Arguments) -> Result<bool, CompareError> {
    let temporary = tempfile::tempdir().map_err(|error| CompareError::Write("directory".to_owned(), error))?;
    let other = arguments.pilotlight.map(|program| Other { program }).filter(Other::can_plan);
    if other.is_none() {
        println!("There is no other planner: only Karpenter's answers are judged.\n");
    }
    let comparison = Comparison {
        karpenter: Karpenter { program: arguments.oracle, workers: arguments.workers },
        other,
        directory: arguments.keep.unwrap_or_else(|| temporary.path().to_owned()),
    };
    let mut fine = true;
    let mut report = Report::default();
    for seed in arguments.seed..arguments.seed + arguments.worlds {
        report.add(&comparison.random(&World::random(seed), false)?);
    }
    for seed in arguments.seed..arguments.seed + arguments.plain {
        report.add(&comparison.random(&World::plain(seed), true)?);
    }
    println!("{}", report.text("Random worlds", arguments.lines));
    fine &= report.is_fine();
    if arguments.running > 0 {
        let mut report = NodesReport::default();
        for seed in arguments.seed..arguments.seed + arguments.running {
            report.add(&comparison.running(&World::running(seed))?);
        }
        println!("{}", report.text(arguments.lines));
        fine &= report.is_fine();
    }
    for pods in arguments.bench {
        let mut report = Report::default();
        report.add(&comparison.benchmark(pods)?);
        println!("{}", report.text(&format!("Karpenter's benchmark, {pods} pods"), arguments.lines));
        fine &= report.is_fine();
    }
    Ok(fine)
}
